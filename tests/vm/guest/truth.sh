# shellcheck shell=sh disable=SC2154,SC2016
# The program truth measures the time of each path by its threads' CPU clocks. An emulated CPU is
# sometimes paused by the host and loses a burst of ticks, all in one path, so the tolerance is
# wider than in tests/live/truth.sh. With N samples in total, M missed ticks, and a path's share p:
#
#   |n - N p|  <=  4 sqrt(N p (1 - p))  +  0.02 N  +  M / 4  +  1
#
# (busybox's awk has no square root.)

RATE=499

profile -e cpu-clock -F $RATE -o truth.folded -- truth 6 2 1
check "runs" test "$STATUS" -eq 0 -a -s truth.folded
awk -v rate=$RATE -v missed="$(stat_of unseen_estimate)" '
	FNR == NR && $1 !~ /^thread:/ && NF == 3 { ns[$1] = $2; sum_ns += $2 }
	FNR == NR { next }
	{
		line = $0
		sub(/ [0-9]+$/, ";", line)
		for (path in ns)
			if (index(line, ";" path ";")) {
				seen[path] += $NF
				total += $NF
			}
	}
	END {
		if (!total) { print "no sample in any path"; exit }
		for (path in ns) {
			share = ns[path] / sum_ns
			off = seen[path] - total * share
			beyond = (off < 0 ? -off : off) - total / 50 - missed / 4 - 1
			if (beyond > 0 && beyond * beyond > 16 * total * share * (1 - share))
				printf "%s: %d seen, %.0f expected; ",
					path, seen[path], total * share
		}
		printf "%d %.0f\n", total, rate * sum_ns / 1e9 > "total"
		exit 0
	}' out truth.folded >wrong
if [ -s wrong ]; then fail "shares agree with the clocks" "$(cat wrong)"; else
	pass "shares agree with the clocks"
fi
read -r got expected <total
check_amount "samples" "$got" "$expected"
check_missed "samples" "$got" "$expected"
