#!/bin/bash
# Compares the places of a file that can be probed with other tools: tests/replay/places.sh [FILE…]
#
#	functions   nm: every name of every function, each table separately; also in a debug
#	            file. The source files of local functions: readelf.
#	USDT        readelf -n: every probe. The offset of its semaphore: a program made with
#	            <sys/sdt.h>, whose semaphores have known initial values.
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"

PRINT_PLACES=${PRINT_PLACES:-$ROOT/build/tests/tools/print_places}
SDT=/usr/include/$(uname -m)-linux-gnu/sys/sdt.h
[ -e "$SDT" ] || SDT=/usr/include/sys/sdt.h

name_of() {
	local name=${1##*/}
	[[ $1 != */aarch64-* ]] || name="$name of arm64"
	echo "$name"
}

compare() { # compare NAME WHAT: compares $T/theirs with $T/ours
	local nr
	nr=$(wc -l <"$T/theirs")
	if diff "$T/theirs" "$T/ours" >"$T/differences"; then
		pass "$1: $nr $2, 0 differ"
	else
		fail "$1" "of $nr $2 $(grep -c '^[<>]' "$T/differences") differ: $(
			grep '^[<>]' "$T/differences" | head -n 3 | tr '\n' ';')"
	fi
}

# --- functions -----------------------------------------------------------------------------------

# Prints lines `address FUNC name` from nm, which marks IFUNCs by their class.
their_functions() { # their_functions FILE NM-OPTION…
	nm -f sysv --defined-only "${@:2}" "$1" 2>/dev/null | awk -F'|' '
		{ type = $3 ~ /i/ ? "IFUNC" : $4 ~ /FUNC/ ? "FUNC" : "" }
		type != "" && $7 !~ /\*ABS\*/ {
			gsub(/ /, "", $2); sub(/ *$/, "", $1); sub(/@.*/, "", $1)
			print $2, type, $1
		}' | LC_ALL=C sort -u
}

check_functions() { # check_functions FILE NAME functions|dynamic NM-OPTION…
	their_functions "$1" "${@:4}" >"$T/theirs"
	[ -s "$T/theirs" ] || return 0
	"$PRINT_PLACES" "$3" "$1" | awk '{ print $1, $2, $3 }' | LC_ALL=C sort >"$T/ours"
	compare "$2" "functions ($3)"
}

check_sources() { # check_sources FILE NAME
	readelf -sW "$1" 2>/dev/null | awk '
		/^Symbol table/ { is_static = $3 ~ /symtab/; source = "" }
		!is_static { next }
		$4 == "FILE" { source = $8 }
		$4 ~ /FUNC/ && $5 == "LOCAL" && $7 ~ /^[0-9]+$/ && source != "" {
			print $2, $8, source
		}' | LC_ALL=C sort -u >"$T/theirs"
	[ -s "$T/theirs" ] || return 0
	"$PRINT_PLACES" functions "$1" | awk 'NF == 4 { print $1, $3, $4 }' |
		LC_ALL=C sort >"$T/ours"
	compare "$2" "local functions' files"
}

# --- static probes -------------------------------------------------------------------------------

# Prints lines `provider name address semaphore arguments`, with the semaphore's address relocated.
their_notes() { # their_notes FILE
	readelf -n "$1" 2>/dev/null | awk '
		$1 == "Provider:" { provider = $2 }
		$1 == "Name:" { name = $2 }
		$1 == "Location:" { at = substr($2, 3, 16); semaphore = substr($6, 3) }
		$1 == "Arguments:" {
			sub(/^ *Arguments: ?/, "")
			print provider, name, at, semaphore, $0
		}'
}

# Prints the same with the semaphore's offset in the file, from the header of its section.
offsets_of_semaphores() { # offsets_of_semaphores FILE
	local address offset provider name at semaphore arguments
	read -r address offset <<<"$(readelf -SW "$1" 2>/dev/null |
		sed -nE 's/^.* \.probes +[A-Z]+ +([0-9a-f]+) ([0-9a-f]+) .*/\1 \2/p')"
	while read -r provider name at semaphore arguments; do
		semaphore=$((16#$semaphore))
		[ $semaphore -eq 0 ] || semaphore=$((semaphore - 16#$address + 16#$offset))
		printf '%s %s %s %x %s\n' "$provider" "$name" "$at" $semaphore "$arguments"
	done
}

check_notes() { # check_notes FILE NAME
	their_notes "$1" | offsets_of_semaphores "$1" >"$T/theirs"
	[ -s "$T/theirs" ] || return 0
	"$PRINT_PLACES" usdt "$1" >"$T/ours"
	compare "$2" "static probes"
}

write_probes() {
	cat <<-'END_C'
		#define _SDT_HAS_SEMAPHORES 1
		#include "sdt.h"
		unsigned short app_one_semaphore __attribute__((section(".probes"))) = 0x1111;
		unsigned short app_two_semaphore __attribute__((section(".probes"))) = 0x2222;
		int main(int argc, char **argv)
		{
			DTRACE_PROBE1(app, one, argc);
			DTRACE_PROBE3(app, two, argv[0], argc, 7L);
			DTRACE_PROBE(app, two);
			return 0;
		}
	END_C
}

# Prints the value in the file at each probe's semaphore offset.
values_of_semaphores() { # values_of_semaphores FILE
	local name offset
	"$PRINT_PLACES" usdt "$1" | while read -r _ name _ offset _; do
		echo "$name $(od -An -tx2 -N2 -j$((16#$offset)) "$1" | tr -d ' ')"
	done | tr '\n' ' '
}

check_made_probes() {
	local flags
	if [ ! -e "$SDT" ]; then
		skip "made probes" "sys/sdt.h (systemtap-sdt-dev)"
		return
	fi
	cp "$SDT" "${SDT%.h}-config.h" "$T"
	sed -i 's/<sys\/sdt-config.h>/"sdt-config.h"/' "$T/sdt.h"
	write_probes >"$T/probes.c"
	while read -r flags; do
		# shellcheck disable=SC2086 # flags are words
		if ! ${flags%% *} -O1 -w ${flags#* } -o "$T/probes" "$T/probes.c" 2>"$T/err"; then
			skip "probes of $flags" "a compiler that supports these flags"
			continue
		fi
		check_notes "$T/probes" "probes of $flags"
		check_equal "semaphores of $flags" "$(values_of_semaphores "$T/probes")" \
			"one 1111 two 2222 two 2222 "
	done <<-END
		gcc -fpie -pie
		gcc -no-pie
		gcc -static
		gcc -fuse-ld=lld
		aarch64-linux-gnu-gcc -fpie -pie
	END
}

# -------------------------------------------------------------------------------------------------

for tool in readelf nm objcopy; do
	command -v $tool >/dev/null && continue
	skip "all" "$tool"
	exit 0
done
if [ ! -x "$PRINT_PLACES" ]; then
	fail "all" "$PRINT_PLACES must be built"
	exit 1
fi

if [ $# -eq 0 ]; then
	libraries=/usr/lib/$(uname -m)-linux-gnu
	[ -e "$libraries/libc.so.6" ] || libraries=/usr/lib64
	set -- "$libraries"/{libc.so.6,libm.so.6,libcrypto.so.3,libstdc++.so.6,libpython3.11.so.1.0} \
		/usr/bin/{redis-server,node,gdb} /usr/lib/postgresql/*/bin/postgres \
		/usr/aarch64-linux-gnu/lib/{libc.so.6,libstdc++.so.6} "$PRINT_PLACES"
	check_made_probes
	objcopy --only-keep-debug "$PRINT_PLACES" "$T/it.debug"
	check_functions "$T/it.debug" "file of debug information" functions
fi
for file in "$@"; do
	if [ ! -r "$file" ]; then
		skip "$(name_of "$file")" "$file"
		continue
	fi
	check_functions "$file" "$(name_of "$file")" functions
	check_functions "$file" "$(name_of "$file")" dynamic -D
	check_sources "$file" "$(name_of "$file")"
	check_notes "$file" "$(name_of "$file")"
done
