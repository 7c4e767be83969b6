#!/usr/bin/env bash
# Runs everything that a change must pass, on a machine with a Rust toolchain and Python 3.10+.
# Stops at the first failure.
#
# Recordings of the real server are used if GETAWAY_SHARED (default: ../shared) is a folder that
# contains them; otherwise those tests are reported as ignored. Builds go to target/ (or
# CARGO_TARGET_DIR), the Python tests' environment to .venv, and nothing else is left behind.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=tools/environment.sh
source tools/environment.sh

case ${1:-} in
  '') ;;
  -h | --help)
    echo 'Usage: ./test.sh'
    echo 'Runs everything that a change must pass, and stops at the first failure.'
    exit
    ;;
  *) echo "error: $1: unknown option (expected nothing)" >&2; exit 2 ;;
esac

# section NAME COMMAND...: runs a command under a heading and prints how long it took.
section() {
  local name=$1 start=$SECONDS
  shift
  printf '\n== %s: %s\n' "$name" "$*"
  "$@"
  printf '== %s: passed in %d s\n' "$name" "$((SECONDS - start))"
}

# The bot as it runs in the competition, against the server of this checkout.
python_tests() {
  prepare_python && install --requirement tools/requirements-test.txt --requirement tools/requirements-docs.txt || return
  # Ray is large, and its tests are skipped without it.
  [ -z "${GETAWAY_WITH_RAY:-}" ] || install --requirement tools/requirements-cluster.txt || return
  "$venv_python" tools/supply_chain.py --check || return
  .venv/bin/mypy --cache-dir "$target/mypy" bot tests/python benches/lab.py examples/python/q_learning.py examples/python/keep_away.py python/getaway/cluster.py tools/stub.py || return
  # Most of these tests wait as well, for servers and browsers.
  PYTHONDONTWRITEBYTECODE=1 "$venv_python" -m pytest -q -p no:cacheprovider --numprocesses 3 --dist loadfile
}

require_rust
section formatting cargo fmt --all --check
section lints cargo clippy --locked --workspace --all-targets -- -D warnings
section documentation env RUSTDOCFLAGS='-D warnings' cargo doc --locked --workspace --no-deps --quiet
section 'library without features' cargo clippy --locked --package getaway -- -D warnings
# Many tests wait, for a process or a deadline: twice as many as there are processors run at once.
section tests env RUST_TEST_THREADS=$((2 * $(getconf _NPROCESSORS_ONLN))) cargo test --locked
# The benches without the optimised build of cargo bench: each runs once, with its checks.
section 'bench checks' cargo test --locked --bench world --bench arena -- --test
section 'PNG fuzzing' cargo run --locked --quiet --example png_fuzz -- --count 5000 --seed 1
section 'Python extension and bot' python_tests

printf '\nall passed in %d s\n' "$SECONDS"
