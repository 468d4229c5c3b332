#!/bin/sh
# Makes seeds for a fuzzer from small programs of this system: tests/fuzz/seeds.sh [FUZZER] FOLDER
#
# The first byte of each seed chooses the kind of input.
#
#	fuzz_cfi	(if none is named) an .eh_frame section as every kind of section, cut to
#			some kilobytes, and whole small files
#	fuzz_symbols	small files made with the compiler, as every kind of source
set -eu
fuzzer=fuzz_cfi
if [ $# -eq 2 ]; then
	fuzzer=$1
	shift
fi
folder=${1:?usage: tests/fuzz/seeds.sh [FUZZER] FOLDER}
mkdir -p "$folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

seed() { # seed NAME FIRST-BYTE: the rest is stdin
	{
		# shellcheck disable=SC2059 # the byte is the format
		printf "$2"
		cat
	} >"$folder/$1"
}

# --- fuzz_cfi ------------------------------------------------------------------------------------

seed_cfi() {
	section=$work/section
	for file in /bin/true /bin/echo /bin/sleep /usr/bin/env /usr/lib/*/libdl.so.2 \
		/usr/lib/*/libc.so.6 /usr/lib/*/libcrypto.so.3 /usr/lib/*/libgcc_s.so.1; do
		[ -r "$file" ] || continue
		name=$(basename "$file")
		objcopy -O binary --only-section=.eh_frame "$file" "$section" 2>/dev/null ||
			continue
		head -c 3000 "$section" | seed "$name.x86" '\000'
		head -c 3000 "$section" | seed "$name.arm64" '\001'
		tail -c 3000 "$section" | seed "$name.tail" '\000'
		head -c 800 "$section" | seed "$name.debug" '\002'
		[ "$(stat -L -c %s "$file")" -gt 20000 ] || seed "$name.file" '\004' <"$file"
	done
}

# --- fuzz_symbols --------------------------------------------------------------------------------

# One file as every source; fuzz_symbols defines the sources.
seed_sources() { # seed_sources NAME FILE
	for source in 0 1 2 3 4 5; do
		seed "$1.$source" "\\00$source" <"$2"
	done
}

write_calls() {
	cat <<-'END_C'
		int one(void), two(void);
		static int three(void) { return 3; }
		int (*pointers[])(void) = {one, three};
		int call(void) { return one() + two() + pointers[1](); }
		int again(void) { return call(); }
	END_C
}

# A small library with PLT stubs; it has no pages of its own, which keeps it small.
make_library() { # make_library COMPILER OUT FLAG…
	compiler=$1
	out=$2
	shift 2
	"$compiler" -O1 -fPIC -shared -nostdlib -fno-asynchronous-unwind-tables \
		-Wl,-z,max-page-size=16,-z,noseparate-code "$@" -o "$out" "$work/calls.c" 2>/dev/null
}

# A handmade table of two functions. $1: magic; $2: 1 for 32-bit offsets; $3: start of the code.
write_go_table() {
	cat <<-END_S
		.text
		.globl _start
		_start: .skip 32, 0x90
		.section .gopclntab, "a", @progbits
		.balign 32
		table: .long $1
		.byte 0, 0, 1, 8
		.quad 2, 0
		.if $2
		.quad $3
		.endif
		.quad names - table, names_end - table, names_end - table, names_end - table
		.quad parts - table
		names: .string "main.main"
		second: .string "main.Map[...]"
		names_end:
		.balign 8
		parts:
		.if $2
		.long 0, one - parts, 16, two - parts, 32
		one: .long 0, 0
		two: .long 16, second - names
		.else
		.quad 0x1000, one - parts, 0x1010, two - parts, 0x1020
		one: .quad 0x1000
		.long 0
		two: .quad 0x1010
		.long second - names
		.endif
	END_S
}

zeros() { # zeros FILE OFFSET NR
	dd if=/dev/zero of="$1" bs=1 seek="$2" count="$3" conv=notrunc status=none
}

seed_go() { # seed_go NAME MAGIC HAS-OFFSETS TEXT
	write_go_table "$2" "$3" "$4" | as -o "$work/go.o" - || return 0
	ld -z max-page-size=16 -z separate-code -s -o "$work/go" "$work/go.o"
	seed "$1" '\004' <"$work/go"
	zeros "$work/go" 40 8 # e_shoff
	zeros "$work/go" 60 4 # e_shnum, e_shstrndx
	seed "$1.bare" '\004' <"$work/go"
}

seed_symbols() {
	write_calls >"$work/calls.c"
	make_library cc "$work/lazy" -Wl,-z,lazy
	seed_sources lazy "$work/lazy"
	make_library cc "$work/now" -Wl,-z,now -fcf-protection -Wl,-z,ibtplt &&
		seed now '\003' <"$work/now"
	make_library aarch64-linux-gnu-gcc "$work/arm64" -Wl,-z,force-bti &&
		seed arm64 '\003' <"$work/arm64"

	objcopy --only-keep-debug "$work/lazy" "$work/debug"
	seed debug '\000' <"$work/debug"
	(cd "$work" && objcopy -S --add-gnu-debuglink=debug lazy linked)
	seed linked '\005' <"$work/linked"
	xz -k "$work/debug"
	objcopy -S --add-section .gnu_debugdata="$work/debug.xz" "$work/lazy" "$work/packed"
	seed packed '\002' <"$work/packed"

	seed_go go-1.16 0xfffffffa 0 0
	seed_go go-1.18 0xfffffff0 1 0x1000
	seed_go go-1.20 0xfffffff1 1 0
}

case $fuzzer in
fuzz_cfi) seed_cfi ;;
fuzz_symbols) seed_symbols ;;
*)
	echo "seeds.sh: no seeds for '$fuzzer'" >&2
	exit 2
	;;
esac
