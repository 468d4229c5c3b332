#!/bin/sh
# Makes seeds for fuzz_perf_map: tests/fuzz/seeds_maps.sh FOLDER
#
# Perf maps as runtimes write them, a jitdump with each kind of record, and names. The first byte
# chooses the kind of input, the second is the file's length at the first reading (in 255ths).
set -eu
folder=${1:?usage: tests/fuzz/seeds_maps.sh FOLDER}
mkdir -p "$folder"

seed() { # seed NAME FIRST-BYTES: the rest is stdin
	{
		# shellcheck disable=SC2059 # the bytes are the format
		printf "$2"
		cat
	} >"$folder/$1"
}

u32() { # u32 NUMBER…
	for number; do
		# shellcheck disable=SC2059 # the bytes are the format
		printf "$(printf '\\%03o\\%03o\\%03o\\%03o' $((number & 255)) $((number >> 8 & 255)) \
			$((number >> 16 & 255)) $((number >> 24 & 255)))"
	done
}

u64() { # u64 NUMBER…
	for number; do
		u32 $((number & 0xffffffff)) $((number >> 32))
	done
}

jit_load() { # jit_load ADDRESS INDEX NAME: 16 bytes of code
	u32 0 $((56 + ${#3} + 1 + 16))
	u64 1 0 "$1" "$1" 16 "$2"
	printf '%s\0................' "$3"
}

jitdump() {
	u32 0x4A695444 1 40 62 0 4711
	u64 0 0
	u32 2 24
	u64 1 0
	jit_load 0x1000 0 'LazyCompile:*run /srv/app.js:1:2'
	u32 4 32
	u64 1 0 0
	jit_load 0x1008 1 two
	u32 1 64
	u64 1 0 0x3000 0x1000 0x3000 16 0
	u32 3 16
	u64 1
}

perf_map() {
	cat <<-'END'
	7fb639fe46c0 378 JS:~arrow /srv/app.js:3:13
	7fb639fe46d0 10 JS:*arrow /srv/app.js:3:13
	0x00007fee0cedcaa0 0x0000000000001978 void java.util.TimSort.mergeHi(int, int, int, int)
	100 100 outer
	140 40 inner
	1f0 20 tail
	not a line
	ffffffffffffffff 2 too far
	10 ffffffff everything
	END
	printf '200 10 crlf\r\n  300\t10 \t blanks \n400 10 half'
}

for first in 000 200 377; do
	perf_map | seed "perf-map.$first" "\\000\\$first"
	perf_map | seed "perf-map-file.$first" "\\001\\$first"
	jitdump | seed "jitdump.$first" "\\002\\$first"
done

nr=0
while read -r kind name; do
	nr=$((nr + 1))
	printf '%s' "$name" | seed "name.$nr" "\\00$kind\\100"
done <<'END'
3 Ljava/lang/String;::indexOf(II)I
3 La/A;::f->Lb/B;::g
3 Ljava/lang/StringLatin1;equals([B[B)Z
3 int java.lang.String.indexOf(int)
3 int App$$Lambda$2/0x00007fed9c001438.compare(java.lang.Object, java.lang.Object)
4 JS:*'run /srv/app.js:12:3
4 LazyCompile:~ /srv/app.js:12:3
4 InterpretedFunction:run
4 Eval:~ node:internal/fs:1:1
4 JS:wasm-function[0]-0-liftoff
4 int32 [app] Program::Main(string[])[Tier0]
END
