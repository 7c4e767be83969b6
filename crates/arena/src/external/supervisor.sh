# Runs the bot command $1. Kills the bot's descendants when the bot exits, and all bot processes
# when the arena closes its end of the pipe at descriptor $2. If the arena is killed, the kernel
# closes this end.
#
# On Linux this shell is a subreaper: orphaned descendants become its children. On other systems
# only the process group is killed.
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
    # Kills the bot if it has been started; the loop below kills the other descendants.
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

# Kills the remaining children in rounds. Stops when two rounds in a row list the same children and
# all of them had already exited in the first of the two.
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
