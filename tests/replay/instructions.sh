#!/bin/bash
# Compares instruction lengths in real files with objdump: tests/replay/instructions.sh [FILE…]
#
# Each instruction that objdump prints is compared separately, including ones from data in code; of
# large files, the first million. Some of the files have much AVX and AVX-512 code.
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"

PRINT_INSTRUCTIONS=${PRINT_INSTRUCTIONS:-$ROOT/build/tests/tools/print_instructions}
MAX_LINES=1000000

compare() { # compare FILE
	local name=${1##*/} objdump=objdump last
	if readelf -hW "$1" 2>/dev/null | grep -q AArch64; then
		name="$name of arm64"
		[ "$(uname -m)" = aarch64 ] || objdump=aarch64-linux-gnu-objdump
		if ! command -v $objdump >/dev/null; then
			skip "$name" "$objdump"
			return
		fi
	fi
	"$objdump" -d -z -w "$1" 2>/dev/null | head -n $MAX_LINES |
		"$PRINT_INSTRUCTIONS" >"$T/differences"
	last=$(tail -n 1 "$T/differences")
	if [[ $last == [1-9]*" 0 differ" ]]; then
		pass "$name: $last"
	else
		fail "$name" "$last: $(head -n 1 "$T/differences")"
	fi
}

if ! command -v objdump >/dev/null; then
	skip "all" "objdump"
	exit 0
fi
if [ ! -x "$PRINT_INSTRUCTIONS" ]; then
	fail "all" "$PRINT_INSTRUCTIONS must be built"
	exit 1
fi

if [ $# -eq 0 ]; then
	libraries=/usr/lib/$(uname -m)-linux-gnu
	[ -e "$libraries/libc.so.6" ] || libraries=/usr/lib64
	set -- "$libraries"/{libc.so.6,libm.so.6,libcrypto.so.3,libstdc++.so.6,libdav1d.so.6} \
		"$libraries"/libx265.so.199 /usr/bin/{redis-server,node,perf} \
		/usr/aarch64-linux-gnu/lib/{libc.so.6,libstdc++.so.6}
fi
for file in "$@"; do
	if [ ! -r "$file" ]; then
		skip "${file##*/}" "$file"
		continue
	fi
	compare "$file"
done
