#!/usr/bin/env bash
# Builds the documentation site into target/site/, with the playground if its engine can be built.
# A warning, such as one about a dead link between pages, fails the build. `tools/docs.sh --serve`
# instead serves the site without the playground and the benchmark's files, and rebuilds it when a
# file in docs/ changes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tools/environment.sh
source tools/environment.sh

prepare_python
install --requirement tools/requirements-arrays.txt --requirement tools/requirements-docs.txt
export NO_MKDOCS_2_WARNING=1
if [ "${1:-}" = --serve ]; then
  exec "$venv_python" -m mkdocs serve --quiet
fi
# With --quiet, mkdocs does not count warnings, so --strict would let them pass.
log=$("$venv_python" -m mkdocs build --strict --site-dir "$PWD/target/site" 2>&1) || {
  grep -v '^INFO' <<<"$log" >&2
  exit 1
}
tools/playground.sh
mkdir -p target/site/instances
cp -R instances/{records.html,RECORDS.md,records,maps} target/site/instances
if [ -f "$target/playground/engine.bin" ]; then
  cp -R "$target/playground" target/site/playground
fi
echo 'built target/site/index.html'
