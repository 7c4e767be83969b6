#!/usr/bin/env bash
# Runs the tests of the library, the reference model and the verifier under AddressSanitizer, or
# `cargo test` with the given arguments, such as `--test integration mixed_worlds`.
# `--python ARGUMENT...` instead builds the Python extension with the sanitizer, preloads gcc's
# sanitizer runtime, and runs tests/python/fuzz_extension.py with these arguments, such as
# `calls --count 1000000`.
#
# Uses the nightly toolchain if it is installed, and otherwise the default one with RUSTC_BOOTSTRAP.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=tools/environment.sh
source tools/environment.sh

if rustup toolchain list 2>/dev/null | grep -q '^nightly'; then
    toolchain=+nightly
else
    toolchain=
    export RUSTC_BOOTSTRAP=1
fi
host=$(rustc -vV | sed -n 's/^host: //p')

# Use release builds: debug assertions would catch invalid unchecked lookups before the sanitizer.
# Reports need line tables to name inlined functions.
export CARGO_PROFILE_RELEASE_DEBUG=line-tables-only
export RUSTFLAGS="-Zsanitizer=address ${RUSTFLAGS:-}"
export ASAN_OPTIONS="detect_leaks=1:${ASAN_OPTIONS:-}"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target/sanitize}"
if [ "${1:-}" = --python ]; then
    shift
    prepare_venv
    install --requirement tools/requirements-arrays.txt
    # shellcheck disable=SC2086 # An empty $toolchain must not become an argument.
    cargo $toolchain build --release --target "$host" -p getaway-extension
    package=$CARGO_TARGET_DIR/python
    mkdir -p "$package/getaway"
    cp python/getaway/*.py "$package/getaway/"
    cp "$CARGO_TARGET_DIR/$host/release/lib_getaway.so" "$package/getaway/_getaway.abi3.so"
    # Ignore leaks, because Python does not free all memory at exit. Use malloc instead of Python's
    # own allocator, which would hide errors.
    export ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0"
    LD_PRELOAD=$(cc -print-file-name=libasan.so) PYTHONMALLOC=malloc PYTHONPATH=$package PYTHONDONTWRITEBYTECODE=1 \
        exec "$venv_python" tests/python/fuzz_extension.py "$@"
fi
if [ $# -eq 0 ]; then
    set -- --no-fail-fast -p getaway-tests -p getaway-unit -p getaway-reference -p getaway-verifier --lib --tests
fi
# shellcheck disable=SC2086 # An empty $toolchain must not become an argument.
exec cargo $toolchain test --release --target "$host" "$@"
