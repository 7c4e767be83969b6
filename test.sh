#!/usr/bin/env bash
# Runs the Rust tests and the Python tests outside tests/python/browser and tests/python/ci. Needs Rust
# and Python 3.10+. In the checkout, writes only to target/ (or CARGO_TARGET_DIR) and .venv.
# Tests that need recordings of the real server read the folder that the variable GETAWAY_SHARED
# names (default: ../shared). Without this folder, they are skipped, or fail if the variable
# GETAWAY_REQUIRE_SHARED is 1.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=tools/environment.sh
source tools/environment.sh

case ${1:-} in
  '') ;;
  -h | --help)
    echo 'Usage: ./test.sh'
    echo 'Runs the Rust tests and the Python tests.'
    exit
    ;;
  *) echo "error: $1: unknown option (expected nothing)" >&2; exit 2 ;;
esac

python_tests() {
  prepare_python && install --requirement tools/requirements-arrays.txt --requirement tools/requirements-test.txt || return
  # Three processes, because most of these tests wait for programs and servers.
  exec env PYTHONDONTWRITEBYTECODE=1 "$venv_python" -m pytest -q -p no:cacheprovider --numprocesses 3 --dist loadfile \
    --ignore tests/python/browser --ignore tests/python/ci
}

python_results() {
  local status=0
  wait "$python" || status=$?
  cat "$log"
  return $status
}

require_rust
# Many tests wait for a process or a deadline, so by default, twice as many tests run in parallel as
# there are processors.
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-$((2 * $(getconf _NPROCESSORS_ONLN)))}
# With the extension, cargo builds the dependencies with the same features as in run.sh, so it builds
# them once. The variable, which maturin also sets, avoids linking libpython.
export PYO3_BUILD_EXTENSION_MODULE=1
packages=(--release --locked --workspace --exclude getaway-benches --exclude getaway-playground)
section build cargo test "${packages[@]}" --no-run
# The Python tests run beside the Rust tests, because both often wait. Their output follows at the end.
log=$target/python-tests.log
python_tests >"$log" 2>&1 &
python=$!
trap 'kill "$python" 2>/dev/null || true' EXIT
section 'Rust tests' cargo test "${packages[@]}"
if [ -d "${GETAWAY_SHARED:-../shared}" ] || [ "${GETAWAY_REQUIRE_SHARED:-}" = 1 ]; then
  section 'recordings of the real server' cargo test "${packages[@]}" --test integration shared:: -- --ignored
fi
section 'Python tests' python_results

printf '\nall passed in %d s\n' "$SECONDS"
