#!/bin/sh
# Makes seeds for fuzz_pattern: tests/fuzz/seeds_patterns.sh FOLDER
#
# One file per line of the table below. Its first byte chooses between globs (0; 2: matched in two
# ways) and regular expressions (1); then come the pattern and, on a line of its own, a name.
set -eu
folder=${1:?usage: tests/fuzz/seeds_patterns.sh FOLDER}
mkdir -p "$folder"

nr=0
while read -r kind pattern name; do
	nr=$((nr + 1))
	printf '%s%s\n%s' "$kind" "$pattern" "$name" >"$folder/$nr"
done <<'END'
0 vfs_* vfs_read
0 c:malloc malloc
0 redis-server:(call*|*Read*|*Write*) postponeClientRead
0 p:c:m?lloc malloc
0 p::tcp_[!a-z]* tcp_x
0 r:c:(c|m|re)alloc calloc
0 r::vfs_read vfs_read
0 t:sched:sched_* sched_switch
0 u:pthread:libpthread:*mutex* mutex_init
0 u:node:gc* gc__start
0 c:malloc+0x1a malloc
0 /usr/bin/perf:0x401136 main
2 !c:mem(cpy|(move|set)*) memmove_sse2
0 1234:std::vector<*>::push_back(int) std::vector<int>::push_back(int)
0 go:net/http.(*conn).serve net/http.(*conn).serve
0 c:operator+* operator++
2 (a|b*)*(|c)\* abc*
2 *a*b[]^-]?[^!]c aab-dc
1 ^vfs_.* vfs_read
1 c:(write|read)$ write
1 k:[[:alpha:]_]+[0-9]{1,3} ip_rcv2
1 ([^]a]*b){2,}|x? cbcb
1 c:malloc+0x1a malloc
END
