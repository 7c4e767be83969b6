#!/usr/bin/env bash
# Runs the Rust and Python tests; stops at the first failure. Needs Rust and Python 3.10+. Writes
# only to target/ (or CARGO_TARGET_DIR) and .venv.
# Tests that need recordings of the real server read the folder GETAWAY_SHARED (default: ../shared).
# Without this folder, they are ignored, or fail if GETAWAY_REQUIRE_SHARED is 1.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=tools/environment.sh
source tools/environment.sh

case ${1:-} in
  '') ;;
  -h | --help)
    echo 'Usage: ./test.sh'
    echo 'Runs the tests, Rust and Python, and stops at the first failure.'
    exit
    ;;
  *) echo "error: $1: unknown option (expected nothing)" >&2; exit 2 ;;
esac

python_tests() {
  prepare_python && install --requirement tools/requirements-test.txt || return
  # Three processes, because most of these tests wait for programs and servers.
  PYTHONDONTWRITEBYTECODE=1 "$venv_python" -m pytest -q -p no:cacheprovider --numprocesses 3 --dist loadfile \
    --ignore tests/python/browser --ignore tests/python/ci
}

require_rust
# Many tests wait for a process or a deadline, so the number of parallel tests is twice the number
# of processors.
RUST_TEST_THREADS=${RUST_TEST_THREADS:-$((2 * $(getconf _NPROCESSORS_ONLN)))}
export RUST_TEST_THREADS
section tests cargo test --locked
if [ -d "${GETAWAY_SHARED:-../shared}" ] || [ "${GETAWAY_REQUIRE_SHARED:-}" = 1 ]; then
  section 'recordings of the real server' cargo test --locked --test integration shared:: -- --ignored
fi
section 'Python extension and bot' python_tests

printf '\nall passed in %d s\n' "$SECONDS"
