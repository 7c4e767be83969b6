#!/bin/sh
# Verifies saved games: replays each game and reports the first field that differs.
# Usage: ./replay.sh [FILE or FOLDER]... [--no-jump] [--json]
# Default: games/, and games/played if it contains games; with --no-jump, games/played/no-jump.
set -eu
case ${1:-} in
    -h | --help)
        echo 'Usage: ./replay.sh [FILE or FOLDER]... [--no-jump] [--json]'
        echo 'Verifies saved games, by default those in games/ and games/played, and reports the first field that differs.'
        exit
        ;;
esac
here=$(cd -- "$(dirname -- "$0")" && pwd)
program=${CARGO_TARGET_DIR:-$here/target}/release/getaway
[ -x "$program" ] || echo 'building the program' >&2
# Building getaway-extension too gives the common dependencies the same features as in run.sh, so that
# cargo does not build them again. The variable, which maturin also sets, avoids linking libpython.
PYO3_BUILD_EXTENSION_MODULE=1 cargo build --quiet --release --manifest-path "$here/Cargo.toml" \
    --package getaway-cli --package getaway-extension
variant=
for argument; do
    case $argument in
        --no-jump) variant=no-jump ;;
        -*) ;;
        *) exec "$program" replay "$@" ;;
    esac
done
if [ -n "$variant" ]; then
    exec "$program" replay "$here/games/played/no-jump" "$@"
fi
# Add games/played only if it contains games, because `replay` refuses a folder without games.
if ls "$here"/games/played/*.jsonl* >/dev/null 2>&1; then
    set -- "$here/games/played" "$@"
fi
exec "$program" replay "$here/games" "$@"
