#!/bin/sh
# Makes seeds for fuzz_cfi out of small programs of this system: tests/fuzz/seeds.sh FOLDER
#
# One file each for an .eh_frame section as every kind of section, cut to some kilobytes, and for
# whole small files. The first byte is what fuzz_cfi chooses by.
set -eu
folder=${1:?usage: tests/fuzz/seeds.sh FOLDER}
mkdir -p "$folder"
section=$(mktemp)
trap 'rm -f "$section"' EXIT

seed() { # seed NAME FIRST-BYTE: the rest is stdin
	{
		# shellcheck disable=SC2059 # the byte is the format
		printf "$2"
		cat
	} >"$folder/$1"
}

for file in /bin/true /bin/echo /bin/sleep /usr/bin/env /usr/lib/*/libdl.so.2 \
	/usr/lib/*/libc.so.6 /usr/lib/*/libcrypto.so.3 /usr/lib/*/libgcc_s.so.1; do
	[ -r "$file" ] || continue
	name=$(basename "$file")
	objcopy -O binary --only-section=.eh_frame "$file" "$section" 2>/dev/null || continue
	head -c 3000 "$section" | seed "$name.x86" '\000'
	head -c 3000 "$section" | seed "$name.arm64" '\001'
	tail -c 3000 "$section" | seed "$name.tail" '\000'
	head -c 800 "$section" | seed "$name.debug" '\002'
	[ "$(stat -L -c %s "$file")" -gt 20000 ] || seed "$name.file" '\004' <"$file"
done
