#!/usr/bin/env bash
# Compares every unwind row of real files with readelf: tests/replay/readelf.sh [FILE…]
#
# Both sides become lines `address cfa ra fp`; equal neighbours are merged. readelf prints `exp` for
# an expression, and our rows made from one are replaced by it; the unit tests check their
# interpretation. An expression that no rule can represent is `none` on our side: that is not a
# difference, but is counted. An undefined return address is the end of the stack (on arm64 readelf
# prints the same for one that is still in its register), and so is the whole function at the entry
# point, whatever its CFI; CFI of arm64 signal frames is not used.
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"

PRINT_ROWS=${PRINT_ROWS:-$ROOT/build/tests/tools/print_rows}

# Prints the entry point of a program or dynamic loader, as sixteen digits; nothing for other files.
entry_of() {
	readelf -hldW "$1" 2>/dev/null | awk '
		/^  Type: *EXEC/ || /^  INTERP/ || /Library soname: \[ld-/ { is_program = 1 }
		/^  Entry point address:/ { entry = substr($4, 3) }
		END { if (is_program) print substr("0000000000000000", 1, 16 - length(entry)) entry }'
}

is_arm64() { readelf -hW "$1" 2>/dev/null | grep -c AArch64; }

# Sorts by address and merges. At the same address, a function's rule replaces the end of the one
# before. Lines: address, rank, rule.
merge() {
	LC_ALL=C sort -s -k1,2 | awk '
		function put() { if (rule != last) print address, rule; last = rule }
		address != "" && $1 "" != address { put() } # compare as strings: 0e1 is an address
		{ address = $1 ""; sub(/^[^ ]+ [^ ]+ /, ""); rule = $0 }
		END { if (address != "") put() }'
}

readelf_rows() { # readelf_rows FILE
	readelf --debug-dump=frames-interp "$1" 2>/dev/null | awk -v entry="$(entry_of "$1")" \
		-v is_arm64="$(is_arm64 "$1")" '
	function finish() {
		if (!in_function)
			return
		if (!nr_rows)
			for (i = 1; i <= nr_common[cie]; i++)
				row(start, common[cie, i])
		print end, 0, "none"
	}
	function row(address, rule) {
		if (start <= entry && entry < end && address >= entry)
			rule = "end"
		if (is_signal[cie])
			rule = "signal"
		if (address < end)
			print address, 1, rule
		nr_rows++
	}
	function place(column,    what) {
		what = column in field ? $field[column] : "u"
		return what == "s" ? "u" : what == "vexp" ? "exp" : what
	}
	/^Contents of the/ { is_wanted = !nr_sections++ } # .eh_frame, or else .debug_frame
	!is_wanted { next }
	$4 == "CIE" {
		finish()
		in_function = 0
		cie = $1
		is_signal[cie] = is_arm64 && $5 ~ /S/
	}
	$4 == "FDE" {
		finish()
		in_function = 1
		nr_rows = 0
		cie = substr($5, 5)
		start = substr($6, 4, 16)
		end = substr($6, 22, 16)
	}
	$1 == "LOC" {
		split("", field)
		for (i = 1; i <= NF; i++)
			field[$i] = i
	}
	{ gsub(/ \([a-z0-9]+\)/, "") } # `r9 (r9)`
	NF >= 2 && length($1) == 16 && $1 ~ /^[0-9a-f]+$/ && $2 !~ /^[0-9a-f]+$/ {
		fp = "rbp" in field ? place("rbp") : place("x29")
		rule = place("ra") == "u" && !is_arm64 ? "end" : $2 " " place("ra") " " fp
		if (in_function)
			row($1, rule)
		else
			common[cie, ++nr_common[cie]] = rule
	}
	END { finish() }' | merge
}

our_rows() { # our_rows FILE
	"$PRINT_ROWS" "$1" 2>"$T/err" | sed -E 's/ plt / exp /; s/\([^)]*\)[-+]?[0-9]*/exp/g' |
		awk '{ address = $1; sub(/^[^ ]+ /, ""); print address, 1, $0 }' | merge
}

# Prints our rows, with `none` where readelf has none: we derive rows for code without CFI
# (test_code_frames).
where_cfi_is() {
	LC_ALL=C sort -s -k1,1 <(sed 's/^[^ ]*/& 1/' "$T/theirs") <(sed 's/^[^ ]*/& 2/' "$T/all") |
		awk '
		function put(    rule) {
			rule = theirs == "none" || theirs == "" ? "none" : ours
			if (at != "" && rule != "" && rule != last) print at, rule
			if (rule != "") last = rule
		}
		$1 "" != at { put(); at = $1 "" }
		{
			whose = $2
			sub(/^[^ ]+ [^ ]+ /, "")
			if (whose == 1) theirs = $0; else ours = $0
		}
		END { put() }'
}

# Prints the lines that differ, without the pairs at one address described above. Columns other than
# the usual one for the return address are dropped: readelf ignores them.
differences() { # differences IS-ARM64
	diff "$T/theirs" "$T/ours" | LC_ALL=C sort -s -k2,2 | awk -v is_arm64="$1" '
		$1 == "<" && ($3 == "exp" || $4 == "u") {
			if (kept != "")
				print kept
			kept = $0
			at = $2 ""
			is_expression = $3 == "exp"
			next
		}
		$1 == ">" && $2 "" == at && (is_expression ? $3 == "none" : $4 ~ /^r[0-9]+$/) {
			kept = at = ""
			next
		}
		is_arm64 && $1 == ">" && $3 == "end" {
			if ($2 "" == at)
				kept = at = ""
			next
		}
		!/^[<>]/ { next }
		{ if (kept != "") print kept; kept = at = ""; print }
		END { if (kept != "") print kept }'
}

# Drops lines for known gaps: ones that begin with a system call (the CFI of clone() ends there, and
# we recognise its bytes), and the program's entry point.
but_known_gaps() { # but_known_gaps FILE
	local line start entry
	entry=$(entry_of "$1")
	while read -r line; do
		[[ $line != "> $entry end" ]] || continue
		if [[ $line =~ ^\<\ ([0-9a-f]{16})\ none ]]; then
			start=$((16#${BASH_REMATCH[1]}))
			objdump -d --start-address=$start --stop-address=$((start + 2)) "$1" |
				grep -q syscall && continue
		fi
		echo "$line"
	done
}

# compare FILE
compare() {
	local name beyond
	name=${1##*/}
	[[ $1 != */aarch64-* ]] || name="$name of arm64"
	readelf_rows "$1" >"$T/theirs"
	our_rows "$1" >"$T/all"
	where_cfi_is >"$T/ours"
	if [ ! -s "$T/theirs" ]; then
		skip "$name" "CFI in it that readelf can read"
		return
	fi
	differences "$(is_arm64 "$1")" | but_known_gaps "$1" >"$T/differences"
	beyond=$(sed -n 's/.* broken, \([0-9]*\) not packed$/\1/p' "$T/err")
	if [ ! -s "$T/differences" ]; then
		pass "$name: $(wc -l <"$T/ours") rows, $beyond of them beyond a rule"
	else
		fail "$name" "$(wc -l <"$T/differences") lines differ: $(head -n 4 "$T/differences" |
			tr '\n' ';')"
	fi
}

if ! command -v readelf >/dev/null; then
	skip "all" "readelf"
	exit 0
fi
if [ ! -x "$PRINT_ROWS" ]; then
	fail "all" "$PRINT_ROWS must be built"
	exit 1
fi

libraries=/usr/lib/$(uname -m)-linux-gnu
[ -e "$libraries/libc.so.6" ] || libraries=/usr/lib64
[ $# -gt 0 ] || set -- "$libraries"/{libc.so.6,libm.so.6,libcrypto.so.3,libstdc++.so.6} \
	"$libraries"/{libgcc_s.so.1,libperl.so.5.36,libLLVM-14.so.1} "$libraries"/ld-linux-*.so.? \
	/usr/bin/redis-server /usr/bin/python3 /usr/bin/bash /usr/bin/node "$ROOT/build/stook" \
	/usr/aarch64-linux-gnu/lib/{libc.so.6,libstdc++.so.6,ld-linux-aarch64.so.1}
for file in "$@"; do
	if [ -r "$file" ]; then
		compare "$file"
	else
		skip "$(basename "$file")" "$file"
	fi
done
