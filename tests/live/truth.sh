#!/usr/bin/env bash
# Ground truth: programs/truth splits its CPU time over known call paths, and measures each by the
# thread's CPU clock. The profile must agree, at 99, 999 and 9,999 Hz.
#
# Definition of "agree": with N samples in all paths and a path's true share p, its count n obeys
#
#   |n - N p|  <=  4 sqrt(N p (1 - p))  +  0.001 N  +  1
#
# The root is the binomial error. It is an upper bound: ticks are periodic, so within a phase that
# lasts several of them they are more regular than chance. The allowance of 0.1 % is for what the
# two measurements draw differently: a phase lasts about a millisecond, and the clock's system call
# at either end, one to three microseconds, is partly in the truth but never in the path; that is
# nearly the same for each path, so most of it cancels.
#
# All samples together are checked against the clock and the rate, within 1 % + 2 / sqrt(N): the
# whole may not be missing where the shares are right. A thread seems to run while the hypervisor runs
# something else, which is in no clock: there may be a sample more for each period of it.
#
# SECONDS_EACH (4; at 99 Hz three times as long) and ROUNDS (1) make it stricter.
#
# Alone: it judges shares and rates to a tenth of a percent.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_live

SECONDS_EACH=${SECONDS_EACH:-4}
ROUNDS=${ROUNDS:-1}

# compare HZ TRUTH FOLDED: prints the table on stderr, and a line for each violated bound on stdout.
compare() {
	awk -v hz="$1" -v stolen_us="$(stat_of stolen_us)" '
	function bound(total, share) { return 4 * sqrt(total * share * (1 - share)) + total / 1000 + 1 }
	function judge(name, seen, total, true_ns, sum_ns,    share, wanted, sigma) {
		share = true_ns / sum_ns
		wanted = total * share
		sigma = sqrt(total * share * (1 - share))
		if (sigma == 0) sigma = 1
		printf "| %-16s | %7d | %9.1f | %6.2f %% | %6.2f %% | %+5.2f |\n", name, seen, wanted,
			100 * seen / (total ? total : 1), 100 * share, (seen - wanted) / sigma > "/dev/stderr"
		if (seen - wanted > bound(total, share) || wanted - seen > bound(total, share))
			printf "%s: %d seen, %.1f expected; ", name, seen, wanted
	}
	FNR == NR && $1 ~ /^thread:/ { sub("thread:", "", $1); thread_ns[$1] = $2; next }
	FNR == NR && NF == 3 { path_ns[$1] = $2; sum_ns += $2; order[++nr] = $1; next }
	FNR == NR { next }
	{
		count = $NF
		comm = substr($0, 1, index($0, ";") - 1)
		if (!(comm in thread_ns)) next
		all += count
		line = $0
		sub(/ [0-9]+$/, ";", line)
		for (path in path_ns) {
			if (!index(line, ";" path ";")) continue
			seen[path] += count
			by_thread[comm] += count
			total += count
			if (path == "in_read" && line ~ /vfs_read|ksys_read|read_zero|read_iter_zero/)
				in_kernel += count
		}
	}
	END {
		if (!total) { print "no sample in any path"; exit }
		print "| " hz " Hz | samples | expected | share | truth | z |" > "/dev/stderr"
		print "|---|---|---|---|---|---|" > "/dev/stderr"
		for (i = 1; i <= nr; i++)
			judge(order[i], seen[order[i]], total, path_ns[order[i]], sum_ns)
		for (thread in thread_ns)
			judge(thread, by_thread[thread], total, thread_ns[thread], sum_ns)
		printf "in no path %.3f %%, of in_read in the kernel %.2f %%, of all ticks seen %.3f %%\n",
			100 * (all - total) / all, 100 * in_kernel / seen["in_read"],
			100 * total / (hz * sum_ns / 1e9) > "/dev/stderr"
		if (all - total > 0.01 * all + 3)
			printf "%d of %d samples are in no path; ", all - total, all
		if (in_kernel < 0.95 * seen["in_read"])
			printf "only %d of %d in_read in the kernel; ", in_kernel, seen["in_read"]
		wanted = hz * sum_ns / 1e9
		slack = wanted * (0.01 + 2 / sqrt(total))
		if (total < wanted - slack || total > wanted + slack + hz * stolen_us / 1e6)
			printf "%d samples, the clock says %.0f, %d us stolen; ", total, wanted, stolen_us
	}' "$2" "$3"
}

for hz in 99 999 9999; do
	for ((round = 1; round <= ROUNDS; round++)); do
		seconds=$((hz == 99 ? 3 * SECONDS_EACH : SECONDS_EACH))
		profile -F "$hz" -o "$T/truth.folded" -- "$PROGRAMS/truth" "$seconds" 3 "$((hz + round))"
		check "$hz Hz, round $round: runs" test "$STATUS" -eq 0 -a -s "$T/truth.folded"
		[ "$STATUS" -eq 0 ] || continue
		wrong=$(compare "$hz" "$T/out" "$T/truth.folded")
		check_equal "$hz Hz, round $round: shares agree with the clocks" "$wrong" ""
		check "$hz Hz, round $round: conservation law" law_holds "$T/stats" "$T/truth.folded"
	done
done
