#!/usr/bin/env bash
# Builds the playground in target/playground/: the page as static files, and its engine as
# WebAssembly. `--page` builds only the page. `--test` also runs the engine in Node.js, and compares
# the engine's answers with those of the engine in `getaway view`, and its search signature with
# tests/signature.txt. Without Node.js or the standard library's sources, the script skips the steps
# that need them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tools/environment.sh
source tools/environment.sh

case ${1:-} in
  -h | --help) echo 'Usage: tools/playground.sh [--page | --test]: builds the playground in target/playground'; exit ;;
  '' | --page | --test) ;;
  *) echo "error: $1: unknown option (expected --page or --test)" >&2; exit 2 ;;
esac
[ $# -le 1 ] || { echo 'error: expected at most one option' >&2; exit 2; }
# This must precede the settings below, which are meant only for the engine.
prepare_python
target=$(realpath -m "$target")
out=$target/playground
# The standard library is built for size, and without panic messages, because the page cannot show
# them.
build=(cargo rustc --quiet --locked --profile web --package getaway-playground --lib --crate-type cdylib
  --target wasm32-unknown-unknown -Zbuild-std=std -Zbuild-std-features=optimize_for_size)
export RUSTC_BOOTSTRAP=1 CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS='-Zunstable-options -Cpanic=immediate-abort'
export CARGO_TARGET_DIR=$target/wasm32

mkdir -p "$out"
rm -f "$out"/*.js "$out"/*.mjs "$out"/*.css
"$getaway" view --force --html "$out/index.html" >/dev/null
# The picture that other sites show beside a link.
"$getaway" view games/cul-de-sacs-stroll-until-caught.jsonl.gz --force --png "$out/preview.png" --tick 100 >/dev/null
cp crates/playground/{engine,worker}.mjs "$out"
if [ "${1:-}" = --page ]; then
  exit
fi

echo 'building the engine (several minutes the first time)'
if command -v rustup >/dev/null && rustup component add rust-src >/dev/null 2>&1; then
  "${build[@]}"
elif command -v apt-get >/dev/null && [ "$(id -u)" -eq 0 ]; then
  # If rustup cannot provide the standard library's sources, use the compiler and the sources from
  # Debian packages.
  apt-get update --quiet=2 && apt-get install --yes --quiet=2 --no-install-recommends rustc-web rust-web-src lld >/dev/null
  env RUSTC=/usr/bin/rustc CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld "${build[@]}" --ignore-rust-version
else
  echo 'skipped: the playground needs rust-src from rustup, or apt-get as root'
  exit
fi
engine=$CARGO_TARGET_DIR/wasm32-unknown-unknown/web/getaway_playground.wasm
prepare_venv
install --requirement tools/requirements-playground.txt
# Many static hosts do not compress WebAssembly, so compress the engine here; the page decompresses
# it. Name the file `.bin`, because some hosts make browsers decompress `.gz` files.
"$venv_python" -I -c 'import sys, zopfli.gzip; sys.stdout.buffer.write(zopfli.gzip.compress(sys.stdin.buffer.read(), numiterations=5))' \
  <"$engine" >"$out/engine.bin"
echo "built $out/engine.bin: $(wc -c <"$out/engine.bin") bytes"

if [ "${1:-}" = --test ]; then
  if ! command -v node >/dev/null; then
    echo 'skipped: the comparison needs Node.js'
    exit
  fi
  node crates/playground/tests/compare.mjs "$engine" "$getaway"
fi
