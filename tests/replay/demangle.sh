#!/usr/bin/env bash
# Compares every C++, Rust and D name of real files with c++filt: tests/replay/demangle.sh [FILE…]
#
# Full names must equal those of `c++filt -i`, which omits suffixes of Rust clones and fails on
# those of D. Simple names are compared with libiberty's names without parameters, from which
# tests/tools/no_lists.py removes the lists. Names that libiberty can only show without parameters
# are not compared, but counted; so are names of D that are too expensive (src/sym/demangle.c).
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"

PRINT_NAMES=${PRINT_NAMES:-$ROOT/build/tests/tools/print_names}

# This many of a hundred thousand simple names may differ: the reference is made by patterns.
MAX_DIFFERENT=100

mangled_of() { # mangled_of FILE…
	local file
	for file in "$@"; do
		nm --defined-only "$file"
		nm -D --defined-only "$file"
	done 2>/dev/null | awk 'NF >= 3 { sub(/@.*/, "", $3); print $3 }' | LC_ALL=C sort -u
}

# compare NAME MAX-DIFFERENT [UNKNOWN]: compares $T/theirs with $T/ours. Names left mangled by us
# are counted as UNKNOWN, if that is given.
compare() {
	local nr different nr_unknown
	nr=$(wc -l <"$T/ours")
	paste -d '\n' "$T/theirs" "$T/ours" | awk -v unknown="${3:-}" -v log_file="$T/log" '
		NR % 2 { theirs = $0; next }
		theirs == $0 { next }
		unknown != "" && /^_[ZDG]/ { nr_unknown++; next }
		{ nr++; if (nr <= 3) print "want " theirs ", got " $0 }
		END { print nr + 0, nr_unknown + 0 >log_file }' | cut -c 1-400 >"$T/differences"
	read -r different nr_unknown <"$T/log"
	note "$TEST: $1: $different of $nr differ${3:+, $nr_unknown $3}"
	if [ "$different" -le $((nr * $2 / 100000)) ]; then
		pass "$1: $different of $nr differ${3:+, $nr_unknown $3}: $(tr '\n' ';' <"$T/differences")"
	else
		fail "$1" "$different of $nr differ: $(tr '\n' ';' <"$T/differences")"
	fi
}

compare_cxx() {
	grep -E '^(_Z|_GLOBAL_)' "$T/all" | grep -vE '17h[0-9a-f]{16}E' >"$T/names"
	if [ ! -s "$T/names" ]; then
		skip "C++" "files with C++ names"
		return
	fi
	c++filt -i <"$T/names" >"$T/theirs"
	"$PRINT_NAMES" full <"$T/names" >"$T/ours"
	compare "C++" 0
	if ! command -v python3 >/dev/null; then
		skip "simple C++" "python3"
		return
	fi
	"$PRINT_NAMES" bare <"$T/names" | python3 tests/tools/no_lists.py >"$T/theirs"
	"$PRINT_NAMES" simple fold <"$T/names" >"$T/ours"
	compare "simple C++" $MAX_DIFFERENT "without parameters only"
}

compare_rust() {
	grep -E '^(_R|_ZN.*17h[0-9a-f]{16}E)' "$T/all" >"$T/names"
	if [ ! -s "$T/names" ]; then
		skip "Rust" "files with Rust names"
		return
	fi
	c++filt -i -s rust <"$T/names" >"$T/theirs"
	"$PRINT_NAMES" full fold <"$T/names" >"$T/ours"
	compare "Rust" 0
}

compare_d() {
	grep -E '^_D[0-9]+_*[a-z]' "$T/all" >"$T/names"
	if [ ! -s "$T/names" ]; then
		skip "D" "files with D names (libgphobos)"
		return
	fi
	c++filt -s dlang <"$T/names" >"$T/theirs"
	"$PRINT_NAMES" full <"$T/names" >"$T/ours"
	compare "D" 0 "too dear"
}

if ! command -v c++filt >/dev/null; then
	skip "all" "c++filt"
	exit 0
fi
if [ ! -x "$PRINT_NAMES" ]; then
	fail "all" "$PRINT_NAMES must be built"
	exit 1
fi

if [ $# -eq 0 ]; then
	libraries=/usr/lib/$(uname -m)-linux-gnu
	[ -e "$libraries/libc.so.6" ] || libraries=/usr/lib64
	set -- "$libraries"/lib{LLVM,clang,stdc++,icui18n,icuuc,grpc,z3,rsvg,gphobos,gdruntime}*.so.* \
		/usr/bin/node /usr/bin/redis-server /usr/bin/{ninja,cmake,gdb}
	rust=$(rustc --print sysroot 2>/dev/null) && set -- "$@" "$rust"/lib/librustc_driver*.so \
		"$rust"/lib/rustlib/*/lib/*.rlib
fi
mangled_of "$@" >"$T/all"
compare_cxx
compare_rust
compare_d
