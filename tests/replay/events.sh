#!/usr/bin/env bash
# Compares the attributes of events with perf's: tests/replay/events.sh
#
# perf shows them before it opens an event, so this needs no counters: what `perf list` has on this host; and, over
# trees of PMUs of other machines (tests/unit/pmu_trees.txt), the events of the trees and the tables of vendors' events
# that perf contains. Vendors' names come from libpfm4, which has many events under other names, and lacks some: the
# test counts these, and fails if a name means something else. With EVENT_TABLES, the kernel's directory
# tools/perf/pmu-events/arch, each event is also compared by its terms; and with the tables' encodings, without perf, the
# events of more models.
#
# perf opens tracepoints and closes them again, which takes the kernel some 30 ms each: one in TRACEPOINTS (10) is
# compared.
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"

PRINT_EVENTS=${PRINT_EVENTS:-$ROOT/build/tests/tools/print_events}
COMPARE=$ROOT/tests/tools/compare_events.py

# On Skylake, libpfm4 4.13 has other codes than perf's tables for these names, for a reason; src/event/models.c corrects its
# mistakes.
# uops_retired.stall_cycles	both count cycles in which nothing retires: of 0xc2, Intel's manual has unit mask 1, as
#				libpfm4 does, its tables since then 2
# uops_retired.total_cycles	likewise; and the threshold: "less than 10" is 10 in libpfm4, and 16 in the tables
OTHER_MEANINGS='^uops_retired\.(stall|total)_cycles:'

# Makes the trees, each below a directory that stands for /sys.
make_trees() {
	local path text
	while read -r path text; do
		path=$T/${path%%/*}/bus/event_source/devices/${path#*/}
		mkdir -p "${path%/*}" && echo "$text" >"$path"
	done < <(grep -v '^#' tests/unit/pmu_trees.txt)
}

figure() { awk -v what="$1" -v column="$2" '$1 == what { print $column }' "$T/compared"; }

compare_host() {
	if ! TRACEPOINTS=${TRACEPOINTS:-10} "$COMPARE" "$PRINT_EVENTS" >"$T/compared"; then
		fail "host" "cannot compare"
	elif [ "$(figure names 2)" = "$(figure names 4)" ]; then
		pass "$(figure names 2) events of perf list on this host"
	else
		fail "events of perf list on this host" "$(head -n 3 "$T/compared" | cut -c 1-400 | tr '\n' ';')"
	fi
}

# compare_tables TREE MODEL TABLES: the events of the tables' cores, without perf
compare_tables() {
	local differ
	if ! "$COMPARE" "$PRINT_EVENTS" "$T/$1" - "$2" "$EVENT_TABLES/$3" >"$T/compared"; then
		fail "$3" "cannot compare"
		return
	fi
	differ=$(grep -vE "^(terms|names) [0-9]|\| error: unknown event|$OTHER_MEANINGS" "$T/compared")
	if [ -n "$differ" ] || [ "$(figure terms 4)" -eq 0 ]; then
		fail "events of $3" "$(head -n 3 <<<"$differ" | cut -c 1-400 | tr '\n' ';')"
	else
		pass "tables of $3: $(figure terms 2) events, $(figure terms 4) by their terms, $(figure names 4) by name, $(
			grep -v '| error: ' "$T/compared" | grep -cE "$OTHER_MEANINGS") names mean others, $(
			grep -c '| error: ' "$T/compared") names unknown"
	fi
}

# compare_tree TREE [CPUID MODEL [TABLES]]
compare_tree() {
	local differ refused=0
	if ! "$COMPARE" "$PRINT_EVENTS" "$T/$1" "${@:2}" >"$T/compared"; then
		fail "$1" "cannot compare"
		return
	fi
	[ $# -lt 2 ] || refused=$(grep -c '| error: ' "$T/compared")
	differ=$(sed 1d "$T/compared" | grep -vE "^terms |$OTHER_MEANINGS")
	[ $# -lt 2 ] || differ=$(grep -v '| error: ' <<<"$differ")
	if [ -n "$differ" ] || [ "$(figure names 4)" -eq 0 ]; then
		fail "events of $*" "$(head -n 3 <<<"$differ" | cut -c 1-400 | tr '\n' ';')"
	else
		pass "$1 ${2:-}: $(figure names 4) of $(figure names 2) names, $refused unknown${4:+; $(
			figure terms 4) of $(figure terms 2) by their terms}"
	fi
}

if ! command -v perf >/dev/null || ! command -v python3 >/dev/null; then
	skip "events" "perf and python3"
	exit
fi
make_trees
if [ -r /sys/kernel/tracing/events ]; then
	compare_host
else
	skip "events of this host" "root, to read tracefs"
fi
for tree in skylake zen arm alderlake; do
	compare_tree $tree
done
table() { echo "${EVENT_TABLES:+$EVENT_TABLES/x86/$1}"; }
compare_tree skylake GenuineIntel-6-5E-3 skl "$(table skylake)"
compare_tree zen AuthenticAMD-25-1-1 amd64_fam19h_zen3 "$(table amdzen3)"
compare_tree alderlake GenuineIntel-6-97-2 adl_glc "$(table alderlake)"
if [ -z "${EVENT_TABLES:-}" ]; then
	skip "tables of further models" "EVENT_TABLES"
	exit
fi
# The formats of server cores since Skylake are those of Skylake.
compare_tables skylake skx x86/skylakex
compare_tables skylake icx x86/icelakex
compare_tables skylake spr x86/sapphirerapids
compare_tables zen amd64_fam17h_zen2 x86/amdzen2
compare_tables zen amd64_fam19h_zen3 x86/amdzen3
compare_tables alderlake adl_glc x86/alderlake
compare_tables arm '' arm64/arm/cortex-a76-n1
compare_tables arm '' arm64/arm/neoverse-v1
