#!/usr/bin/env bash
# Tests our pprof files with other tools: tests/replay/pprof.sh
#
# `go tool pprof` must show the same numbers, in text and in its flame graph; protoc with the public
# schema must find no unknown field. Go's own profiles must be unchanged after being read and
# written by us, with each sample, value and label. A file of a real run is tested, too, if run as
# root.
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

pprof() { # pprof OPTION… FILE: prints go's output, without the files that it searched
	PPROF_TMPDIR=$T HOME=$T go tool pprof -symbolize=none "$@" 2>"$T/err"
}

# row_of FILE NAME: prints "flat cum name" of one function, as counts.
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

# Every feature of a profile: see make_pprof --all.
judge_all() {
	local file=$1

	check_equal "-top: another value" \
		"$(pprof -sample_index=alloc -unit=b -top "$file" |
			awk '$6 == "vfs_read" || $6 == "_start" { print $1, $4 }' | sort)" \
		"$(printf '%s\n' "0 10000B" "2000B 2000B")"
	check_equal "-peek: callers and callees" \
		"$(pprof -sample_index=samples -peek '^work$' "$file" |
			awk '/main$/ { caller = $1 } /hot/ { callee = $1 } / work$/ { self = $1 }
				END { print caller, self, callee }')" "77 7 70"
	check_equal "-comments, with the clock's name" "$(pprof -comments "$file")" \
		"$(printf '%s\n' "event    cpu-clock" "made by make_pprof" "and judged by others")"
	check_equal "-tagfocus: by another program's label" \
		"$(pprof -sample_index=samples -tagfocus=request=r2 -top "$file" |
			awk '$6 == "_start" { print $4 }')" "20"
	check_equal "-tagfocus: by a number with a unit" \
		"$(pprof -sample_index=samples -tagfocus=size=2kb:9kb -top "$file" |
			awk '$6 == "_start" { print $4 }')" "23"
	pprof -raw "$file" >"$T/raw"
	check_equal "-raw: the values, and which is the default" \
		"$(sed -n '/^Samples:/{n;p}' "$T/raw")" "samples/count alloc/bytes cpu/nanoseconds[dflt]"
	check_equal "-raw: slices of time" \
		"$(grep -o 'slice_[a-z]*:\[[^]]*\]' "$T/raw" | sort | uniq -c |
			awk '{ print $1, $2 }' | tr '\n' ' ')" \
		"2 slice_end:[1700000001000000000 2 slice_end:[1700000002000000000 2 slice_start:[1700000000000000000 2 slice_start:[1700000001000000000 "
}

# Prints the root's value in pprof's flame graph page, in nanoseconds; nothing if there is no page.
flame_graph_total() {
	local url pid

	PPROF_TMPDIR=$T HOME=$T go tool pprof -symbolize=none -http=localhost: -no_browser "$1" \
		>"$T/http" 2>&1 &
	pid=$!
	STARTED+=("$pid")
	for _ in $(seq 600); do
		url=$(sed -n 's/.* on \(http:.*\)/\1/p' "$T/http")
		if [ -n "$url" ] || ! kill -0 "$pid" 2>/dev/null; then break; fi
		sleep 0.1
	done
	curl -s -m 10 "$url/ui/flamegraph" |
		grep -o 'n.u0022:.u0022root.u0022,.*' | sed 's/.*root[^v]*v.u0022:\([0-9]*\).*/\1/'
	# The server is a child of the command.
	pkill -P "$pid"
	kill "$pid" 2>/dev/null
}

judge_flame_graph() {
	if ! command -v curl >/dev/null; then
		skip "the flame graph" "curl"
		return
	fi
	check_equal "the flame graph of go tool pprof has the total" \
		"$(flame_graph_total "$1")" 1000000000
}

judge_schema() { # judge_schema NAME FILE
	if ! command -v protoc >/dev/null; then
		skip "$1: fields" "protoc"
		return
	fi
	gunzip <"$2" >"$T/inflated"
	protoc --proto_path="$ROOT/tests/replay" --decode=Profile profile.proto <"$T/inflated" >"$T/decoded" 2>"$T/err"
	check_equal "$1: protoc decodes it" $? 0
	# Fields that are not in the schema are printed by number.
	check_equal "$1: no unknown field" "$(grep -cE '^ *[0-9]+[:{ ]' "$T/decoded")" 0
	protoc --proto_path="$ROOT/tests/replay" --encode=Profile profile.proto <"$T/decoded" >"$T/encoded" 2>"$T/err"
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

judge_same_top() { # judge_same_top NAME FILE: before and after conversion
	check_equal "$1: -top says the same of what we wrote" \
		"$(pprof -top -nodecount=30 "$T/first.pb.gz" | grep -v '^File:' | sort)" \
		"$(pprof -top -nodecount=30 "$2" | grep -v '^File:' | sort)"
}

# Prints the samples of -raw in words: values, the stack with places and files, labels. Location and
# mapping numbers, and the mark of the default value, may differ between writers.
raw_samples() { # raw_samples FILE
	# shellcheck disable=SC2016 # awk expands these
	pprof -raw "$1" | awk '
		/^(Samples:|Locations|Mappings)$/ { part = $1; next }
		part == "Samples:" && /\/.*[^:]$/ && !/:/ { sub(/\[dflt\]/, ""); print "types", $0; next }
		part == "Samples:" && /^ +[-0-9]/ { nr++; split($0, halves, ":"); value[nr] = halves[1]
			stack[nr] = halves[2]; next }
		part == "Samples:" { label[nr] = label[nr] " " $0; next }
		part == "Locations" && /^ +[0-9]+: 0x/ { id = $1 + 0; sub(/^ +[0-9]+: /, ""); place[id] = $0
			next }
		part == "Locations" { place[id] = place[id] " < " $0; next }
		part == "Mappings" { id = $1 + 0; sub(/^[0-9]+: /, ""); sub(/ \[FN\].*/, "")
			mapping[id] = $0 }
		END {
			for (i = 1; i <= nr; i++) {
				line = value[i]
				gsub(/ +/, " ", line)
				split(stack[i], ids, " ")
				for (k = 1; k in ids; k++) {
					where = place[ids[k]]
					if (match(where, /M=[0-9]+/))
						where = where " in " \
							mapping[substr(where, RSTART + 2, RLENGTH - 2)]
					sub(/M=[0-9]+ /, "", where)
					line = line " | " where
				}
				delete ids
				line = line " # " label[i]
				gsub(/[ \t]+/, " ", line)
				print line
			}
		}' | sort
}

judge_same_raw() { # judge_same_raw NAME FILE: before and after conversion
	raw_samples "$2" >"$T/before"
	raw_samples "$T/first.pb.gz" >"$T/after"
	check "$1: -raw has the same samples, values, stacks, labels" \
		cmp -s "$T/before" "$T/after"
	check "$1: there are some in it" test "$(wc -l <"$T/before")" -gt 1
}

go_program() {
	cat <<-'GO'
	package main

	import (
		"context"
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
		for i, who := range []string{"first", "second", "third"} {
			labels := pprof.Labels("request", who, "pid", "none")
			pprof.Do(context.Background(), labels, func(context.Context) {
				for k := 0; k < 100; k++ {
					sink = make([]byte, (i+1)<<19+work(1000000)%2)
				}
			})
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
		skip "profiles of go" "a working go: $(head -n 1 "$T/err")"
		return
	fi
	judge_round_trip "go's cpu profile" "$T/cpu"
	judge_same_top "go's cpu profile" "$T/cpu"
	judge_same_raw "go's cpu profile" "$T/cpu"
	judge_round_trip "go's heap profile" "$T/heap"
	judge_same_top "go's heap profile" "$T/heap"
	judge_same_raw "go's heap profile" "$T/heap"
	check_equal "go's heap profile: four values" \
		"$(pprof -raw "$T/first.pb.gz" | sed -n '/^Samples:/{n;p}')" \
		"alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes[dflt]"
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
stacks | "$MAKE_PPROF" --all >"$T/all.pb.gz" 2>"$T/err"
judge_schema "all" "$T/all.pb.gz"
judge_round_trip "all" "$T/all.pb.gz"
if command -v go >/dev/null; then
	judge_numbers "$T/made.pb.gz"
	judge_stacks "$T/made.pb.gz"
	judge_all "$T/all.pb.gz"
	judge_flame_graph "$T/made.pb.gz"
	judge_go
	judge_run
else
	skip "what go makes of it" "go"
fi
