#!/bin/bash
# Compares symbols from ELF files with other tools: tests/replay/symbols.sh [FILE…]
#
#	.symtab, .dynsym   nm: every function with a size, at its first, middle and last byte
#	stubs              objdump: the labels in .plt, .plt.sec and .plt.got, and no others
#	.gopclntab         go tool nm on the same program before stripping
#	.gnu_debugdata, .gnu_debuglink   made with binutils and xz from an unstripped program
#
# If a function lies inside another one, the inner one is expected. binutils finds stubs by counting
# the slots of .rela.plt, and so takes the ones of thread-local variables (TLSDESC) at the end for
# stubs, too. In pclntab type parameters are `[...]`, and there is no ABI suffix (`.abi0`).
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"

PRINT_FUNCTIONS=${PRINT_FUNCTIONS:-$ROOT/build/tests/tools/print_functions}
ARM64_GCC=aarch64-linux-gnu-gcc

name_of() {
	local name=${1##*/}
	[[ $1 != */aarch64-* ]] || name="$name of arm64"
	echo "$name"
}

# --- symbol tables -------------------------------------------------------------------------------

# Prints lines `address size name` of functions, from nm.
functions_of() { # functions_of FILE [-D]
	nm -f sysv --defined-only "${@:2}" "$1" 2>/dev/null | awk -F'|' '
		$4 ~ /FUNC/ && $5 ~ /[1-9a-f]/ {
			gsub(/ /, "", $2); gsub(/ /, "", $5); sub(/ *$/, "", $1); sub(/@.*/, "", $1)
			print $2, $5, $1
		}' | LC_ALL=C sort
}

# Compares the functions in $T/theirs with SOURCE; prints the lines that differ.
differing_functions() { # differing_functions SOURCE FILE
	cut -d' ' -f1,2 "$T/theirs" | "$PRINT_FUNCTIONS" "$1" "$2" 2>"$T/err" >"$T/ours"
	awk '
		function bare(hex) { sub(/^0+/, "", hex); return hex }
		FILENAME == ARGV[1] { # names of one address are aliases
			names[bare($1)] = names[bare($1)] " " $3
			start[++nr] = bare($1) ""
			is_start[bare($1)] = 1
			next
		}
		{
			at = start[int((FNR + 2) / 3)]
			ours = $2 "" # as a string: 1e1 is an address
			# The right start, or a function that begins inside this one.
			is_inner = (FNR + 2) % 3 && ours in is_start && \
				(length(ours) > length(at) || ours > at)
			if (ours != at && !is_inner)
				print "at " $1 " of" names[at] ": " $3
			else if (index(names[ours] " ", " " $3 " ") == 0)
				print "at " $1 ": " $3 ", not" names[ours]
		}' "$T/theirs" "$T/ours"
}

report() { # report NAME NR: reports the result; the differences are in $T/differences
	if [ -s "$T/differences" ]; then
		fail "$1" "$(wc -l <"$T/differences") of $2 differ: $(head -n 3 "$T/differences" |
			tr '\n' ';')"
	else
		pass "$1: $2"
	fi
}

check_table() { # check_table SOURCE FILE NAME NM-OPTION…
	functions_of "$2" "${@:4}" >"$T/theirs"
	[ -s "$T/theirs" ] || return 0
	differing_functions "$1" "$2" >"$T/differences"
	report "$3" "$(wc -l <"$T/theirs") functions, $(cat "$T/err")"
}

# --- stubs ---------------------------------------------------------------------------------------

their_stubs() { # their_stubs FILE OBJDUMP
	readelf -rW "$1" 2>/dev/null | awk '
		/TLSDESC/ { sub(/@.*/, "", $5); print $5 "@plt" }' >"$T/not_stubs"
	"$2" -d -j .plt -j .plt.sec -j .plt.got "$1" 2>/dev/null |
		sed -nE 's/^0*([0-9a-f]+) <(.*@plt)>:$/\1 \2/p' |
		awk 'FILENAME == ARGV[1] { is_none[$1] = 1; next } !($2 in is_none)' \
			"$T/not_stubs" - | LC_ALL=C sort
}

# Looks up every fourth byte of the sections.
our_stubs() { # our_stubs FILE
	local start bytes at
	readelf -SW "$1" 2>/dev/null | sed -E 's/^ *\[ *[0-9]+\]//' |
		awk '$1 ~ /^\.plt(\.sec|\.got)?$/ { print $3, $5 }' |
		while read -r start bytes; do
			for ((at = 16#$start; at < 16#$start + 16#$bytes; at += 4)); do
				printf '%x\n' $at
			done
		done | "$PRINT_FUNCTIONS" plt "$1" 2>"$T/err" |
		awk '$3 != "-" { print $2, $3 }' | LC_ALL=C sort -u
}

check_stubs() { # check_stubs FILE NAME
	local objdump=objdump
	if readelf -hW "$1" | grep -q AArch64; then
		objdump=aarch64-linux-gnu-objdump
		command -v $objdump >/dev/null || objdump=llvm-objdump
	fi
	their_stubs "$1" $objdump >"$T/theirs"
	[ -s "$T/theirs" ] || return 0
	our_stubs "$1" >"$T/ours"
	diff "$T/theirs" "$T/ours" | grep '^[<>]' >"$T/differences"
	report "$2" "$(wc -l <"$T/theirs") stubs, $(cat "$T/err")"
}

# Tests a program that calls libc functions directly and through pointers, linked in many ways.
check_made_stubs() {
	local flags
	cat >"$T/calls.c" <<-'END_C'
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <unistd.h>

		int main(int argc, char **argv)
		{
			void (*free_it)(void *) = free;
			char *p = malloc(argc);

			puts("x");
			free_it(p);
			free(malloc(1));
			return strlen(argv[0]) + getpid() + (int)(long)&write + write(1, "", 0);
		}
	END_C
	while read -r flags; do
		# shellcheck disable=SC2086 # flags are words
		if ! ${flags%% *} -O1 -w ${flags#* } -o "$T/calls" "$T/calls.c" 2>/dev/null; then
			skip "stubs of $flags" "a compiler that supports these flags"
			continue
		fi
		check_stubs "$T/calls" "stubs of $flags"
	done <<-END
		gcc -Wl,-z,lazy
		gcc -Wl,-z,now
		gcc -no-pie -Wl,-z,lazy
		gcc -fcf-protection -Wl,-z,lazy,-z,ibtplt
		gcc -fcf-protection -Wl,-z,now,-z,ibtplt
		gcc -fuse-ld=gold -Wl,-z,lazy
		gcc -fuse-ld=lld
		$ARM64_GCC -Wl,-z,lazy
		$ARM64_GCC -Wl,-z,now
		$ARM64_GCC -Wl,-z,force-bti
		$ARM64_GCC -Wl,-z,pac-plt
		$ARM64_GCC -Wl,-z,force-bti,-z,pac-plt
	END
}

# --- Go ------------------------------------------------------------------------------------------

write_go_program() {
	cat >"$T/main.go" <<-'END_GO'
		package main

		import (
			"fmt"
			"os"
			"sort"
		)

		type tree[K comparable] struct{ m map[K]int }

		//go:noinline
		func (t *tree[K]) add(k K) { t.m[k]++ }

		//go:noinline
		func Map[T, U any](in []T, f func(T) U) (out []U) {
			for _, x := range in {
				out = append(out, f(x))
			}
			return
		}

		func main() {
			t := tree[string]{map[string]int{}}
			for _, a := range os.Args {
				t.add(a)
			}
			x := Map([]int{1, 2, 3}, func(i int) float64 { return float64(i) })
			sort.Float64s(x)
			fmt.Println(x, t.m)
		}
	END_GO
	printf 'module main\ngo 1.18\n' >"$T/go.mod"
}

go_build() { # go_build OUT LDFLAGS FLAG…
	(cd "$T" && HOME=$T GOFLAGS=-mod=mod GOTOOLCHAIN=local CGO_ENABLED=0 \
		go build -ldflags="$2" "${@:3}" -o "$1" . 2>"$T/err")
}

# Prints lines `address size name`, with names as in pclntab. Functions of C code are not in
# pclntab.
go_functions() { # go_functions FILE
	go tool nm -size -sort address "$1" | awk '$3 ~ /^[Tt]$/ && $2 > 0 {
		address = $1
		bytes = $2
		sub(/^ *[^ ]+ +[^ ]+ +[^ ]+ /, "")
		sub(/\.abi0$/, "")
		if (match($0, /\[.*\]/))
			$0 = substr($0, 1, RSTART) "..." substr($0, RSTART + RLENGTH - 1)
		printf "%s %x %s\n", address, bytes, $0
	}' | grep -vE ' (_start|_dl_relocate_static_pie|_init|_fini)$'
}

check_go() { # check_go NAME LDFLAGS FLAG…
	if ! go_build whole "$2" "${@:3}" || ! go_build stripped "$2 -s -w" "${@:3}"; then
		skip "$1" "a Go version that supports this build"
		return
	fi
	go_functions "$T/whole" >"$T/theirs"
	cut -d' ' -f1,2 "$T/theirs" | "$PRINT_FUNCTIONS" go "$T/stripped" 2>"$T/err" | awk '
		{
			start = $2
			sub(/^[^ ]+ [^ ]+ /, "")
			if (match($0, /\[.*\]/))
				$0 = substr($0, 1, RSTART) "..." substr($0, RSTART + RLENGTH - 1)
			print start, $0
		}' >"$T/ours"
	awk '{ address = $1; sub(/^[^ ]+ [^ ]+ /, ""); for (i = 0; i < 3; i++) print address, $0 }' \
		"$T/theirs" | diff - "$T/ours" | grep '^[<>]' >"$T/differences"
	[ -s "$T/theirs" ] || echo "go tool nm prints nothing" >"$T/differences"
	report "$1" "$(wc -l <"$T/theirs") functions, $(cat "$T/err")"
}

check_all_go() {
	if ! command -v go >/dev/null; then
		skip "Go" "go"
		return
	fi
	write_go_program
	check_go "Go"
	check_go "Go, loaded anywhere" "" -buildmode=pie
	check_go "Go, linked by C's linker" -linkmode=external
	GOARCH=arm64 check_go "Go for arm64"
	GOARCH=386 check_go "Go for 32 bits"
}

# --- debug data of stripped files ----------------------------------------------------------------

check_debug_link() { # check_debug_link FILE
	local got
	objcopy --only-keep-debug "$1" "$T/it.debug"
	(cd "$T" && objcopy -S --add-gnu-debuglink=it.debug "$1" "$T/linked")
	got=$("$PRINT_FUNCTIONS" link "$T/linked")
	check_equal "debug link" "$got" "it.debug $("$PRINT_FUNCTIONS" crc "$T/it.debug")"
	functions_of "$1" >"$T/theirs"
	differing_functions symtab "$T/it.debug" >"$T/differences"
	report "file of debug information" "$(wc -l <"$T/theirs") functions"
}

check_debug_data() { # check_debug_data FILE
	if ! command -v xz >/dev/null; then
		skip "MiniDebugInfo" "xz"
		return
	fi
	functions_of "$1" | cut -d' ' -f3 | sort -u >"$T/keep"
	objcopy --only-keep-debug "$1" "$T/mini"
	objcopy -S --keep-symbols="$T/keep" "$T/mini" "$T/mini.small" 2>/dev/null
	rm -f "$T/mini.small.xz"
	xz "$T/mini.small"
	objcopy -S --add-section .gnu_debugdata="$T/mini.small.xz" "$1" "$T/packed"
	functions_of "$1" >"$T/theirs"
	differing_functions debugdata "$T/packed" >"$T/differences"
	report "MiniDebugInfo" "$(wc -l <"$T/theirs") functions, $(cat "$T/err")"
}

# -------------------------------------------------------------------------------------------------

for tool in readelf nm objdump objcopy; do
	command -v $tool >/dev/null && continue
	skip "all" "$tool"
	exit 0
done
if [ ! -x "$PRINT_FUNCTIONS" ]; then
	fail "all" "$PRINT_FUNCTIONS must be built"
	exit 1
fi

if [ $# -eq 0 ]; then
	libraries=/usr/lib/$(uname -m)-linux-gnu
	[ -e "$libraries/libc.so.6" ] || libraries=/usr/lib64
	set -- "$libraries"/{libc.so.6,libm.so.6,libcrypto.so.3,libstdc++.so.6,libperl.so.5.36} \
		"$libraries"/libLLVM-14.so.1 /usr/bin/{redis-server,python3,bash,node} \
		/usr/lib/chromium/chromium /usr/aarch64-linux-gnu/lib/{libc.so.6,libstdc++.so.6}
	check_made_stubs
	check_all_go
	check_debug_link "$PRINT_FUNCTIONS"
	check_debug_data "$PRINT_FUNCTIONS"
fi
for file in "$@"; do
	if [ ! -r "$file" ]; then
		skip "$(name_of "$file")" "$file"
		continue
	fi
	check_table symtab "$file" "$(name_of "$file"): .symtab"
	check_table dynsym "$file" "$(name_of "$file"): .dynsym" -D
	check_stubs "$file" "$(name_of "$file"): stubs"
done
