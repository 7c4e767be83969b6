#!/usr/bin/env bash
# Runs the library's and the simulator's tests under AddressSanitizer. Arguments go to `cargo test`:
# `tools/sanitize.sh --test mixed_worlds`. `tools/sanitize.sh --python calls --count 1000000` runs
# tests/python/fuzz_extension.py with the extension built in the same way, and gcc's runtime.
#
# Uses nightly if installed, otherwise stable with RUSTC_BOOTSTRAP; the runtime is the same.
set -euo pipefail
cd "$(dirname "$0")/.."

if rustup toolchain list 2>/dev/null | grep -q '^nightly'; then
    toolchain=+nightly
else
    toolchain=
    export RUSTC_BOOTSTRAP=1
fi
target=$(rustc -vV | sed -n 's/^host: //p')

# Only release builds without debug assertions leave lookups unchecked. Suppressions and reports
# need line tables for the names of inlined functions.
export CARGO_PROFILE_RELEASE_DEBUG=line-tables-only
export RUSTFLAGS="-Zsanitizer=address ${RUSTFLAGS:-}"
export ASAN_OPTIONS="detect_leaks=1:${ASAN_OPTIONS:-}"
export LSAN_OPTIONS="suppressions=$PWD/tools/lsan.supp:${LSAN_OPTIONS:-}"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target/sanitize}"
if [ "${1:-}" = --python ]; then
    shift
    # shellcheck disable=SC2086 # an empty toolchain must not become an argument
    cargo $toolchain build --release --target "$target" -p getaway-python
    package=$CARGO_TARGET_DIR/python
    mkdir -p "$package/getaway"
    cp python/getaway/*.py "$package/getaway/"
    cp "$CARGO_TARGET_DIR/$target/release/lib_getaway.so" "$package/getaway/_getaway.abi3.so"
    # Python does not free all of its memory at exit, and its own allocator would hide errors.
    export ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0"
    LD_PRELOAD=$(cc -print-file-name=libasan.so) PYTHONMALLOC=malloc PYTHONPATH=$package PYTHONDONTWRITEBYTECODE=1 \
        exec .venv/bin/python tests/python/fuzz_extension.py "$@"
fi
if [ $# -eq 0 ]; then
    set -- --no-fail-fast -p getaway -p getaway-reference --lib --tests
fi
# shellcheck disable=SC2086 # an empty toolchain must not become an argument
exec cargo $toolchain test --release --target "$target" "$@"
