# A machine that is suspended during a run and woken by its clock: the law holds, samples of after it are there with their
# names, and the time asleep is neither part of the run nor sampled.
# shellcheck shell=sh disable=SC2154 # sourced by /init, which sets $STATUS, $TEST and has the functions
alarm=/sys/class/rtc/rtc0/wakealarm
asleep_s=4

# x86 guests without firmware tables for it are not woken.
if ! { [ "$(uname -m)" = aarch64 ] && [ -w $alarm ] && grep -q freeze /sys/power/state; }; then
	skip "all" "a clock that wakes the machine"
	exit 0
fi
for name in before after; do
	cp "$(which spin)" $name
done

profile -a -e cpu-clock -F 99 -d 14 -f >out 2>err &
run=$!
sleep 5
./before 2 >/dev/null
began=$(seconds_up)
echo +$asleep_s >$alarm
echo freeze >/sys/power/state
away=$(($(seconds_up) - began))
./after 3 >/dev/null
wait $run
STATUS=$?
sed -n 's/^ *"\([a-z_]*\)": \([0-9]*\),*$/\1 \2/p' stats.json >stats

figure "$TEST: asleep for $away s; samples before $(sum_matching '^before;'), after $(sum_matching '^after;');" \
	"sampled for $(stat_of sampled_us) us, longest stall $(stat_of longest_stall_us) us"
check "the machine was asleep" test "$away" -ge $((asleep_s - 1))
check "it ends well" test "$STATUS" -eq 0
check "the law holds" test "$(stat_of law_violations) $(stat_of mismatches)" = "0 0" -a "$(stat_of entries)" -gt 0
check "samples of before" test "$(sum_matching '^before;.*spin_(inner|outer)')" -gt 0
check "samples of after" test "$(sum_matching '^after;.*spin_(inner|outer)')" -gt 0
check "the time asleep is not sampled" test "$(stat_of entries)" -le $((14 * 99 * $(nproc) * 12 / 10))
check "the time asleep is no part of the run" test "$(stat_of sampled_us)" -lt 17000000
