#!/usr/bin/env bash
# Capabilities of the command after `--`: none, unless it runs as root. A service that profiles with
# AmbientCapabilities must not pass them on to the command.
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"

need_live
if ! setpriv --inh-caps=-all,+bpf --ambient-caps=-all,+bpf true 2>/dev/null; then
	skip "all" "setpriv that knows CAP_BPF"
	exit 0
fi

sets=-all,+bpf,+perfmon
as_service() {
	setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps="$sets" --ambient-caps="$sets" "$@"
}

# Prints a capability set of the command from /proc/self/status, without leading zeros.
caps_of() { sed -n "s/^$1:[[:space:]]*0*//p" "$T/caps"; }

: >"$T/caps"
chmod 666 "$T/caps"
as_service "$STOOK" profile -q -d 20 --stats /dev/null -f -- \
	sh -c "grep ^Cap /proc/self/status >'$T/caps'" >"$T/out" 2>"$T/err" </dev/null
check_equal "profile as a user with two capabilities" $? 0
check_equal "its command has no ambient capabilities" "$(caps_of CapAmb)" ""
check_equal "nor permitted ones" "$(caps_of CapPrm)" ""
check_equal "nor effective ones" "$(caps_of CapEff)" ""
check "the test has seen some" grep -q CapAmb "$T/caps"

"$STOOK" profile -q -d 20 -f -- sh -c "grep ^Cap /proc/self/status >'$T/caps'" >"$T/out" 2>"$T/err"
check_equal "root's command is root's" "$(caps_of CapEff)" \
	"$(sed -n 's/^CapEff:[[:space:]]*0*//p' /proc/self/status)"
