#!/bin/sh
# Makes seeds for fuzz_function_list from small programs: tests/fuzz/seeds_functions.sh FOLDER
#
# The first byte of each seed chooses the kind of input: 0 for symbols, 1 for notes of static
# probes, 2 for machine code.
set -eu
folder=${1:?usage: tests/fuzz/seeds_functions.sh FOLDER}
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

# Static functions of the same name, aliases, an IFUNC; and two handmade probes in the format of
# <sys/sdt.h>, which may not be installed.
write_source() {
	cat <<-'END_C'
		static int twin(int n) { return n + NUMBER; }
		int NAME(int n) { return twin(n) * 2; }
		int alias(int) __attribute__((weak, alias(STRING)));
		static void *choose(void) { return NAME; }
		int chosen(int) __attribute__((ifunc("choose")));
		unsigned short semaphore __attribute__((section(".probes"), used));
		__asm__(".pushsection .note.stapsdt,\"\",\"note\"\n"
			".balign 4\n.4byte 8, 2f-1f, 3\n.asciz \"stapsdt\"\n"
			"1: .8byte 0x1000, _.stapsdt.base, semaphore\n"
			".asciz \"app\"\n.asciz \"" STRING "\"\n.asciz \"-4@%edi 8@%rsi\"\n"
			"2: .balign 4\n.popsection\n"
			".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"
			".weak _.stapsdt.base\n.hidden _.stapsdt.base\n"
			"_.stapsdt.base: .space 1\n.size _.stapsdt.base, 1\n.popsection\n");
	END_C
}

write_source >"$work/source.c"
cd "$work"
for name in one two; do
	sed "s/alias(int)/alias_$name(int)/; s/chosen(int)/chosen_$name(int)/
		s/short semaphore/short semaphore_$name/; s/base, semaphore/base, semaphore_$name/" \
		source.c >$name.c
	cc -O1 -fPIC -c -fno-asynchronous-unwind-tables -DNAME=$name -DSTRING="\"$name\"" \
		-DNUMBER=7 -o $name.o $name.c
done
cc -shared -nostdlib -Wl,-z,max-page-size=16,-z,noseparate-code -o whole one.o two.o
objcopy --only-keep-debug whole debug
objcopy -S whole stripped
objcopy -O binary --only-section=.text whole text
for file in whole debug stripped; do
	seed "$file.functions" '\000' <$file
	seed "$file.notes" '\001' <$file
done
seed code '\002' <text
for file in /usr/lib/*/libcrypto.so.3 /usr/lib/*/libm.so.6; do
	[ -r "$file" ] || continue
	objcopy -O binary --only-section=.text "$file" text
	tail -c 100000 text | head -c 4000 | seed "$(basename "$file").code" '\002'
done
