#!/usr/bin/env bash
# Builds the documentation site into target/site/, with the playground if its engine can be built.
# A warning, such as one about a dead link between pages, fails the build. `tools/docs.sh --serve`
# instead serves the site without the playground, and rebuilds it when a file in docs/ changes.
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
tools/playground.sh
export GETAWAY_PLAYGROUND=$target/playground
# With --quiet, mkdocs does not count warnings, so --strict would let them pass.
log=$("$venv_python" -m mkdocs build --strict --site-dir "$PWD/target/site" 2>&1) || {
  grep -v '^INFO' <<<"$log" >&2
  exit 1
}
echo 'built target/site/index.html'
