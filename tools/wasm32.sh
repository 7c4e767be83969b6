#!/usr/bin/env bash
# Computes the search signature on a 32-bit target (WebAssembly in Node.js) and compares it with
# tests/signature.txt. Skipped without apt or Node.js.
#
# Debian's compiler builds the standard library for WebAssembly from Debian's sources, because not
# all machines can fetch one with rustup.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! command -v node >/dev/null || ! command -v apt-get >/dev/null || [ "$(id -u)" -ne 0 ]; then
  echo 'skipped: the 32-bit check needs Node.js, and apt-get as root'
  exit
fi
apt-get update --quiet=2 && apt-get install --yes --quiet=2 --no-install-recommends rustc-web rust-web-src lld >/dev/null

root=$PWD
folder=$(realpath -m "${CARGO_TARGET_DIR:-target}")/wasm32
mkdir -p "$folder/src"
# Uses the versions of the checkout; cargo drops the packages that are not needed.
cp Cargo.lock "$folder/Cargo.lock"
cat >"$folder/Cargo.toml" <<TOML
[package]
name = "signature"
edition = "2024"

[lib]
crate-type = ["cdylib"]

[dependencies]
getaway = { path = "$root" }

[workspace]
TOML
cat >"$folder/src/lib.rs" <<'RUST'
#[unsafe(no_mangle)]
pub extern "C" fn signature() -> u64 {
    let maps = getaway::map::MapLibrary::with_our_maps([""; 0]).list().expect("the bundled maps");
    let layouts: Vec<_> = maps.iter().map(|entry| entry.load().expect("a map").layout).collect();
    let digits = getaway::planner::signature(&layouts, 1).expect("maps within the limits");
    u64::from_str_radix(&digits, 16).expect("hexadecimal digits")
}
RUST
# Debian's compiler needs a feature for let chains, which the standard library's sources refuse.
cat >"$folder/rustc" <<'SH'
#!/bin/sh
case "$*" in
  *--edition=2024*) exec "$@" '-Zcrate-attr=feature(let_chains)' ;;
  *) exec "$@" ;;
esac
SH
chmod +x "$folder/rustc"
# If CARGO_TARGET_DIR is elsewhere, the checkout's toolchain file does not apply to the folder.
cd "$folder"
env RUSTC=/usr/bin/rustc RUSTC_WRAPPER="$folder/rustc" RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR="$folder/target" \
  CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld \
  cargo build --quiet --release -Zbuild-std=std,panic_abort --target wasm32-unknown-unknown --ignore-rust-version
node --eval '
  const [wasm, expected] = process.argv.slice(1);
  const bytes = require("fs").readFileSync(wasm);
  const { signature } = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports;
  const found = BigInt.asUintN(64, signature()).toString(16).padStart(16, "0");
  if (found !== expected) throw new Error(`the signature on 32 bits is ${found}: expected ${expected}`);
  console.log(`the signature on 32 bits is ${found}, too`);
' "$folder/target/wasm32-unknown-unknown/release/signature.wasm" "$(cat "$root/tests/signature.txt")"
