#!/bin/sh
# Makes seeds for fuzz_expression: tests/fuzz/seeds_expression.sh FOLDER
set -eu
folder=${1:?usage: tests/fuzz/seeds_expression.sh FOLDER}
mkdir -p "$folder"
nr=0

seed() { # seed BY VALUE WHERE LINEAR
	nr=$((nr + 1))
	printf '%s\n%s\n%s\n%s' "$1" "$2" "$3" "$4" >"$folder/$nr"
}

seed 'func' '' '' ''
seed 'func,pid,tid,comm,cpu,cgroup,uid' 'arg1' '' ''
seed 'comm, str(arg1), hex(arg2)' 'arg3' 'arg2 > 4096 && retval < 0' ''
seed 'str(retval)' 'latency' 'latency >= 10us || comm == "redis-server"' '0,1ms,100us'
seed 'args.dev,args.text' 'args.bytes' 'args.bytes >> 9 & 0xff != 0' '-100,100,10'
seed '(int)arg1 % 2' '(u64)arg2 / 7' "str(arg3) != \"a\\x41\\n\" && arg1 == 'c'" ''
seed 'arg1 & 3 | arg2 ^ 5' '~arg1 + -arg2' '!(arg1 <= 1M) && (s8)arg4 << 3 < arg12' '0x10,4K,1'
