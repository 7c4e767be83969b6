# shellcheck shell=bash
# Functions for scripts such as run.sh, which source this file from the root of the checkout. The
# Python environment needs Python 3.10 or newer with venv or pip; the variable PYTHON selects the
# interpreter, and GETAWAY_VENV the folder of the environment (default: .venv).
# With -I, Python imports nothing from the working folder.

target=${CARGO_TARGET_DIR:-target}
venv=${GETAWAY_VENV:-.venv}
venv_python=$venv/bin/python
# The program `getaway`, which is built and installed together with the extension.
getaway=$venv/bin/getaway

# section NAME COMMAND...: prints a heading, runs a command, and prints how long it took. If the
# command fails, the `set -e` of the calling script ends the script.
section() {
  local name=$1 start=$SECONDS
  shift
  printf '\n== %s: %s\n' "$name" "$*"
  "$@"
  printf '== %s: passed in %d s\n' "$name" "$((SECONDS - start))"
}

# require_rust: fails with one error line if cargo is missing, or older than Cargo.toml requires.
require_rust() {
  local wanted found
  wanted=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
  found=$(cargo --version 2>/dev/null | sed -n 's/^cargo \([0-9]*\.[0-9]*\).*/\1/p') || true
  if [ -z "$found" ]; then
    echo "error: no cargo found: expected Rust $wanted or newer (https://rustup.rs)" >&2
    return 2
  fi
  if [ "${found%%.*}" -lt "${wanted%%.*}" ] ||
    { [ "${found%%.*}" -eq "${wanted%%.*}" ] && [ "${found#*.}" -lt "${wanted#*.}" ]; }; then
    echo "error: cargo $found is too old: expected Rust $wanted or newer (rustup update)" >&2
    return 2
  fi
}

find_python() {
  local candidate
  for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 python3.10 python}; do
    if "$candidate" -I -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  echo "error: no Python 3.10 or newer found (PYTHON selects an interpreter)" >&2
  return 2
}

# make_venv FOLDER: creates a Python environment.
make_venv() {
  local python
  python=$(find_python) || return
  if "$python" -I -m venv "$1" >/dev/null 2>&1; then
    return
  fi
  # Some systems ship Python without a working venv module, so install virtualenv with pip.
  rm -rf "$1"
  "$python" -I -m pip install --quiet --target "$target/virtualenv" virtualenv
  "$python" -I -c 'import sys; sys.path.insert(0, sys.argv.pop(1)); from virtualenv.__main__ import run; run()' \
    "$target/virtualenv" --quiet "$1"
}

# prepare_venv: creates the environment if needed.
prepare_venv() {
  if ! "$venv_python" -I -m pip --version >/dev/null 2>&1; then
    echo "creating $venv"
    rm -rf "$venv"
    make_venv "$venv"
  fi
}

install() {
  "$venv_python" -I -m pip install --quiet --disable-pip-version-check "$@"
}

# hash_files PATH...: prints one hash of the files and of the environment's Python version. A
# folder means all files in it. The hash does not cover .pyc and .so files.
hash_files() {
  "$venv_python" -I - "$@" <<'PYTHON'
import hashlib, pathlib, sys

digest = hashlib.sha256(sys.version.encode())
for path in map(pathlib.Path, sys.argv[1:]):
    for file in sorted(path.rglob("*") if path.is_dir() else [path]):
        if file.is_file() and file.suffix not in (".pyc", ".so"):
            digest.update(f"{file}\0{file.stat().st_size}\0".encode() + file.read_bytes())
print(digest.hexdigest())
PYTHON
}

# prepare_python: creates the environment if needed; builds and installs getaway if the hash of its
# source files has changed.
prepare_python() {
  local now wheels quiet
  require_rust || return
  prepare_venv || return
  now=$(hash_files src crates python maps Cargo.toml Cargo.lock pyproject.toml bot/requirements.txt \
    tools/requirements-build.txt)
  if [ "$(cat "$venv/getaway.hash" 2>/dev/null)" = "$now" ]; then
    return
  fi
  echo 'building the program and the Python extension (about two minutes the first time)'
  install --requirement bot/requirements.txt --requirement tools/requirements-build.txt || return
  wheels=$target/wheels/local
  rm -rf "$wheels"
  # On a terminal, the build shows its progress.
  quiet=--quiet
  [ ! -t 2 ] || quiet=
  # shellcheck disable=SC2086 # An empty $quiet must not become an argument.
  "$venv_python" -I -m maturin build $quiet --release --locked --compatibility linux --out "$wheels" || return
  install --force-reinstall --no-deps "$wheels"/getaway-*.whl || return
  echo "$now" >"$venv/getaway.hash"
}

# start_server ARGUMENT...: starts `getaway serve` on a free port in the background. Sets server_pid
# and url. The server's stdout goes to $scratch/results, and its stderr to $scratch/log.
start_server() {
  # Create the files first, because this shell may read them before the background shell opens them.
  : >"$scratch/results"
  : >"$scratch/log"
  "$getaway" serve --port 0 "$@" >>"$scratch/results" 2>>"$scratch/log" &
  server_pid=$!
  url=
  local try
  for ((try = 0; try < 3000; try++)); do
    # With --json, the server writes its address to the log.
    url=$(sed -n 's/^listening on \(ws:[^ ]*\).*/\1/p' "$scratch/results" "$scratch/log")
    [ -z "$url" ] || return 0
    if ! kill -0 "$server_pid" 2>/dev/null; then
      cat "$scratch/log" >&2
      return 2
    fi
    sleep 0.1
  done
  echo 'error: the server did not print its address' >&2
  return 1
}
