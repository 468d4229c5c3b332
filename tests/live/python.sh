#!/usr/bin/env bash
# Real Python interpreters, 3.12 and newer, started with -X perf and -X perf_jit: their stacks are complete, with
# the Python functions nested as in the program. Hints are printed only to users whom they help.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_live

cat >"$T/load.py" <<'END'
import sys, time

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def work():
    return fib(12)

def main():
    end = time.process_time() + float(sys.argv[1])
    while time.process_time() < end:
        for i in range(20):
            work()

main()
END
DEPTH=12 # of fib(12), the first one included

# Prints one interpreter of each version: the minor version, and the path.
pythons() {
	local python
	for python in "$HOME"/.pyenv/versions/3.*/bin/python3 $(type -aP python3); do
		[ -x "$python" ] || continue
		"$python" -c 'import sys; print(sys.version_info[1], sys.executable)'
	done 2>/dev/null | sort -n -u -k 1,1
}

# run_python PYTHON ARG…: leaves the verdict in $T/err. Removes Python's files in /tmp.
run_python() {
	# shellcheck disable=SC2016
	profile -f --table-cache "$T/tables" -F 499 -- \
		sh -c 'echo $$ >"$0"; exec "$@"' "$T/pid" "$@" "$T/load.py" 1.5
	rm -f "/tmp/perf-$(cat "$T/pid").map" "/tmp/jit-$(cat "$T/pid").dump"
}

# Counts the samples in fib(), and those that have all of its callers and no other Python function.
in_fib() {
	awk -v depth=$DEPTH '
	{
		n = split($0, frames, ";")
		calls = ""
		for (i = 1; i <= n; i++)
			if (sub(/^py::/, "", frames[i])) {
				sub(/:.*/, "", frames[i])
				calls = calls ";" frames[i]
			}
		if (calls !~ /;fib/) next
		all += $NF
		right += frames[2] == "_start" && calls ~ /^;<module>;main;work(;fib)+$/ &&
			gsub(/;fib/, "", calls) <= depth ? $NF : 0
	}
	END { print all + 0, right + 0 }' "$T/out"
}

advised() { grep -q "only the interpreter is visible: $1" "$T/err"; }

# check_named VERSION PYTHON ARG…
check_named() {
	local what="3.$1 ${*:3}" all right
	run_python "${@:2}"
	read -r all right < <(in_fib)
	check "$what: reach their beginning" test "$(ended complete)" -ge 98
	check "$what: was hit in the load ($all samples)" test "$all" -ge 300
	check "$what: main, work and fib are nested as they call ($right)" \
		test "$right" -ge $((all * 98 / 100))
	if advised ''; then fail "$what: no hint to use an option that was used"; else
		pass "$what: no hint to use an option that was used"; fi
}

# profile_running PYTHON ARG…: profiles an interpreter that neither starts nor exits meanwhile.
profile_running() {
	start "$@" "$T/load.py" 60
	let_run "$PID" 50
	profile -f -F 499 -p "$PID" 1
	kill -KILL "$PID"
	wait "$PID" 2>/dev/null
	rm -f "/tmp/perf-$PID.map" "/tmp/jit-$PID.dump"
}

found=
while read -r minor python; do
	[ "$minor" -ge 11 ] || continue
	run_python "$python"
	if [ "$minor" -lt 12 ]; then
		check "3.$minor: hint that -X perf is missing" advised "Python 3.$minor has no -X perf"
		continue
	fi
	found=yes
	check "3.$minor: hint how to get names" advised 'start it with -X perf'
	check_named "$minor" "$python" -X perf
	profile_running "$python" -X perf
	check "3.$minor -X perf: has names while it runs" test "$(sum_matching ';py::fib:')" \
		-ge $(($(sum_matching .) * 95 / 100)) -a "$(sum_matching .)" -ge 20
	[ "$minor" -ge 13 ] || continue
	check_named "$minor" "$python" -X perf_jit
	profile_running "$python" -X perf_jit
	if [ "$(sum_matching ';py::fib:')" -eq 0 ]; then # names are still in the interpreter's buffer
		check "3.$minor -X perf_jit: hint when its names are written" \
			grep -q 'not in its jitdump yet; -X perf writes' "$T/err"
		check "3.$minor -X perf_jit: no hint to use it" \
			test "$(grep -c 'only the interpreter is visible' "$T/err")" -eq 0
	fi
done < <(pythons)
[ -n "$found" ] || skip "all" "Python 3.12 or newer"
