#!/bin/sh
# Verifies saved games: replays them and reports the first field that differs.
# Usage: ./replay.sh [FILE or FOLDER]... [--no-jump] [--json]     (all of games/ by default)
set -eu
here=$(cd -- "$(dirname -- "$0")" && pwd)
cargo build --quiet --release --manifest-path "$here/Cargo.toml" --package getaway-cli
# Cargo's target folder may be configured.
target=${CARGO_TARGET_DIR:-$here/target}
# With options only, all of games/ is replayed.
for argument; do
    case $argument in
        -*) ;;
        *) exec "$target/release/getaway" replay "$@" ;;
    esac
done
exec "$target/release/getaway" replay "$here/games" "$@"
