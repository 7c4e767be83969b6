#!/bin/sh
# Verifies saved games: plays them again and names the first field that differs.
# Usage: ./replay.sh [FILE or FOLDER]... [--no-jump] [--json]     (all of games/ by default)
set -eu
here=$(cd -- "$(dirname -- "$0")" && pwd)
cargo build --quiet --release --manifest-path "$here/Cargo.toml" --package getaway-cli
# The folder that cargo builds in may be set to another one.
target=${CARGO_TARGET_DIR:-$here/target}
# Options alone still mean all of games/.
for argument; do
    case $argument in
        -*) ;;
        *) exec "$target/release/getaway" replay "$@" ;;
    esac
done
exec "$target/release/getaway" replay "$here/games" "$@"
