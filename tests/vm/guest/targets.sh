# shellcheck shell=sh disable=SC2154
# Only the selected processes and CPUs are sampled.

start spin 60
spin=$PID
start stacks 60
profile -f -e cpu-clock -F 199 -d 1 -p "$spin"
check "-p: has it" test "$(sum_matching ';spin_inner')" -ge 10
check "-p: and nothing else" test "$(sum_matching .)" -eq "$(sum_matching '^spin;')"
stop "$spin" "$PID"

# An emulated CPU needs a second or two for the first tables.
profile -f -e cpu-clock -F 199 -- sh -c 'spin 5; exit 7'
check "-- CMD: its status" test "$STATUS" -eq 7
check "-- CMD: its child's samples" test "$(sum_matching '^spin;.*;spin_inner')" -ge 10

profile -f -d 1 -p 99999
check "a pid that does not exist: status 1" test "$STATUS" -eq 1
check "a pid that does not exist: reported" grep -q 99999 err
