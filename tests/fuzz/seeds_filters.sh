#!/bin/sh
# Makes seeds for fuzz_filter: tests/fuzz/seeds_filters.sh FOLDER
#
# One file per line of the table below: a filter. Each has the same fields behind it.
set -eu
folder=${1:?usage: tests/fuzz/seeds_filters.sh FOLDER}
mkdir -p "$folder"

nr=0
while read -r filter; do
	nr=$((nr + 1))
	{
		echo "$filter"
		printf '\tfield:%s;\toffset:%s;\tsize:%s;\tsigned:%s;\n' \
			'u8 tiny' 108 1 0 'u8 early' 4 1 0 'char text[200]' 112 200 0 \
			'__data_loc char[] words' 312 4 0 'struct pair two' 316 16 0
	} >"$folder/$nr"
done <<'END'
dev == 0x80000001 && level < 0 || flags & 0x10
!(sector > 18446744073709551614 || error >= -2)
common_pid == 78 && CPU != 3 || cpu <= 4
comm ~ "work*" && COMM == 'worker' || name != "fullname"
cmd == 'git status' || path ~ "/tmp*"
!!level == -3 && (((odd == 1)))
tiny == 255 || text == 'abc' || words ~ 'x*' || two == 1
early == 1 || args == 1 || name ~ '*ab*'
END
