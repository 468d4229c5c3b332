#!/usr/bin/env bash
# Waits for locks against programs/locks, whose threads measure their waits for futexes, and against bpftrace on the same
# tracepoints for locks of the kernel. A wait of a futex agrees with the clocks within 1 %, or 50 us a call.
#
# Spin locks are not judged: the kernel reports a wait only from the third CPU on that wants one, or where a hypervisor
# helps.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_live

if ! grep -q ' __traceiter_contention_begin$' /proc/kallsyms; then
	skip all "Linux 5.19 or newer"
	exit 0
fi
SECONDS_EACH=${SECONDS_EACH:-3}

# storm FOLDER: prints the command.
storm() {
	rm -rf "${T:?}/$1"
	mkdir "$T/$1"
	echo "$PROGRAMS/locks $SECONDS_EACH $T/$1"
}

# waits_hold: prints what is wrong: each wait that began has ended, is open, or the kernel did not report its end.
waits_hold() {
	numbers_of "$T/stats" | awk '
		{ v[$1] = $2 }
		END {
			begun = v["recorded"] + v["counted"] + v["lost_ring_full"] + v["lost_ring_busy"]
			missing = begun - v["waits"] - v["waits_open"]
			if (missing < 0 || missing > v["waits_unseen"] || !v["waits"])
				printf "%d waits began, %d ended, %d are open, %d were not seen\n", begun, v["waits"],
					v["waits_open"], v["waits_unseen"]
		}'
}

# shellcheck disable=SC2046
profile --locks --by comm,tid -o "$T/locks.folded" -o "$T/locks.pb.gz" -o "$T/locks.html" -o "$T/locks.svg" \
	-- $(storm first)
check "runs" test "$STATUS" -eq 0 -a -s "$T/locks.folded"
check_equal "every nanosecond is accounted for" "$(nanoseconds_hold "$(total "$T/locks.folded")")" ""
check_equal "every wait is accounted for" "$(waits_hold)" ""
check "the verdict has a sum" grep -q '^time .* s in waits for locks = ' "$T/err"
check_equal "futexes agree with the clocks" "$(awk '
	function far(seen, wanted, slack) { return seen - wanted > slack || wanted - seen > slack }
	FNR == NR && $1 == "thread" { name[$3] = $2; want[$3] = $4; calls[$3] = $5 }
	FNR == NR { next }
	{
		tid = substr($0, 1, index($0, ";") - 1)
		sub(/.*\//, "", tid)
		if (index($0, ";[futex];") && index($0, ";in_lock;")) got[tid] += $NF
	}
	END {
		for (tid in want) {
			n++
			slack = want[tid] / 100 > 50e3 * calls[tid] ? want[tid] / 100 : 50e3 * calls[tid]
			printf "%s: %.3f ms, measured %.3f in %d calls\n", name[tid], got[tid] / 1e6, want[tid] / 1e6,
				calls[tid] > "/dev/stderr"
			if (far(got[tid], want[tid], slack))
				printf "%s: %.3f ms, measured %.3f; ", name[tid], got[tid] / 1e6, want[tid] / 1e6
		}
		if (n != 3) print n, "threads"
	}' "$T/out" "$T/locks.folded")" ""
check "a condition is a futex, too" grep -q '^l-sleep[^;]*;\[futex\];.*;in_condition;.*futex' "$T/locks.folded"
check "a thread that sleeps otherwise has no wait" test "$(grep -c ';\[futex\];.*nanosleep' "$T/locks.folded")" -eq 0
check "mmap() waits to write" grep -q '^l-map-[^;]*;\[rwsem:W\];.*;in_map;.*down_write' "$T/locks.folded"
check "a reader of /proc waits to read" grep -q '^l-read-[^;]*;\[rwsem:R\];.*;in_proc;.*down_read' "$T/locks.folded"
check "rename() waits for a mutex" grep -q '^l-name-[^;]*;\[mutex\];.*;in_rename;.*mutex_lock' "$T/locks.folded"
check_equal "stacks end in the kernel's function, not in ours" \
	"$(grep -cE ';(bpf_prog|bpf_trace|__bpf_trace|__traceiter|__probestub)[^;]* [0-9]+$' "$T/locks.folded")" 0
check_equal "user stacks are whole, or their tables were not there yet" "$(numbers_of "$T/stats" | awk '
	/^user_end_/ { n += $2 }
	$1 == "user_end_complete" || $1 == "user_end_no_table" { whole += $2 }
	END { if (!(whole > 0.95 * n)) print whole, "of", n }')" ""
"$STOOK" report -f "$T/locks.pb.gz" >"$T/again" 2>"$T/err"
check_equal "the same sum in another format" "$(total "$T/again")" "$(total "$T/locks.folded")"
"$STOOK" report --value waits -f "$T/locks.pb.gz" >"$T/counts" 2>"$T/err"
check_equal "each call of a lock is one wait at most" "$(awk '
	FNR == NR && $1 == "thread" { calls += $5 }
	FNR == NR { next }
	/;\[futex\];.*;in_lock;/ { waits += $NF }
	END { if (waits > 1.05 * calls + 3 || waits < calls / 2) print waits, "waits in", calls, "calls" }
	' "$T/out" "$T/counts")" ""
"$STOOK" report -s state -g none --format csv "$T/locks.pb.gz" >"$T/table" 2>"$T/err"
check "a report by kind" grep -q 'rwsem:W' "$T/table"

# Ends of epochs, intervals, filters.
# shellcheck disable=SC2046
profile --locks --timeline 0.2 -o "$T/locks.folded" -- $(storm slices)
check_equal "short epochs: every nanosecond is accounted for" "$(nanoseconds_hold "$(total "$T/locks.folded")")" ""
check_equal "short epochs: every wait is accounted for" "$(waits_hold)" ""
check "short epochs: waits crossed their ends" test "$(stat_of waits_sent)" -ge "$(stat_of epochs)"
rm -f "$T"/interval.*
# shellcheck disable=SC2046
profile --locks -i 0.4 -o "$T/interval.folded" -- $(storm intervals)
check_equal "intervals: every nanosecond is accounted for" \
	"$(nanoseconds_hold "$(cat "$T"/interval.*.folded | total)")" ""
# shellcheck disable=SC2046
profile --locks --min-us 1000 -o "$T/locks.folded" -- $(storm long)
check_equal "--min-us: every nanosecond is accounted for" "$(nanoseconds_hold "$(total "$T/locks.folded")")" ""
check "--min-us: short waits are left out" test "$(stat_of waits_passed)" -gt 10
# shellcheck disable=SC2046
start $(storm other)
OTHER=$PID
start sleep 100
profile --locks -p "$PID" -o "$T/locks.folded" 1
check_equal "-p: nobody else's waits" "$(total "$T/locks.folded")" 0
check_equal "-p: every wait is accounted for" "$(nanoseconds_hold 0)" ""
profile --locks --comm '^l-name' -a -o "$T/locks.folded" 1
check_equal "--comm: every nanosecond is accounted for" "$(nanoseconds_hold "$(total "$T/locks.folded")")" ""
check_equal "--comm: nobody else's waits" "$(grep -vc '^l-name' "$T/locks.folded")" 0
stop "$OTHER"

# The kernel's locks, beside bpftrace.
if ! command -v bpftrace >/dev/null; then
	skip "the same waits as bpftrace" "bpftrace"
	exit 0
fi
cat >"$T/locks.bt" <<'SCRIPT'
tracepoint:lock:contention_begin /strncmp(comm, "l-", 2) == 0 && @since[tid, args->lock_addr] == 0/ {
	@since[tid, args->lock_addr] = nsecs;
	@kind[tid, args->lock_addr] = args->flags;
}
tracepoint:lock:contention_end /@since[tid, args->lock_addr] != 0/ {
	@ns[@kind[tid, args->lock_addr]] = sum(nsecs - @since[tid, args->lock_addr]);
	@n[@kind[tid, args->lock_addr]] = count();
	delete(@since[tid, args->lock_addr]);
	delete(@kind[tid, args->lock_addr]);
}
END { clear(@since); clear(@kind); }
SCRIPT
start unshare -m sh -c "mount -t tracefs none /sys/kernel/tracing; mount -t debugfs none /sys/kernel/debug
	exec bpftrace -B line -o '$T/peer' '$T/locks.bt'"
PEER=$PID
if ! wait_until 30 grep -qs Attaching "$T/peer"; then
	skip "the same waits as bpftrace" "a bpftrace that works"
	exit 0
fi
sleep 3 # until they are attached
# shellcheck disable=SC2046
profile --locks --comm '^l-' -o "$T/locks.pb.gz" -- $(storm beside)
kill -INT "$PEER"
wait "$PEER" 2>/dev/null
"$STOOK" report -s state -g none --format csv "$T/locks.pb.gz" >"$T/table" 2>"$T/err"
check_equal "the same waits as bpftrace" "$(awk -v lost="$(stat_of lost_total)" '
	BEGIN { name[2] = "rwsem:R"; name[4] = "rwsem:W"; name[33] = "mutex" }
	function far(seen, wanted, slack) { return seen - wanted > slack || wanted - seen > slack }
	FNR == NR && /^@(ns|n)\[/ {
		split($0, part, /[][]|: /)
		if (part[1] == "@ns") ns[part[2]] = part[4]
		else n[part[2]] = part[4]
		next
	}
	FNR == NR { next }
	{ gsub(/"/, ""); split($0, cell, ",") }
	FNR == 1 { for (i in cell) column[cell[i]] = i; next }
	{
		kind = cell[column["state"]]
		gsub(/[][]/, "", kind)
		time[kind] = cell[column["self"]]
		waits[kind] = cell[column["waits"]]
	}
	END {
		for (flags in name) {
			kind = name[flags]
			printf "%s: %.0f waits of %.3f ms, bpftrace %.0f of %.3f\n", kind, waits[kind], time[kind] / 1e6, n[flags],
				ns[flags] / 1e6 > "/dev/stderr"
			if (!n[flags]) printf "%s: none; ", kind
			if (far(waits[kind], n[flags], lost + n[flags] / 100 + 2))
				printf "%s: %.0f waits, bpftrace %.0f; ", kind, waits[kind], n[flags]
			if (far(time[kind], ns[flags], ns[flags] / 50 + 2e3 * n[flags]))
				printf "%s: %.0f ns, bpftrace %.0f; ", kind, time[kind], ns[flags]
		}
	}' "$T/peer" "$T/table")" ""
