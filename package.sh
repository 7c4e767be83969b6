#!/usr/bin/env bash
# Builds getaway-bot.zip, the upload for the competition, and tests it if it is for this machine's
# architecture. The test unpacks the zip into an empty folder and installs its requirements.txt into
# a fresh environment. The bot must then reach the best possible score in games of both variants.
# One of the maps cannot be survived.
#
# `./package.sh --help` prints the options. The script needs a Rust toolchain, Python 3.10 or newer,
# and access to crates.io and PyPI. Zig, installed from PyPI, links the wheel against glibc 2.17,
# even if this machine has a newer version.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=tools/environment.sh
source tools/environment.sh

usage() {
  cat <<'TEXT'
Usage: ./package.sh [--aarch64]
Builds getaway-bot.zip, the upload for the competition, and tests it in an empty environment.
  --aarch64    build for aarch64; on a machine of another architecture, play no test games
TEXT
}

zip='getaway-bot.zip'
architecture=$(uname -m)
case ${1:-} in
  '') ;;
  -h | --help) usage; exit ;;
  --aarch64) architecture=aarch64 ;;
  *) echo "error: $1: unknown option (expected --aarch64 or nothing)" >&2; exit 2 ;;
esac
[ $# -le 1 ] || { echo 'error: expected at most one option' >&2; exit 2; }
[ "$architecture" != arm64 ] || architecture=aarch64
require_rust
rust_target=$architecture-unknown-linux-gnu
if ! [ -d "$(rustc --print target-libdir --target "$rust_target")" ]; then
  rustup target add "$rust_target" || {
    echo "error: no Rust standard library for $rust_target, and rustup could not install it" >&2
    exit 2
  }
fi

# heading TEXT: prints the heading of a step, and the seconds since the script started.
heading() {
  printf '== %s (after %d s)\n' "$1" "$SECONDS"
}

heading '1 of 5, environment'
prepare_python
install --requirement tools/requirements-package.txt

mkdir -p "$target"
scratch=$(cd "$(mktemp -d "$target/package.XXXXXX")" && pwd)
server_pid=
finish() {
  [ -z "$server_pid" ] || kill "$server_pid" 2>/dev/null || true
  rm -rf "$scratch"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

heading '2 of 5, wheel, built without the command line'
# Zig from PyPI is a Python module. With this PATH, maturin runs it with the environment's Python.
PATH=$(cd "$venv/bin" && pwd):$PATH "$venv_python" -I -m maturin build --release --no-default-features --locked --zig \
  --compatibility manylinux2014 --target "$rust_target" --out "$scratch/wheel"
wheels=("$scratch"/wheel/*.whl)
wheel=${wheels[0]}
# The upload needs no type stubs, no software bill of materials (sboms/), and none of the modules
# in `modules` below.
"$venv_python" -I - "$wheel" <<'PYTHON'
"""Removes files from a wheel, and compresses the others at the highest level."""
import re, sys, zipfile

wheel = sys.argv[1]
modules = "arena|cluster|dataset|gymnasium|levels|stable_baselines3"
is_left_out = re.compile(rf"getaway/({modules})\.py|getaway/.*\.pyi|[^/]+\.dist-info/sboms/.*").fullmatch
with zipfile.ZipFile(wheel) as archive:
    entries = [(entry, archive.read(entry)) for entry in archive.infolist() if not is_left_out(entry.filename)]
with zipfile.ZipFile(wheel, "w") as archive:
    for entry, content in entries:
        if entry.filename.endswith(".dist-info/RECORD"):
            lines = content.decode().splitlines(keepends=True)
            content = "".join(line for line in lines if not is_left_out(line.split(",")[0])).encode()
        archive.writestr(entry, content, zipfile.ZIP_DEFLATED, 9)
PYTHON
case $(basename "$wheel") in
  getaway-*-cp310-abi3-manylinux_2_17_"$architecture".manylinux2014_"$architecture".whl) ;;
  getaway-*-cp310-abi3-manylinux2014_"$architecture".manylinux_2_17_"$architecture".whl) ;;
  *) echo "error: $(basename "$wheel"): expected an abi3 wheel for manylinux2014 on $architecture" >&2; exit 1 ;;
esac
# auditwheel may report an older glibc than the wheel's tag, so older versions are accepted.
"$venv/bin/auditwheel" show "$wheel" | tee "$scratch/auditwheel"
tr -s '[:space:]' ' ' <"$scratch/auditwheel" | grep -qE "consistent with the following platform tag: \"manylinux_2_(5|12|17)_$architecture\"" || {
  echo 'error: the wheel needs a newer glibc than 2.17' >&2
  exit 1
}
"$venv/bin/abi3audit" --strict --summary "$wheel"
wheel_bytes=$(wc -c <"$wheel")
[ "$wheel_bytes" -lt 3000000 ] || { echo "error: the wheel has $wheel_bytes bytes, expected less than 3 MB" >&2; exit 1; }

heading '3 of 5, zip'
folder=$scratch/zip
mkdir "$folder"
cp bot/application.py bot/client.py "$wheel" "$folder"
{
  cat bot/requirements.txt
  echo "./$(basename "$wheel")"
} >"$folder/requirements.txt"
rm -f "$zip"
(cd "$folder" && printf '%s\0' *) | "$venv_python" tools/zip_folder.py "$folder" "$zip"
"$venv_python" -I - "$zip" <<'PYTHON'
"""Lists the files of a zip with their permissions and sizes, and prints the size of the zip."""
import pathlib, stat, sys, zipfile

with zipfile.ZipFile(sys.argv[1]) as archive:
    for entry in archive.infolist():
        print(f"{stat.filemode(entry.external_attr >> 16)} {entry.file_size:>9}  {entry.filename}")
size = pathlib.Path(sys.argv[1]).stat().st_size
print(f"{size:>20}  {sys.argv[1]}")
PYTHON

if [ "$architecture" != "$(uname -m)" ]; then
  echo "$zip is built for $architecture and was not tested: this machine is $(uname -m)"
  exit
fi

heading '4 of 5, installation of the zip into an empty environment'
test_folder=$scratch/test
mkdir "$test_folder"
"$venv_python" -I -m zipfile --extract "$zip" "$test_folder"
make_venv "$scratch/venv"
(cd "$test_folder" && "$scratch/venv/bin/python" -I -m pip install --quiet --disable-pip-version-check --requirement requirements.txt)
heading '5 of 5, games with the installed zip'
# play_game MAP [--no-jump]: fails unless the bot reaches the best possible score on the map,
# answers in every tick and is never late.
play_game() {
  local recording best
  recording=$test_folder/$(basename "$1" .txt).jsonl
  best=$("$getaway" solve --json "$@" | "$venv_python" -I -c 'import json; print(json.loads(input())["bound"])')
  start_server "$@" --games 1 --json
  # The bot gets only these environment variables.
  (cd "$test_folder" && env -i PATH=/usr/bin:/bin TOKEN=test SAVE_JSONL_PATH="$recording" \
    "$scratch/venv/bin/python" application.py --url "$url" "${@:2}")
  wait "$server_pid" || true
  server_pid=
  "$getaway" replay "$recording"
  "$venv_python" -I - "$best" "$scratch/results" <<'PYTHON'
"""Fails if the bot missed the best possible score, was late, or did not answer in every tick."""
import json, sys

best, result = int(sys.argv[1]), json.loads(open(sys.argv[2]).readline())
score, late, missed = result["score"], result["late_commands"], result["missed_ticks"]
print(f"{score} points; the best possible score is {best}")
sys.exit(f"error: {late} late commands, {missed} ticks without a command" if late or missed else
         f"error: {score} points, expected {best}" if score != best else 0)
PYTHON
}
# A corridor in which the player cannot get past the shark.
printf '%s\n' '#########' '#P.....S#' '#########' >"$scratch/corridor.txt"
play_game maps/roundabout
play_game maps/snail --no-jump
play_game "$scratch/corridor.txt" --no-jump
echo "$zip works in a fresh environment with $("$scratch/venv/bin/python" --version)"
