#!/bin/sh
# A minimal bot in shell: reads one message and writes one command per line. It uses only the
# tick and the player's position. When a move fails, the bot turns to the next direction.
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
