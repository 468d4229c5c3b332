#!/bin/sh
# Makes seeds for the text readers: tests/fuzz/seeds_text.sh folded|perf FOLDER
#
# One file per variant of the formats.
set -eu
format=${1:?usage: tests/fuzz/seeds_text.sh folded|perf FOLDER}
folder=${2:?usage: tests/fuzz/seeds_text.sh folded|perf FOLDER}
mkdir -p "$folder"

seed() { # seed NAME TEXT: with the escapes of printf
	# shellcheck disable=SC2059 # the text is the format
	printf "$2" >"$folder/$1"
}

seeds_folded() {
	seed plain 'redis;main;read 3\nredis;main;read;sys 12\n'
	seed marks 'a;main;jit_[j];in_[i];sys_[k];in_[i];vfs_[k] 4\na;sys_[k];main 1\na;x_[i] 2\n'
	seed missed 'a;[Missed User Stack];[Missed Kernel Stack] 4\na;[Missed User Stack];s_[k] 1\n'
	seed two 'a;b 5 3\na;c 0 7\na;b 1 1\n'
	seed two_fractions 'a;b 1.5 2\na;c 0.25 0\na;b 5 3 1\n'
	seed fractions 'a;b 1.5\na;c 2.\na;d 0.000001\n'
	seed empty ';;a 1\n 2\na; 3\n\n\r\n'
	seed bytes 'a\\000b;\\377\\376;c 3\r\nno count\n12\n'
	seed numbers 'a;cpu 3 7\na;b\n'
}

seeds_perf() {
	head='a b 12/34 [003] 1.500000:  10 cycles:u: \n'
	seed stack "$head"'\tffffffff81 vfs_read+0x1 ([kernel.kallsyms])\n\t 11 main (/bin/a (deleted))\n\n'
	seed inlined "$head"'\t 1 in (inlined)\n  x.h:3\n\t 1 f+0x1 (/bin/a)\n  /src/a.c:12\n\n'
	seed jit "$head"'\t 1 La;::f->Lb;::g (/tmp/perf-1.map)\n\t 2 [unknown] ([unknown])\n\n'
	seed single '   a b 1 1.5: 7 cycles:  ffffffff81 f+0x1 ([kernel.kallsyms])\n'
	seed tracepoint 'a 0 [001] 1.5: sched:x: prev=1 [2] 3.4: y:\n\t 1 f (/bin/a)\n\n'
	seed events 'a 1 1.5: 4 cycles: \n\n\na 1 1.6: 5 faults: \n\t 1 f (/bin/a)\n\n'
	seed samples 'a 1 1.5: 4 cycles: \n\na 1 1.6: 5 samples: \n\na 1 1.7: 6 cycles: \n\n'
	seed old 'a 19983 cycles: \nff read ([kernel.kallsyms])\nfe main (/bin/a)\n'
	seed comm 'a \n\t 11f7 work\n\t 2724a (/bin/a)\n\n'
	seed told '# stook: labels: comm\n# stook: sampled: every 10 nanoseconds of cpu\n# stook: periods of cpu: count of samples\n# stook: for each sample: 10 nanoseconds of cpu\n# stook: periods of b~2: bytes of b\n\n\\040a 0 1.5: 3 cpu: \n\t 1 f (/bin/a)\n\na 0 1.5: 4 b~2: \n\n'
	seed branches "$head"' 0x1/0x2/P/-/-/0\n# comment\n?? \n\n'
}

case $format in
folded) seeds_folded ;;
perf) seeds_perf ;;
*)
	echo "seeds_text.sh: no seeds for '$format'" >&2
	exit 2
	;;
esac
