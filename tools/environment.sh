# Sets up the Python environment. run.sh, test.sh and package.sh source this file from the root of
# the checkout.
#
# Creates .venv once; reinstalls the extension when a source file has changed. Needs Python 3.10 or
# newer with venv or pip; PYTHON selects another interpreter.

target=${CARGO_TARGET_DIR:-target}
venv_python=.venv/bin/python

# find_python: prints a suitable Python interpreter.
find_python() {
  local candidate
  for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 python3.10 python}; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  echo "error: no Python 3.10 or newer found (PYTHON selects an interpreter)" >&2
  return 2
}

# make_venv FOLDER: creates a virtual environment that has pip.
make_venv() {
  local python
  python=$(find_python) || return
  if "$python" -m venv "$1" >/dev/null 2>&1; then
    return
  fi
  # Some systems ship Python without venv; there virtualenv replaces it.
  rm -rf "$1"
  "$python" -m pip install --quiet --target "$target/virtualenv" virtualenv
  PYTHONPATH=$target/virtualenv "$python" -m virtualenv --quiet "$1"
}

# install NAME...: runs pip quietly.
install() {
  "$venv_python" -m pip install --quiet --disable-pip-version-check "$@"
}

# hash_files PATH...: prints a hash of the files and folders, and of the environment's Python
# version.
hash_files() {
  "$venv_python" - "$@" <<'PYTHON'
import hashlib, pathlib, sys

digest = hashlib.sha256(sys.version.encode())
for path in map(pathlib.Path, sys.argv[1:]):
    for file in sorted(path.rglob("*") if path.is_dir() else [path]):
        if file.is_file():
            digest.update(f"{file}\0{file.stat().st_size}\0".encode() + file.read_bytes())
print(digest.hexdigest())
PYTHON
}

# prepare_python: creates .venv, and updates the extension and the bot's requirements in it.
prepare_python() {
  local now wheels
  if ! "$venv_python" -m pip --version >/dev/null 2>&1; then
    echo 'creating .venv'
    rm -rf .venv
    make_venv .venv || return
  fi
  now=$(hash_files src crates/python python Cargo.toml Cargo.lock pyproject.toml bot/requirements.txt tools)
  if [ "$(cat .venv/getaway.hash 2>/dev/null)" = "$now" ]; then
    return
  fi
  echo 'building the Python extension'
  install --requirement bot/requirements.txt --requirement tools/requirements-build.txt || return
  wheels=$target/wheels/local
  rm -rf "$wheels"
  "$venv_python" -m maturin build --quiet --release --locked --compatibility linux --out "$wheels" || return
  install --force-reinstall --no-deps "$wheels"/getaway-*.whl || return
  echo "$now" >.venv/getaway.hash
}
