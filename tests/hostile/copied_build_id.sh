#!/usr/bin/env bash
# A build id is only a claim of the file. A user's copy of root's program with other symbols is sampled
# first: root's program must keep its names. A container's copy with other call frame information is sampled
# in an earlier run: stacks of the host's program must stay correct.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"
if [ -z "${OWN_MOUNTS:-}" ] && unshare --mount true 2>/dev/null; then
	OWN_MOUNTS=1 exec unshare --mount bash "$0"
fi
need_live

USER_ID=65534
as_user=(setpriv --reuid "$USER_ID" --regid "$USER_ID" --clear-groups)
if [ -z "${OWN_MOUNTS:-}" ]; then
	skip "all" "the right to make mount namespaces"
	exit 0
fi
for tool in python3 readelf musl-gcc; do
	if ! command -v $tool >/dev/null; then
		skip "all" $tool
		exit 0
	fi
done

# --- symbols ---------------------------------------------------------------------------------------

FLAGS=(-std=gnu11 -O1 -g -D_GNU_SOURCE -w "-Wl,--build-id=sha1")
gcc "${FLAGS[@]}" -fno-omit-frame-pointer -DNAME=true -o "$T/roots" \
	tests/live/programs/special/names.c || exit 1
mkdir "$T/user" && sed 's/true_\(outer\|inner\|search\)/lies_\1/g' "$T/roots" >"$T/user/users"
chmod 755 "$T/user/users" && chown -R "$USER_ID" "$T/user"
start "${as_user[@]}" "$T/user/users" 60
# shellcheck disable=SC2016
profile -a -F 997 --by comm -f -- bash -c 'sleep 0.5 && exec "$0" 1' "$T/roots"
stop "$PID"
check "the user's copy is named as it wants" test "$(sum_matching '^users;.*lies_inner')" -gt 0
check "root's program by its own symbols" test "$(sum_matching '^roots;.*true_inner')" -gt 0
check_equal "root's program has no names from the user's copy" "$(sum_matching '^roots;.*lies_')" 0

# --- call frame information ------------------------------------------------------------------------

# Unwind tables are cached by the build id of a static program, which contains all of its code.
musl-gcc "${FLAGS[@]}" -static -fomit-frame-pointer -DNAME=true -o "$T/program" \
	tests/live/programs/special/names.c || exit 1
mkdir "$T/root"
python3 - "$T/program" "$T/root/program" <<'PY' || exit 1
import subprocess, sys
code = bytearray(open(sys.argv[1], "rb").read())
for line in subprocess.check_output(["readelf", "-SW", sys.argv[1]], text=True).splitlines():
    words = line.replace("[ ", "[").split()
    if len(words) > 5 and words[1] in (".eh_frame", ".debug_frame"):
        start, size = int(words[4], 16), int(words[5], 16)
        code[start:start + size] = bytes(size)
open(sys.argv[2], "wb").write(code)
PY
chmod 755 "$T/root/program"

tables=(--table-cache "$T/tables")
mkdir -m 700 "$T/tables"
profile "${tables[@]}" -F 997 --by comm -f -- chroot "$T/root" /program 1
check_equal "nothing of a container's is kept" "$(find "$T/tables" -type f -newer "$T/program" |
	grep -c "$(readelf -n "$T/program" | sed -n 's/.*Build ID: //p')")" 0
profile "${tables[@]}" -F 997 --by comm -f -- "$T/program" 1
check "the host's program has whole stacks" test "$(sum_matching '^program;.*true_inner')" -gt 0 -a \
	"$(sum_matching '^program;.*main;true_outer;true_inner')" -eq "$(sum_matching '^program;.*true_inner')"
profile "${tables[@]}" -F 997 --by comm -f -- "$T/program" 1
check "its table is kept" test "$(stat_of tables_cached)" -ge 1
