#!/bin/sh
# A minimal bot in shell. It reads one message per line of standard input, and answers each message
# with one command. It uses only the tick and the player's position. If the player has not moved
# since the last message, for example because of a wall, the bot turns right.
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
