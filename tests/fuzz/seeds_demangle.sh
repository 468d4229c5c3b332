#!/bin/sh
# Makes seeds for fuzz_demangle from names of this system: tests/fuzz/seeds_demangle.sh FOLDER
#
# One file per name; the first byte, `0`, makes fuzz_demangle use the name unchanged.
set -eu
folder=${1:?usage: tests/fuzz/seeds_demangle.sh FOLDER}
mkdir -p "$folder"

for file in /usr/lib/*/libstdc++.so.6 /usr/lib/*/libLLVM-*.so.1 /usr/lib/*/libgphobos.so.? \
	/usr/lib/*/librsvg-2.so.2 /usr/bin/node; do
	[ -r "$file" ] || continue
	nm -D --defined-only "$file"
done | awk -v folder="$folder" '
	{ sub(/@.*/, "", $3) }
	$3 ~ /^_[ZRD]/ && length($3) < 300 && NR % 97 == 0 {
		output = folder "/" ++nr
		printf "0%s", $3 >output
		close(output)
	}'
