#!/usr/bin/env bash
# All sources of symbols, with programs built for the purpose: deleted files, stripped files with their symbols in
# each of the possible places, inlined calls, C++ names, PLT stubs, profiles symbolized on another machine, and a
# debuginfod server.
#
# Stacks are known by construction: functions true_outer;true_inner, where a file that must not be
# read has lie_outer;lie_inner at the same addresses.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_live

for tool in objcopy strip nm readelf xz; do
	if ! command -v $tool >/dev/null; then
		skip "all" "$tool"
		exit 0
	fi
done
FP_FLAGS=(-std=gnu11 -O1 -g -D_GNU_SOURCE -w -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer
	-fno-optimize-sibling-calls)
if ! build names_true special/names.c gcc "${FP_FLAGS[@]}" -DNAME=true ||
	! build names_lie special/names.c gcc "${FP_FLAGS[@]}" -DNAME=lie ||
	! build makes_code special/makes_code.c gcc "${FP_FLAGS[@]}"; then
	fail "all" "the programs can't be built"
	exit 1
fi

build_id() { readelf -n "$1" 2>/dev/null | awk '/Build ID/ { print $3; exit }'; }
in_folder() { sed 's|^..|.build-id/&/|; s|$|.debug|' <<<"$1"; } # a build id's place there

# sampled STACK [FILE]: true if there are samples with this stack.
sampled() {
	test -s "${2:-$T/out}" && test "$(sum_matching ";$1( |;[^ ]*_\[k\] )" "${2:-$T/out}")" -gt 0
}

# --- debuginfod: first, since a background run waits for a server that hangs -----------------------

# The program is stripped; only the server has its debug file.
mkdir "$T/served"
objcopy --only-keep-debug "$SPECIAL/names_true" "$T/served/true.debug"
strip -o "$T/asks" "$SPECIAL/names_true"

# fetches URL-PATH: true if the server has it, by a minimal HTTP client.
fetches() {
	exec 9<>"/dev/tcp/127.0.0.1/$port" || return
	printf 'GET %s HTTP/1.0\r\n\r\n' "$1" >&9
	head -n 1 <&9 | tr -d '\0' | grep -q ' 200 '
} 2>/dev/null

# ask_server PORT CACHE: looks up names of the stripped program there. Progress messages of the client library
# must not be printed.
ask_server() {
	DEBUGINFOD_URLS=http://127.0.0.1:$1 DEBUGINFOD_CACHE_PATH=$T/$2 DEBUGINFOD_PROGRESS=1 \
		profile -f --annotate -F 499 -d 1 -p "$asking"
}

# ask_hung: like ask_server, for a server that does not answer. Writes stdout, stderr and the time that it took
# to $T/hung, $T/hung.err and $T/hung.ms.
ask_hung() {
	local begin
	begin=$(now_ms)
	DEBUGINFOD_URLS=http://127.0.0.1:$port DEBUGINFOD_CACHE_PATH=$T/hung-cache \
		timeout -k 5 60 "$STOOK" profile -f --annotate -F 499 -d 1 -p "$asking" \
		>"$T/hung" 2>"$T/hung.err" </dev/null
	echo $(($(now_ms) - begin)) >"$T/hung.ms"
}

hung=
port=$(free_port)
start "$T/asks" 300
asking=$PID
if ! ldconfig -p 2>/dev/null | grep -q libdebuginfod.so.1; then
	skip "debuginfod" "its client library, libdebuginfod.so.1"
elif ! readelf -d "$STOOK" | grep -q NEEDED; then
	skip "debuginfod" "a stook that is not statically linked"
else
	ask_server "$port" cache-nobody
	check_equal "no debuginfod server there: status 0" "$STATUS" 0
	check "no debuginfod server there: it ends in time" test "$WALL_MS" -lt 15000
	check "no debuginfod server there: it is reported" grep -q 'debuginfod' "$T/err"
	if ! command -v debuginfod >/dev/null; then
		skip "debuginfod" "the server (package debuginfod)"
	else
		start debuginfod -d "$T/debuginfod.sqlite" -p "$port" -F "$T/served"
		server=$PID
		wait_until 15 fetches "/buildid/$(build_id "$SPECIAL/names_true")/debuginfo" ||
			note "debuginfod: $(tail -n 3 "$T/started")"
		ask_server "$port" cache
		check "a name from a debuginfod server" sampled 'main;true_outer;true_inner'
		check "and the debug file is complete in the cache of debuginfod's client" cmp \
			"$T/served/true.debug" "$T/cache/$(build_id "$SPECIAL/names_true")/debuginfo"
		kill -STOP "$server" # takes connections, and answers none
		ask_hung &
		hung=$!
		STARTED+=("$hung")
	fi
fi

# --- the programs ----------------------------------------------------------------------------------

# Replaced after its start: the file that runs is still accessible, and the new file of that name has wrong names.
cp "$SPECIAL/names_true" "$T/deleted"
cp "$SPECIAL/names_true" "$T/replaced"
start "$T/deleted" 300 && deleted=$PID
start "$T/replaced" 300 && replaced=$PID
wait_until 5 grep -q true_outer "/proc/$replaced/exe" "/proc/$deleted/exe"
rm "$T/deleted"
cp "$SPECIAL/names_lie" "$T/new" && mv "$T/new" "$T/replaced"

# A stripped program with a debug file beside it, found by name and checksum; and one whose debug file has the wrong
# checksum.
mkdir -p "$T/beside/.debug" "$T/wrong"
objcopy --remove-section .note.gnu.build-id "$SPECIAL/names_true" "$T/no-id"
objcopy --remove-section .note.gnu.build-id "$SPECIAL/names_lie" "$T/lie-no-id"
objcopy --only-keep-debug "$T/no-id" "$T/beside/.debug/linked.debug" 2>/dev/null # a note moves
strip -o "$T/linked" "$T/no-id"
objcopy --add-gnu-debuglink="$T/beside/.debug/linked.debug" "$T/linked" "$T/beside/linked"
cp "$T/beside/linked" "$T/wrong/mislinked"
objcopy --only-keep-debug "$T/lie-no-id" "$T/wrong/linked.debug" 2>/dev/null

# Stripped, with the functions' symbols in .gnu_debugdata, as in distributions.
objcopy --only-keep-debug "$SPECIAL/names_true" "$T/mini.debug"
nm --format=posix --defined-only "$SPECIAL/names_true" | awk '$2 ~ /[Tt]/ { print $1 }' >"$T/keep"
objcopy -S --remove-section .comment --keep-symbols="$T/keep" "$T/mini.debug" "$T/mini.small"
xz -f "$T/mini.small"
strip -o "$T/mini" "$SPECIAL/names_true"
objcopy --add-section .gnu_debugdata="$T/mini.small.xz" "$T/mini"

start "$T/beside/linked" 300 && pids=$PID
start "$T/wrong/mislinked" 300 && pids+=,$PID
start "$T/mini" 300 && pids+=,$PID && raw_pids=$PID && raw_files=("$T/mini")

has_go=false
if build go_stripped special/goroutines.go env CGO_ENABLED=0 go build \
	-ldflags "-s -w -B 0x$(sha1sum <<<goroutines | cut -c 1-40)"; then
	has_go=true
	start "$SPECIAL/go_stripped" 300 && pids+=,$PID && raw_pids+=,$PID
	raw_files+=("$SPECIAL/go_stripped")
fi
has_cxx=false
if build cxx_names special/cxx_names.cc g++ -O2 -g -D_GNU_SOURCE; then
	has_cxx=true
	start "$SPECIAL/cxx_names" 300 && cxx=$PID && pids+=,$PID && raw_pids+=,$PID
	raw_files+=("$SPECIAL/cxx_names")
fi

# --- in one run ------------------------------------------------------------------------------------

profile -f --annotate -F 997 -d 2 --by comm -p "$deleted,$replaced,$pids"
check_equal "status 0" "$STATUS" 0
only() { grep "^$1;" "$T/out" >"$T/only"; }
only deleted
check "deleted while it runs" sampled 'main;true_outer;true_inner' "$T/only"
only replaced
check "replaced while it runs: its own names" sampled 'main;true_outer;true_inner' "$T/only"
only linked
check "a debug file beside the program, by link" sampled 'main;true_outer;true_inner' "$T/only"
only mislinked
check "a debug file with another checksum is not taken" sampled "mislinked[+]0x[0-9a-f]+" "$T/only"
only mini
check "MiniDebugInfo" sampled 'main;true_outer;true_inner' "$T/only"
check_equal "no name from a wrong file" "$(grep -c lie_ "$T/out")" 0
if $has_go; then
	only go_stripped
	check "a stripped Go program" sampled 'main\.outer;(main\.inner;)?main\.hot' "$T/only"
fi
kill "$deleted" "$replaced"

# Deleted, and exited before its mappings are read, since stook is stopped meanwhile.
cp "$SPECIAL/names_true" "$T/short"
start "$STOOK" profile -q -f --annotate -F 997 -d 2 --comm '^short$'
wait_until 10 samples "$PID"
sleep 0.5
kill -STOP "$PID"
"$T/short" 0.3 unlink
kill -CONT "$PID"
wait "$PID"
check "deleted before it could be opened: [deleted]" sampled '\[deleted\]' "$T/started"
check_equal "deleted before it could be opened: no function names" "$(grep -cE '_(outer|inner|search)|;main;' "$T/started")" 0

# --- C++ and inlined calls -------------------------------------------------------------------------

if $has_cxx; then
	box='load::Box<unsigned long>::burn\(std::function<void \(int\)> const&, unsigned long\)'
	profile -f --annotate -F 997 -d 1 -p "$cxx"
	check "--demangle full" sampled "main;$box( \[clone [^]]*\])?"
	check "the name of a compiler's clone ends in [clone …]" \
		sampled 'main;cloned\(unsigned long, unsigned long\) \[clone \.[^]]*\]'
	check "without --inline: the enclosing function" sampled 'main;holder'
	check_equal "without --inline: no inlined frames" "$(grep -cE 'inlined_|_\[i\]' "$T/out")" 0

	profile -f --annotate -F 997 -d 1 -p "$cxx" --demangle simple --fold clones --inline
	check "--demangle simple" sampled 'main;load::Box::burn'
	check "--fold clones" sampled 'main;cloned'
	check "--inline: inlined calls, the caller first" \
		sampled 'main;holder;inlined_outer_\[i\];inlined_inner_\[i\]'
	check "--inline: the cost includes the children that read debug information" \
		test "$(stat_of helpers_us)" -gt 0

	profile -f --annotate -F 997 -d 1 -p "$cxx" --demangle no --lines
	check "--demangle no" sampled 'main [^;]*;_ZN4load3BoxImE4burn[^; ]* cxx_names\.cc:[0-9]+'
	line=$(grep -n 'inlined_outer(turns);' tests/live/programs/special/cxx_names.cc | cut -d: -f1)
	check "--lines: the line of a call" \
		sampled "main cxx_names\.cc:[0-9]+;holder (burn\.h|cxx_names\.cc):[0-9]+"
	profile -f --annotate -F 997 -d 1 -p "$cxx" --lines --inline
	check "--lines --inline: the line of the inlined call" \
		sampled "holder cxx_names\.cc:$line;inlined_outer [^;]*:[0-9]+_\[i\];inlined_inner [^;]*_\[i\]"
fi

# --- stubs -----------------------------------------------------------------------------------------

if build libstubs.so special/stubs.c gcc -O0 -DLIBRARY -shared -fPIC &&
	build stubs special/stubs.c gcc -O0 -D_GNU_SOURCE -fno-pie -no-pie "-Wl,-rpath,\$ORIGIN" \
		-Wl,--no-as-needed "$SPECIAL/libstubs.so"; then
	profile -f --annotate -e page-faults -c 1 -- "$SPECIAL/stubs" 0.3
	check "stubs of dynamic linking" sampled 'called_by_stub@plt'
fi

# --- recorded here, named on another machine ------------------------------------------------------

profile -F 997 -d 1 -p "$raw_pids" --no-symbols -o "$T/raw.pb.gz"
"$STOOK" symbolize -q -f --annotate "$T/raw.pb.gz" >"$T/here" 2>"$T/err"
check "symbolize, where it was recorded" sampled 'main;true_outer;true_inner' "$T/here"

# provide FILE: puts its debug file, or the whole file, below $T/debug. The C library's is the host's.
debug=$T/bare/debug
provide() {
	local id from
	id=$(build_id "$1")
	from=/usr/lib/debug/$(in_folder "$id")
	[ -e "$from" ] || from=$1
	[ "$id" ] && mkdir -p "$debug/.build-id/${id::2}" && cp "$from" "$debug/$(in_folder "$id")"
}
for file in "${raw_files[@]}"; do
	provide "$file"
	ldd "$file" 2>/dev/null | grep -oE '/[^ ]+'
done | sort -u >"$T/libraries"
while read -r file; do provide "$file"; done <"$T/libraries"

static=${STATIC_STOOK:-$ROOT/build/static/stook}
if [ -x "$static" ]; then
	cp "$static" "$T/bare/stook"
	cp "$T/raw.pb.gz" "$T/bare/raw.pb.gz"
	bare() { chroot "$T/bare" /stook symbolize "$@" </dev/null 2>"$T/err"; }
	bare -f --annotate /raw.pb.gz --debug-dir /debug >"$T/there"
	check "symbolize in a root with nothing but debug files: the same" cmp "$T/here" "$T/there"
	bare /raw.pb.gz -o /named.folded --debug-dir /debug
	check "-o writes it to a file" sampled 'main;true_outer;true_inner' "$T/bare/named.folded"
	id=$(build_id "$T/mini")
	rm "$debug/$(in_folder "$id")"
	bare -f /raw.pb.gz --debug-dir /debug >"$T/there"
	check "a file without symbols is listed with its build id" grep -q "no symbols in .*mini (build id $id)" "$T/err"
else
	skip "symbolize in a bare root" "build/static/stook: make static"
fi

# --- JIT-compiled code -----------------------------------------------------------------------------

# The third function has the address of the first one; each is named by the map of its time.
# shellcheck disable=SC2016
LIMIT=30 profile -i 1 -F 499 --annotate -o "$T/code.folded" -- \
	bash -c 'echo $$ >"$1" && exec "$2" 4 3' - "$T/code.pid" "$SPECIAL/makes_code"
rm -f "/tmp/perf-$(cat "$T/code.pid").map"
cat "$T"/code.*.folded >"$T/code"
for number in 0 1 2; do
	check "a perf map that grows from interval to interval: $number" \
		sampled "main;run_made;made_${number}_\[j\]" "$T/code"
done

# --- kernel code that goes away --------------------------------------------------------------------

# BPF programs that are loaded and unloaded during the run, mostly at the same address. Their names are asked for when the
# kernel reports them, which on an overloaded host can take half a second.
programs="first_code second_code third_code"
if [ "$(cat /proc/sys/net/core/bpf_jit_enable 2>/dev/null)" = 0 ]; then
	skip "BPF programs that are unloaded" "net.core.bpf_jit_enable"
elif build kernel_code special/kernel_code.c gcc -O1 -D_GNU_SOURCE -w; then
	# Beside another profiler: the kernel's records of unloaded code are longer then than what it writes to them.
	start "$STOOK" profile -q -f -a -F 1 -d 60
	beside=$PID
	wait_until 10 samples "$beside"
	for interval in 0 0.7; do
		[ $interval = 0 ] && intervals=() || intervals=(-i $interval)
		rm -f "$T"/bpf*
		# shellcheck disable=SC2086
		profile -F 499 --annotate "${intervals[@]}" -o "$T/bpf.folded" -- \
			"$SPECIAL/kernel_code" 1.5 $programs
		cat "$T"/bpf*.folded >"$T/bpf"
		for program in $programs; do
			check "a BPF program that is unloaded (-i $interval): $program" \
				sampled "bpf_test_run_\[k\];bpf_prog_[0-9a-f]*_${program}_\[k\]" "$T/bpf"
		done
		check "BPF programs that are unloaded (-i $interval): none is unknown" \
			test "$(sum_matching 'bpf_test_run_\[k\];\[unknown\]' "$T/bpf")" -lt 5
	done
	stop "$beside"
fi

# --- the server that hangs, again ------------------------------------------------------------------

if [ "$hung" ]; then
	wait_until 40 test -s "$T/hung.ms"
	check "a debuginfod server that hangs: it ends in time" \
		test "$(cat "$T/hung.ms" 2>/dev/null || echo 99999)" -lt 40000
	check "a debuginfod server that hangs: it is reported" grep -q 'debuginfod.*too long' "$T/hung.err"
	check "a debuginfod server that hangs: the rest is there" sampled '\[unknown\]' "$T/hung"
fi
