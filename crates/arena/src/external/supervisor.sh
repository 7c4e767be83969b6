# Runs the bot command $1. Kills the bot's processes when the arena writes a line to its end of the
# pipe at descriptor $2 or closes that end. If the arena is killed, the kernel closes it.
#
# On Linux this shell is a subreaper: orphaned descendants become its children. The shell also kills
# the descendants that remain when the bot exits. On other systems, this shell kills only its own
# process group, and only when the arena writes to or closes the pipe.
exec 4<"/dev/fd/$2" 3>&2 2>/dev/null
children= session=
read -r self rest </proc/self/stat && [ "$self" = $$ ] && children=/proc/$$/task/$$/children
# In a session of its own, the bot leads a process group, which can be killed as a whole.
[ -r "$children" ] && command -v setsid >/dev/null && session=setsid

{
  read -r line
  killed=
  until [ "$killed" ]; do
    read -r self name state parent rest </proc/self/stat
    [ "$parent" = $$ ] && [ -r "$children" ] || kill -9 0
    # Kills the shell's other children, such as the bot. Repeats until it finds one, because the bot
    # may not have been started yet. The loop below kills the remaining descendants.
    read -r found <"$children"
    for pid in $found; do
      [ "$pid" = "$self" ] || { kill -9 "-$pid" "$pid"; killed=yes; }
    done
  done
} <&4 >/dev/null 3>&- 4<&- &
exec 4<&-

(exec $session sh -c "$1" 2>&3 3>&-)
code=$?
exec </dev/null >/dev/null 3>&-

# Kills the remaining children in rounds, at most 10000. Stops earlier if all children in a round
# have exited and the next round finds the same children.
round=0 ended= before=
while [ -r "$children" ] && [ $((round += 1)) -le 10000 ]; do
  found=
  read -r found <"$children"
  [ "$ended" ] && [ "$found" = "$before" ] && break
  ended=yes before=$found
  for pid in $found; do kill -9 "-$pid" "$pid"; done
  for pid in $found; do
    stat=
    read -r stat <"/proc/$pid/stat"
    set -- "/proc/$pid/task/"*
    case "$# ${stat##*) }" in
      # A zombie with one thread has exited. If it has more threads, the others may still run.
      '1 ' | '1 Z'*) ;;
      *) ended= ;;
    esac
  done
done
exit $code
