#!/bin/sh
# tools/layers passes a tree that keeps the rules, and names the line that breaks one.
set -u
cd "$(dirname "$0")/../.." || exit 1
tools=$PWD/tools
tree=$(mktemp -d) || exit 1
trap 'rm -rf "$tree"' EXIT

# with FILE TEXT: prints the errors for a tree that contains only that file
with() {
	rm -rf "${tree:?}"/*
	mkdir -p "$tree/$(dirname "$1")"
	printf '%s\n' "$2" >"$tree/$1"
	answer=$("$tools/layers" "$tree")
}

passes() {
	if with "$2" "$3"; then
		echo "PASS layers: $1"
	else
		echo "FAIL layers: $1: $answer"
	fi
}

refuses() {
	if with "$2" "$3"; then
		echo "FAIL layers: $1: nothing was said"
	elif [ "$answer" = "$2:$4" ]; then
		echo "PASS layers: $1"
	else
		echo "FAIL layers: $1: expected '$2:$4', got '$answer'"
	fi
}

passes 'a layer below' src/sym/a.c '#include "elf/image/elf_image.h"'
passes 'its own folder' src/base/a.c '#include "base/hash.h"'
passes 'the library of its layer' src/elf/image/a.c '#include <libelf.h>'
passes 'a header of libc' src/profile/a.c '#include <sys/types.h>'
passes 'the wire header' src/collect/a.c '#include "bpf/wire.h"'
passes 'a skeleton in a collector' src/collect/a.c '#include "skel/sampler.skel.h"'
passes 'a room of its own' src/collect/a.c '#include "collect/unwind/unwinder.h"'
passes 'a room that its row names' src/elf/unwind/a.c '#include "elf/image/elf_image.h"'
refuses 'a room above' src/elf/image/a.c '#include "elf/unwind/unwind_table.h"' \
	'1: src/elf/image may not include "elf/unwind/unwind_table.h"'
refuses 'the neighbouring room' src/format/pprof/a.c '#include "format/page/html.h"' \
	'1: src/format/pprof may not include "format/page/html.h"'
refuses 'the folder around a room' src/collect/unwind/a.c '#include "collect/drain.h"' \
	'1: src/collect/unwind may not include "collect/drain.h"'
passes 'a bare name in bpf' bpf/a.bpf.c '#include "wire.h"'
passes 'anything in a test' tests/unit/test_a.c '#include "collect/drain.h"'
passes 'words in a comment' src/base/a.c "$(printf '/*\n * stderr, printf("x") and "/proc/%%d"\n */')"
passes 'the file that may open its own /proc' src/base/isolated.c 'open("/proc/self/oom_score_adj");'
passes 'writing to a FILE' src/format/a.c 'fprintf(out, "x"); snprintf(a, 1, "x");'

refuses 'a layer above' src/base/a.c '#include "sym/demangle.h"' \
	'1: src/base may not include "sym/demangle.h"'
refuses 'no folder' src/base/a.c '#include "hash.h"' \
	'1: "hash.h" does not show its folder'
refuses 'the inside of bpf' src/collect/a.c '#include "bpf/record.bpf.h"' \
	'1: src/collect may not include "bpf/record.bpf.h"'
refuses 'a skeleton outside of kernel and collect' src/cmd/a.c '#include "skel/sampler.skel.h"' \
	'1: src/cmd may not include "skel/sampler.skel.h"'
refuses 'libbpf outside of its folders' src/proc/a.c "$(printf '\n# include <bpf/libbpf.h>')" \
	'2: src/proc may not include <bpf/libbpf.h>'
refuses 'libelf outside elf' src/proc/a.c '#include <gelf.h>' \
	'1: src/proc may not include <gelf.h>'
refuses 'user space in bpf' bpf/a.bpf.c '#include "base/hash.h"' \
	'1: bpf may not include "base/hash.h"'
refuses 'reading /proc/PID' src/collect/a.c 'open("/proc/%d/maps");' \
	'1: only src/proc reads /proc/PID'
refuses 'its neighbour' src/base/isolate.c 'open("/proc/self/oom_score_adj");' \
	'1: only src/proc reads /proc/PID'
refuses 'printing in a library' src/sym/a.c "$(printf 'x(); /* y */ fprintf(stderr, "z");')" \
	'1: only src/cmd and src/run print'
refuses 'printing after a string with a comment sign' src/sym/a.c \
	"$(printf 'glob("/*");\nprintf("z");')" '2: only src/cmd and src/run print'
refuses 'an unknown folder' src/misc/a.c 'int x;' \
	'1: folder "src/misc" is not in the table of tools/layers'
