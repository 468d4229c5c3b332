# shellcheck shell=sh disable=SC2154
# The program truth measures the time of each path by its threads' CPU clocks. An emulated CPU is
# sometimes paused by the host and loses a burst of ticks, all in one path, so the tolerance is
# wider than in tests/live/truth.sh.

RATE=499

profile -e cpu-clock -F $RATE -o truth.folded -- truth 6 2 1
check "runs" test "$STATUS" -eq 0 -a -s truth.folded
missed=$(stat_of unseen_estimate)
check_shares "shares agree with the clocks" truth.folded "$(stat_of shown)" "$missed" 20
read -r got milliseconds <total
check_amount "samples" "$got" $((RATE * milliseconds / 1000))
check_missed "samples" "$got" $((RATE * milliseconds / 1000))
