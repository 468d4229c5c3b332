#!/usr/bin/env bash
# What others make of our pprof files: tests/replay/pprof.sh
#
# `go tool pprof` reads them and must come to the same numbers; protoc knows the schema by its
# public field numbers and must find no other field. Go's own profile must survive being read and
# written by us. A file of a real run is judged too, as root.
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"

MAKE_PPROF=${MAKE_PPROF:-$ROOT/build/tests/tools/make_pprof}

stacks() {
	cat <<-'STACKS'
	app;_start;libc.so.6!__libc_start_main;main;work;hot_[i] 70
	app;_start;libc.so.6!__libc_start_main;main;work 7
	app;_start;libc.so.6!__libc_start_main;main;libc.so.6!read;do_syscall_64_[k];vfs_read_[k] 20
	java;_start;Interpreter_[j];run_[j] 3
	STACKS
}

# The public profile.proto, as far as its field numbers and types go.
schema() {
	cat <<-'SCHEMA'
	syntax = "proto3";
	message Profile {
	  repeated ValueType sample_type = 1;
	  repeated Sample sample = 2;
	  repeated Mapping mapping = 3;
	  repeated Location location = 4;
	  repeated Function function = 5;
	  repeated string string_table = 6;
	  int64 drop_frames = 7;
	  int64 keep_frames = 8;
	  int64 time_nanos = 9;
	  int64 duration_nanos = 10;
	  ValueType period_type = 11;
	  int64 period = 12;
	  repeated int64 comment = 13;
	  int64 default_sample_type = 14;
	}
	message ValueType { int64 type = 1; int64 unit = 2; }
	message Sample {
	  repeated uint64 location_id = 1;
	  repeated int64 value = 2;
	  repeated Label label = 3;
	}
	message Label { int64 key = 1; int64 str = 2; int64 num = 3; int64 num_unit = 4; }
	message Mapping {
	  uint64 id = 1;
	  uint64 memory_start = 2;
	  uint64 memory_limit = 3;
	  uint64 file_offset = 4;
	  int64 filename = 5;
	  int64 build_id = 6;
	  bool has_functions = 7;
	  bool has_filenames = 8;
	  bool has_line_numbers = 9;
	  bool has_inline_frames = 10;
	}
	message Location {
	  uint64 id = 1;
	  uint64 mapping_id = 2;
	  uint64 address = 3;
	  repeated Line line = 4;
	  bool is_folded = 5;
	}
	message Line { uint64 function_id = 1; int64 line = 2; }
	message Function {
	  uint64 id = 1;
	  int64 name = 2;
	  int64 system_name = 3;
	  int64 filename = 4;
	  int64 start_line = 5;
	}
	SCHEMA
}

pprof() { # pprof OPTION… FILE: what go says, without where it looked for files
	PPROF_TMPDIR=$T HOME=$T go tool pprof -symbolize=none "$@" 2>"$T/err"
}

# "flat cum name" of one function, as counts.
row_of() { # row_of FILE NAME
	pprof -sample_index=samples -top "$1" | awk -v name="$2" '$6 == name { print $1, $4 }'
}

judge_numbers() {
	check_equal "-top: self and total of an inlined function" "$(row_of "$1" hot)" "70 70"
	check_equal "-top: of the function it is in" "$(row_of "$1" work)" "7 77"
	check_equal "-top: of a kernel function" "$(row_of "$1" vfs_read)" "20 20"
	check_equal "-top: of the root" "$(row_of "$1" _start)" "0 100"
	check_equal "-top: time is count times period" \
		"$(pprof -top "$1" | sed -n 's/.*Total samples = \([^ ]*\).*/\1/p')" "1000ms"
	check_equal "-top: the file that was profiled" \
		"$(pprof -top "$1" | sed -n 's/^File: //p')" "app"
	check_equal "-tags: a label on each sample" \
		"$(pprof -sample_index=samples -tags "$1" |
			awk '/thread_comm:/ { print $3 }')" "100.0"
	check_equal "-tagfocus: by a numeric label" \
		"$(pprof -sample_index=samples -tagfocus=pid=1000 -top "$1" |
			awk '$6 == "_start" { print $4 }')" "100"
}

judge_stacks() {
	pprof -sample_index=samples -traces "$1" >"$T/traces"
	check_equal "-traces: leaf first, inlined ones apart" \
		"$(grep -A 5 '^ *70 ' "$T/traces" | sed 's/^ *\(70\)\? *//' | tr '\n' ' ')" \
		"hot (inline) work main __libc_start_main _start -----------+------------------------------------------------------- "
	pprof -raw "$1" >"$T/raw"
	check_equal "-raw: a mapping for each segment of app, with its build id" \
		"$(grep -cE '^[0-9]+: 0x(401000|603000)/0x[0-9a-f]+/0x(1000|102000) /usr/lib/app [0-9a-f]{40} \[FN\]\[FL\]\[LN\]\[IN\]' "$T/raw")" 2
	check_equal "-raw: lines" "$(grep -c 'hot /src/hot.c:11' "$T/raw")" 1
	# shellcheck disable=SC2016 # awk expands these
	check "-raw: addresses lie in their mappings" awk '
		/^Mappings/ { in_mappings = 1; next }
		/^Locations/ { in_locations = 1; next }
		in_mappings { split($2, at, "/"); start[$1 + 0] = at[1]; limit[$1 + 0] = at[2] }
		in_locations && !in_mappings && $3 ~ /^M=/ { address[$2] = substr($3, 3) }
		END {
			for (a in address) {
				nr++
				if (length(a) == length(limit[address[a]]) && a >= limit[address[a]])
					bad = 1
				if (length(a) < length(start[address[a]]))
					bad = 1
			}
			exit bad || !nr
		}' "$T/raw"
}

judge_schema() { # judge_schema NAME FILE
	if ! command -v protoc >/dev/null; then
		skip "$1: fields" "protoc"
		return
	fi
	schema >"$T/profile.proto"
	gunzip <"$2" >"$T/inflated"
	protoc --proto_path="$T" --decode=Profile profile.proto <"$T/inflated" >"$T/decoded" 2>"$T/err"
	check_equal "$1: protoc decodes it" $? 0
	# What the schema does not have is printed by its number.
	check_equal "$1: no unknown field" "$(grep -cE '^ *[0-9]+[:{ ]' "$T/decoded")" 0
	protoc --proto_path="$T" --encode=Profile profile.proto <"$T/decoded" >"$T/encoded" 2>"$T/err"
	check_equal "$1: protoc encodes the same number of bytes" "$(wc -c <"$T/encoded")" \
		"$(wc -c <"$T/inflated")"
}

judge_round_trip() { # judge_round_trip NAME FILE
	"$MAKE_PPROF" pprof <"$2" >"$T/first.pb.gz" 2>"$T/err"
	"$MAKE_PPROF" pprof <"$T/first.pb.gz" >"$T/second.pb.gz" 2>>"$T/err"
	check "$1: read and written again, the same bytes" cmp -s "$T/first.pb.gz" "$T/second.pb.gz"
	"$MAKE_PPROF" folded <"$2" >"$T/first.folded" 2>"$T/err"
	"$MAKE_PPROF" folded <"$T/second.pb.gz" >"$T/second.folded" 2>>"$T/err"
	check "$1: and the same stacks" cmp -s "$T/first.folded" "$T/second.folded"
	check "$1: there are some" test -s "$T/first.folded"
}

judge_same_top() { # judge_same_top NAME FILE: before and after us
	check_equal "$1: -top says the same of what we wrote" \
		"$(pprof -top -nodecount=30 "$T/first.pb.gz" | grep -v '^File:' | sort)" \
		"$(pprof -top -nodecount=30 "$2" | grep -v '^File:' | sort)"
}

go_program() {
	cat <<-'GO'
	package main

	import (
		"os"
		"runtime/pprof"
	)

	var sink []byte

	func work(n int) (sum int) {
		for i := 0; i < n; i++ {
			sum += i * i % 7
		}
		return sum
	}

	func main() {
		cpu, _ := os.Create(os.Args[1])
		pprof.StartCPUProfile(cpu)
		for i := 0; i < 300; i++ {
			sink = make([]byte, 1<<20+work(1000000)%2)
		}
		pprof.StopCPUProfile()
		cpu.Close()
		heap, _ := os.Create(os.Args[2])
		pprof.WriteHeapProfile(heap)
		heap.Close()
	}
	GO
}

judge_go() {
	go_program >"$T/main.go"
	if ! HOME=$T GOCACHE=$T/cache GO111MODULE=off go run "$T/main.go" "$T/cpu" "$T/heap" \
		2>"$T/err"; then
		skip "profiles of go" "a go that builds: $(head -n 1 "$T/err")"
		return
	fi
	judge_round_trip "go's cpu profile" "$T/cpu"
	judge_same_top "go's cpu profile" "$T/cpu"
	judge_round_trip "go's heap profile" "$T/heap"
	judge_same_top "go's heap profile" "$T/heap"
}

judge_run() {
	if [ "$(id -u)" -ne 0 ] || [ ! -r /sys/kernel/btf/vmlinux ] || [ ! -x "$STOOK" ]; then
		skip "a file of a run" "root, BTF, and $STOOK"
		return
	fi
	"$STOOK" profile -d 1 -F 499 -o "$T/run.pb.gz" -o "$T/run.folded" -- \
		timeout 1 sh -c 'while :; do :; done' 2>"$T/err"
	if [ ! -s "$T/run.pb.gz" ]; then
		fail "a run writes a file" "$(tail -n 1 "$T/err")"
		return
	fi
	check_equal "a run: pprof's total is the number of samples" \
		"$(pprof -sample_index=samples -raw "$T/run.pb.gz" |
			awk '/^ +[0-9]+ .*:( |$)/ && !/0x/ { sum += $1 } END { print sum + 0 }')" \
		"$(awk '{ sum += $NF } END { print sum + 0 }' "$T/run.folded")"
	judge_schema "a run" "$T/run.pb.gz"
	judge_round_trip "a run" "$T/run.pb.gz"
}

if [ ! -x "$MAKE_PPROF" ]; then
	fail "all" "$MAKE_PPROF must be built"
	exit 1
fi
stacks | "$MAKE_PPROF" >"$T/made.pb.gz" 2>"$T/err"
judge_schema "made" "$T/made.pb.gz"
judge_round_trip "made" "$T/made.pb.gz"
if command -v go >/dev/null; then
	judge_numbers "$T/made.pb.gz"
	judge_stacks "$T/made.pb.gz"
	judge_go
	judge_run
else
	skip "what go makes of it" "go"
fi
