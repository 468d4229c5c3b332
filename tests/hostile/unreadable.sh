#!/usr/bin/env bash
# Files and processes that are unreadable for lack of a capability are shown as such, not as deleted and not as
# stripped.
#
# Alone: it samples all processes, and processes of other tests might be unreadable.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"
need_live
if ! command -v capsh >/dev/null; then
	skip "all" "capsh"
	exit 0
fi

USER_ID=65534
as_user=(setpriv --reuid "$USER_ID" --regid "$USER_ID" --clear-groups)
mkdir "$T/user" && chown "$USER_ID" "$T/user"
for name in hidden removed; do
	gcc -std=gnu11 -O1 -g -D_GNU_SOURCE -w -fno-omit-frame-pointer -DNAME=$name \
		-o "$T/user/$name" tests/live/programs/special/names.c || exit 1
	chown "$USER_ID" "$T/user/$name"
done
chmod 500 "$T/user/hidden"
start "${as_user[@]}" "$T/user/hidden" 60
start "${as_user[@]}" "$T/user/removed" 60 x
wait_until 10 test ! -e "$T/user/removed"

# without CAPABILITIES: samples all CPUs for a second as root without these capabilities.
without() {
	rm -f "$T/stats"
	# shellcheck disable=SC2016
	timeout -k 5 60 capsh --drop="$1" -- -c '"$0" "$@"' "$STOOK" profile --stats "$T/stats" \
		-a -F 997 -d 1 --by comm -f --table-cache none >"$T/out" 2>"$T/err" </dev/null
	check_equal "without $1: the run's status" $? 0
}

without cap_dac_override,cap_dac_read_search
check "a file of another user: unreadable" test "$(sum_matching '^hidden;.*\[unreadable\]')" -gt 0
check_equal "a file of another user: not shown as deleted" "$(sum_matching '^hidden;.*\[deleted\]')" 0
check "the unreadable files are reported" grep -q 'files with samples could not be read, permission denied' "$T/err"
check "the unreadable files are not reported as stripped" grep -q ' in files that were not read' "$T/err"
check "they are counted" test "$(stat_of files_refused)" -ge 1

without cap_checkpoint_restore,cap_sys_admin
check "a deleted file that could be opened by its mapping: unreadable" \
	test "$(sum_matching '^removed;.*\[unreadable\]')" -gt 0
check "a file that still exists: named" test "$(sum_matching '^hidden;.*hidden_inner')" -gt 0

# In newer kernels CAP_PERFMON is enough to read mappings, but not to open mapped files.
without cap_sys_ptrace
check "a process without read permission is reported" \
	grep -qE '(mappings of [0-9]+ processes|[0-9]+ files with samples) could not be read, permission' "$T/err"
check_equal "its files are not shown as deleted" "$(sum_matching '^(hidden|removed);.*\[deleted\]')" 0

profile -a -F 997 -d 1 --by comm -f --table-cache none
check_equal "with all rights: no file is refused" "$(stat_of files_refused)" 0
check_equal "with all rights: no process is refused" "$(stat_of processes_refused)" 0
check "with all rights: a deleted file is named" test "$(sum_matching '^removed;.*removed_inner')" -gt 0
