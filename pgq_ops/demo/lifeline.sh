# Runs the command given as arguments and sends it the signals named on standard input, one a line.
# Standard input ends when the process that started us is gone, however it went: then the command
# is told to quit at once, so that no server outlives its owner.
exec 3<&0
"$@" </dev/null 3<&- &
server=$!
{
    while read -r name; do kill -s "$name" "$server"; done
    kill -s QUIT "$server"
} <&3 2>/dev/null &
watcher=$!
wait "$server"
status=$?
kill "$watcher" 2>/dev/null
exit "$status"
