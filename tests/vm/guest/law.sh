# shellcheck shell=sh disable=SC2154
# The conservation law in difficult scenarios: every sample is counted in exactly one place, and the
# printed counts add up to the recorded ones.

law_holds() {
	awk -v sum="$(sum_matching .)" '
		{ v[$1] = $2 }
		END {
			kept = v["recorded"] + v["counted"]
			parts = v["idle"] + v["own"] + v["filtered"] + kept + v["lost_total"]
			shown = kept - v["hidden"]
			printf "entries %d, parts %d, shown %d, printed %d\n",
				v["entries"], parts, shown, sum
			exit !v["entries"] || v["entries"] != parts || shown != sum ||
				shown != v["shown"] || v["mismatches"]
		}' stats >law 2>&1
}

law() { # law NAME ARGUMENT…
	scenario=$1
	shift
	profile -f -d 2 -e cpu-clock "$@"
	if [ "$STATUS" -eq 0 ] && law_holds; then
		pass "$scenario"
	else
		fail "$scenario" "status $STATUS, $(cat law): $(said)"
	fi
}

start stacks 100000
law "calm" -a -F 199
check "calm: nothing is lost" test "$(stat_of lost_total)" -eq 0
law "tiny ring" -a -F 999 --ring-bytes 4096
law "tiny count map" -a -F 999 --count-entries 16
check "tiny count map: most samples came as records" \
	test "$(stat_of recorded)" -gt "$(stat_of counted)"
law "a name that matches nothing" -a -F 199 --comm '^nothing$'
check "a name that matches nothing: all hidden or filtered" test "$(stat_of shown)" -eq 0
stop "$PID"

start forkstorm 100000 2
law "fork storm" -a -F 199
law "fork storm, -p" -p "$PID" -F 199
stop "$PID"
