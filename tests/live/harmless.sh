#!/usr/bin/env bash
# Probes must not change what programs do: every function of a private copy of libc, of libm and of a
# program is probed, and the program's output must be what it is without. tools/torture-probes does
# the same with many programs.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_live

mkdir "$T/lib"
for library in libc.so.6 libm.so.6; do
	file=$(ldd "$PROGRAMS/harmless" | awk -v name="$library" '$1 == name { print $3 }')
	if [ -z "$file" ]; then
		skip "all" "$library, loaded by programs"
		exit 0
	fi
	cp "$file" "$T/lib/$library"
done
cp "$PROGRAMS/harmless" "$T/harmless"

# harmless PART…: runs it with the private libraries; prints its output and status.
harmless() {
	LD_LIBRARY_PATH=$T/lib timeout -k 5 60 "$@" 2>&1
	echo "status $?"
}

# same NAME PREFIX PART…: compares with all functions probed, by patterns that begin with PREFIX (r: or none).
same() {
	local name=$1 prefix=$2 want got
	shift 2
	want=$(harmless "$T/harmless" "$@")
	got=$(harmless "$STOOK" funccount -q --budget off --max-probes 100000 -o "$T/counts.csv" \
		"$prefix$T/lib/libc.so.6:*" "$prefix$T/lib/libm.so.6:*" "$prefix$T/harmless:*" \
		-- "$T/harmless" "$@")
	if [ "$got" = "$want" ]; then
		pass "$name"
	else
		fail "$name" "$(diff <(echo "$want") <(echo "$got") | grep '^[<>]' | head -n 4 | tr '\n' ' ')"
	fi
}

parts=(math text jumps contexts signals threads children loader)

complaints() { dmesg 2>/dev/null | grep -cE 'harmless\[[0-9]+\]|uprobe: .*(illegal|failed)'; }

before=$(complaints)
same "all calls probed" "" "${parts[@]}" caller
check "they were counted" [ "$(wc -l <"$T/counts.csv")" -gt 300 ]
same "all returns probed" "r:" "${parts[@]}"
check_equal "the kernel has no complaints" "$(complaints)" "$before"
