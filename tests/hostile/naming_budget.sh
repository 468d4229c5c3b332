#!/usr/bin/env bash
# Files of an ordinary user that make looking up names expensive: maps and files with terabytes of holes,
# string tables and debug files with holes, tens of thousands of files with long paths. Limits are on CPU
# time, memory and bytes, which depend little on other load.
#
# The budget of a run: names that it skips are reported, and other processes keep their names.
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"
need_live

NOBODY=(setpriv --reuid=65534 --regid=65534 --clear-groups)
command -v setpriv >/dev/null || { skip "all" "setpriv"; exit 0; }
cp "$PROGRAMS/costs_names" "$PROGRAMS/spin" "$T" || { fail "all" "make programs"; exit 1; }
chmod 755 "$T"/*

start_as_nobody() { start "${NOBODY[@]}" "$@"; }

is_ready() { grep -q ready "$T/started"; }

# Prints a number with thousands separators.
list() { local IFS=, && echo "$*"; }

# Prints the CPU time of the last run in ms, and its memory in MB.
cpu_ms() { echo $((($(stat_of user_us) + $(stat_of sys_us)) / 1000)); }
memory_mb() { echo $(($(stat_of max_rss_kb) / 1024)); }

# --- holes --------------------------------------------------------------------------------------------

jits=()
for _ in 1 2 3 4; do
	start_as_nobody "$T/costs_names" 60 jit
	wait_until 5 is_ready
	jits+=("$PID")
	"${NOBODY[@]}" truncate -s 1T "/tmp/perf-$PID.map"
done
profile -F 199 -d 2 -f -p "$(list "${jits[@]}")"
for pid in "${jits[@]}"; do
	note "$(stat -c '%n: %s bytes, %b blocks' "/tmp/perf-$pid.map")"
	rm -f "/tmp/perf-$pid.map"
done
stop "${jits[@]}"
check_equal "four perf maps of 1 TiB: status 0" "$STATUS" 0
check "four perf maps of 1 TiB: below 1 s of CPU time ($(cpu_ms) ms)" test "$(cpu_ms)" -lt 1000

# A hole followed by lines, as after `> /tmp/perf-PID.map` while a writer has the file open: the lines count.
start_as_nobody "$T/costs_names" 60 jit
wait_until 5 is_ready
"${NOBODY[@]}" truncate -s 64M "/tmp/perf-$PID.map"
jit=$(awk '$2 ~ /^rwx/ { sub("-.*", "", $1); print $1; exit }' "/proc/$PID/maps")
echo "$jit 1000 behind_the_hole" | "${NOBODY[@]}" tee -a "/tmp/perf-$PID.map" >/dev/null
profile -F 199 -d 1 -f -p "$PID"
rm -f "/tmp/perf-$PID.map"
stop "$PID"
check "a perf map that begins with a hole: names behind it" grep -q behind_the_hole "$T/out"

# make_hollow FILE: replaces its .strtab by 500 MB of hole at the end of the file.
make_hollow() {
	python3 - "$1" <<-'PYTHON'
		import os, struct, sys
		data = bytearray(open(sys.argv[1], "rb").read())
		at, = struct.unpack_from("<Q", data, 0x28)
		size, nr = struct.unpack_from("<HH", data, 0x3a)
		for i in range(nr):
		    header = at + i * size
		    kind, = struct.unpack_from("<I", data, header + 4)
		    link, = struct.unpack_from("<I", data, header + 40)
		    if kind == 2: # SHT_SYMTAB
		        struct.pack_into("<QQ", data, at + link * size + 24, 1 << 20, 500_000_000)
		with open(sys.argv[1], "wb") as out:
		    out.write(data)
		    out.truncate((1 << 20) + 500_000_000)
	PYTHON
}
if command -v python3 >/dev/null; then
	cp "$T/spin" "$T/hollow"
	make_hollow "$T/hollow"
	note "$(stat -c '%n: %s bytes, %b blocks' "$T/hollow")"
	start_as_nobody "$T/hollow" 60
	sleep 0.5
	profile_for 100 "$PID" -F 199 -f -p "$PID"
	stop "$PID"
	check "a string table of 500 MB of nothing: sampled" test "$(stat_of shown)" -gt 20
	check "a string table of 500 MB of nothing: below 64 MB of memory ($(memory_mb) MB)" \
		test "$(memory_mb)" -lt 64
else
	skip "a string table of 500 MB of nothing" "python3"
fi

# A debug file found by .gnu_debuglink is read completely for its checksum, unless it is a hole of 1 GiB.
if command -v objcopy >/dev/null; then
	mkdir "$T/linked" "$T/linked/.debug"
	objcopy --remove-section .note.gnu.build-id "$T/spin" "$T/linked/spin.debug"
	objcopy --strip-all --remove-section .note.gnu.build-id \
		--add-gnu-debuglink="$T/linked/spin.debug" "$T/spin" "$T/linked/spin"
	start "$T/linked/spin" 60
	sleep 0.5
	profile -F 199 -d 1 -f -p "$PID"
	check "a debug file by its checksum: names" grep -q spin_inner "$T/out"
	cp "$T/linked/spin.debug" "$T/linked/.debug/"
	truncate -s 1G "$T/linked/spin.debug" "$T/linked/.debug/spin.debug"
	profile -F 199 -d 1 -f -p "$PID"
	stop "$PID"
	check "two debug files of 1 GiB of nothing: below 1 s of CPU time ($(cpu_ms) ms)" \
		test "$(cpu_ms)" -lt 1000
else
	skip "debug files by their checksum" "objcopy"
fi

# --- the budget -------------------------------------------------------------------------------------

# Four processes with a map of 32 MiB each; another program keeps its names.
yes "1000 10 some_function_or_other" | head -c 32M >"$T/map"
chown 65534:65534 "$T/map"
jits=()
for _ in 1 2 3 4; do
	start_as_nobody "$T/costs_names" 60 jit
	wait_until 5 is_ready
	jits+=("$PID")
	# Not its time: a map from before the process is another one's.
	cp --preserve=ownership "$T/map" "/tmp/perf-$PID.map"
done
start "$T/spin" 60
spin=$PID
sleep 0.5
LIMIT=100 profile -F 199 -d 2 -f --naming-bytes 40000000 -p "$(list "${jits[@]}" "$spin")"
for pid in "${jits[@]}"; do rm -f "/tmp/perf-$pid.map"; done
stop "${jits[@]}" "$spin"
check_equal "a budget of 40 MB: status 0" "$STATUS" 0
check "a budget of 40 MB: no more is read ($(stat_of naming_bytes))" \
	test "$(stat_of naming_bytes)" -le 40000000
check "a budget of 40 MB: some maps are cut short" test "$(stat_of naming_cut_by_bytes)" -ge 3
check "a budget of 40 MB: the verdict has the process and the option" \
	grep -qE 'names are missing: .*map of process [0-9]+.*--naming-bytes' "$T/err"
check "a budget of 40 MB: others keep their names" grep -q spin_inner "$T/out"

# --- many files with long paths ---------------------------------------------------------------------

# In several processes, since there is a limit on the bytes read of one process's maps.
many=()
for i in 1 2 3 4; do
	mkdir "$T/many$i"
	chown 65534:65534 "$T/many$i"
	start_as_nobody "$T/costs_names" 100 maps 7500 "$T/many$i"
	many+=("$PID")
	wait_until 60 is_ready
done
LIMIT=100 profile -F 199 -d 1 -f -p "$(list "${many[@]}")"
stop "${many[@]}"
check "30,000 paths of 3.9 KB: sampled" grep -q spin_among_files "$T/out"
check "30,000 paths of 3.9 KB: below 64 MB of memory ($(memory_mb) MB)" test "$(memory_mb)" -lt 64
check "30,000 paths of 3.9 KB: some were cut ($(stat_of paths_cut))" test "$(stat_of paths_cut)" -gt 3000
check "30,000 paths of 3.9 KB: and this is reported" grep -q 'only their ends are kept' "$T/err"
