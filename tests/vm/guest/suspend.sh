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

# The clock of runs. It stands still while all CPUs are in a deep sleep, which some machines don't have; /proc/uptime goes on.
monotonic_us() { awk '/^now at/ { printf "%.0f\n", $3 / 1000 }' /proc/timer_list; }

begun=$(seconds_up) begun_us=$(monotonic_us)
stook profile --stats stats.json -a -e cpu-clock -F 99 -d 200 -f >out 2>err </dev/null &
run=$!
until opens_events $run || [ $(($(seconds_up) - begun)) -gt 100 ]; do sleep 0.2; done
sleep 1
./before 2 >/dev/null
began=$(seconds_up)
echo +$asleep_s >$alarm
echo freeze >/sys/power/state
away=$(($(seconds_up) - began))
./after 3 >/dev/null
kill -TERM $run
wait $run
STATUS=$?
took_us=$(($(monotonic_us) - begun_us))
sed -n 's/^ *"\([a-z_]*\)": \([0-9]*\),*$/\1 \2/p' stats.json >stats

figure "$TEST: asleep for $away s; samples before $(sum_matching '^before;'), after $(sum_matching '^after;');" \
	"sampled for $(stat_of sampled_us) of $took_us us, longest stall $(stat_of longest_stall_us) us"
check "the machine was asleep" test "$away" -ge $((asleep_s - 1))
check "it ends well" test "$STATUS" -eq 0
check "the law holds" test "$(stat_of law_violations) $(stat_of mismatches)" = "0 0" -a "$(stat_of entries)" -gt 0
check "samples of before" test "$(sum_matching '^before;.*spin_(inner|outer)')" -gt 0
check "samples of after" test "$(sum_matching '^after;.*spin_(inner|outer)')" -gt 0
check "the time asleep is not sampled" \
	test "$(stat_of entries)" -le $(($(stat_of sampled_us) * 119 * $(nproc) / 1000000))
check "the time asleep is no part of the run" test "$(stat_of sampled_us)" -le $took_us
