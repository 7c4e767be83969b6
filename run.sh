#!/usr/bin/env bash
# Builds and installs the project, plays, and prints the score. `./run.sh --help` lists the options
# and says when the script starts a local server. Needs a Rust toolchain and Python 3.10 or newer.
# In this folder, the script writes only to .venv, target, games/played and bot/__pycache__.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=tools/environment.sh
source tools/environment.sh

usage() {
  cat <<'TEXT'
Usage: ./run.sh [OPTION]...
  --planner NAME     planner to use [default: survival]
  --budget-ms MS     time per decision [default: 75]
  --games N          number of games [default: 1]
  --seed S           seed of the bot and of the choice of maps
  --url URL          server to play on [default: SERVER_URL, or else a server that listens on port 8765]
If there is no such server, or if one of these options is given without a URL, the script starts a
server on a free port:
  --map NAME         name or path of the map [default: a random one for each game]
  --maps DIR         folder of maps
  --delay-ms MS      pause after each tick [default: 0]
  --no-jump          no-jump variant: stepping onto a threat's tile loses the game
TEXT
}

fail() {
  echo "error: $1 (try --help)" >&2
  exit 2
}

url=${SERVER_URL:-}
games=1
map=
bot_options=()
server_options=()
replay_options=()
while [ $# -gt 0 ]; do
  option=$1
  case $option in
    -h | --help) usage; exit ;;
    --no-jump)
      server_options+=(--no-jump) bot_options+=(--no-jump) replay_options=(--no-jump)
      shift
      continue
      ;;
    --planner | --budget-ms | --games | --seed | --url | --map | --maps | --delay-ms) ;;
    *) fail "$option: unknown option" ;;
  esac
  [ $# -ge 2 ] || fail "$option: expected a value"
  value=$2
  shift 2
  case $option in
    --planner | --budget-ms) bot_options+=("$option" "$value") ;;
    --seed) bot_options+=(--seed "$value") seed_option=(--seed "$value") ;;
    --games) games=$value ;;
    --url) url=$value ;;
    --map) map=$value ;;
    --maps | --delay-ms) server_options+=("$option" "$value") ;;
  esac
done
[[ $games =~ ^[1-9][0-9]{0,5}$ ]] || fail "--games: expected a whole number from 1 to 999999, found $games"
if [ -n "$map" ]; then
  server_options+=("$map")
fi
if [ -n "$url" ] && [ ${#server_options[@]} -gt 0 ]; then
  case ${server_options[*]} in
    --no-jump) ;; # Needed by the bot and the replay, whichever server is used.
    *) fail "--map, --maps and --delay-ms only apply to a server that this script starts" ;;
  esac
fi

prepare_python

played=games/played
# Games of the no-jump variant have their own folder, because replay.sh needs --no-jump for them.
[ ${#replay_options[@]} -eq 0 ] || played=games/played/no-jump
mkdir -p "$played" "$target"
scratch=$(mktemp -d "$target/run.XXXXXX")
server_pid=
finish() {
  if [ -n "$server_pid" ]; then
    kill "$server_pid" 2>/dev/null || true
    wait "$server_pid" 2>/dev/null || true
  fi
  rm -rf "$scratch"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

is_port_taken() {
  "$venv_python" -I -c 'import socket; socket.create_connection(("127.0.0.1", 8765), 1).close()' 2>/dev/null
}

if [ -z "$url" ] && [ ${#server_options[@]} -eq 0 ] && is_port_taken; then
  url=ws://127.0.0.1:8765
  echo "playing on the server at $url"
elif [ -z "$url" ]; then
  # The competition allows 100 ms per tick. Here the bot has longer, so that it does not lose on a
  # busy machine. This does not slow down the game, because a tick ends when the command arrives.
  start_server --tick-ms 1000 --games "$games" ${seed_option[@]+"${seed_option[@]}"} ${server_options[@]+"${server_options[@]}"}
fi

# The bot does not receive the final state, so only the server's result is exact.
print_result() {
  [ -n "$server_pid" ] || return 0
  local line=
  for _ in {1..600}; do
    line=$(sed -n "s/^game $1: //p" "$scratch/results")
    [ -z "$line" ] || break
    sleep 0.1
  done
  echo "server: ${line:-no result}"
}

name=$(date +%Y%m%d-%H%M%S)-$$
for ((game = 1; game <= games; game++)); do
  recording=$played/$name-$game.jsonl.gz
  status=0
  SAVE_JSONL_PATH=$recording "$venv_python" bot/application.py --url "$url" ${bot_options[@]+"${bot_options[@]}"} || status=$?
  if [ "$status" -ne 0 ]; then
    [ ! -s "$scratch/log" ] || cat "$scratch/log" >&2
    exit "$status"
  fi
  print_result "$game"
  echo "recorded in $recording"
  echo "verify it:  ./replay.sh $recording${replay_options[*]:+ ${replay_options[*]}}"
done
held=$(find "$played" -name '*.jsonl*' | wc -l)
plural=s
((held != 1)) || plural=
echo "$played holds $((held)) recording$plural, $(du -sh "$played" | cut -f1) in total"
