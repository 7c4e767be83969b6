#!/bin/sh
# A bot that goes round and round, in twenty lines of shell: one message per line on standard input,
# one command per line on standard output. It knows two fields: the tick, and where it is. A move
# that got it nowhere is blocked by a wall, so it turns to the next one.
#
#   getaway battle "pipe:sh examples/bots/walker.sh" random
#   getaway bridge -- sh examples/bots/walker.sh     (on a real server)

move=MOVE_LEFT here=
while read -r message; do
  tick=${message#*\"tick\":} tick=${tick%%,*}
  player=${message#*\"yourCharacter\":} position=${player#*\"position\":} position=${position%%\}*}
  if [ "$position" = "$here" ]; then
    case $move in
      MOVE_LEFT) move=MOVE_UP ;; MOVE_UP) move=MOVE_RIGHT ;; MOVE_RIGHT) move=MOVE_DOWN ;; *) move=MOVE_LEFT ;;
    esac
  fi
  here=$position
  echo "{\"type\":\"COMMAND\",\"tick\":$tick,\"actions\":[{\"type\":\"$move\"}]}"
done
