#!/bin/sh
# A minimal bot in shell: reads one message and writes one command per line. Uses only the
# tick and its position. When a move fails, it turns to the next direction.
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
