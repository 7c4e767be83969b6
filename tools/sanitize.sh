#!/usr/bin/env bash
# Runs the library's and the simulator's tests under AddressSanitizer: a read or write outside an
# allocation stops the test. Arguments go to `cargo test`: `tools/sanitize.sh --test mixed_worlds`.
#
# Uses the nightly toolchain if one is installed; the stable toolchain has the same runtime behind
# RUSTC_BOOTSTRAP.
set -euo pipefail
cd "$(dirname "$0")/.."

if rustup toolchain list 2>/dev/null | grep -q '^nightly'; then
    toolchain=+nightly
else
    toolchain=
    export RUSTC_BOOTSTRAP=1
fi
target=$(rustc -vV | sed -n 's/^host: //p')

# Release builds without debug assertions, because only they leave lookups unchecked.
# Line tables, because suppressions and reports need the names of inlined functions.
export CARGO_PROFILE_RELEASE_DEBUG=line-tables-only
export RUSTFLAGS="-Zsanitizer=address ${RUSTFLAGS:-}"
export ASAN_OPTIONS="detect_leaks=1:${ASAN_OPTIONS:-}"
export LSAN_OPTIONS="suppressions=$PWD/tools/lsan.supp:${LSAN_OPTIONS:-}"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target/sanitize}"
if [ $# -eq 0 ]; then
    set -- --no-fail-fast -p getaway -p getaway-reference --lib --tests
fi
# shellcheck disable=SC2086 # an empty toolchain must not become an argument
exec cargo $toolchain test --release --target "$target" "$@"
