#!/usr/bin/env bash
# The process that asks debuginfod servers, when root runs stook: its rights, its cache, and what a compromised one
# can make stook read.
#
# A fake client library tries what a compromised one would. The real one asks a server on this host. /var/cache is
# empty here.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"
if [ -z "${OWN_MOUNTS:-}" ] && unshare --mount true 2>/dev/null; then
	OWN_MOUNTS=1 exec unshare --mount bash "$0"
fi
need_live

for tool in gcc objcopy strip python3 setpriv; do
	command -v $tool >/dev/null || { skip "all" $tool; exit 0; }
done
if [ -z "${OWN_MOUNTS:-}" ] || ! mount -t tmpfs none /var/cache; then
	skip "all" "the right to make a mount namespace"
	exit 0
fi
if "$STOOK" --version | grep -q static; then
	skip "all" "a binary that can load libraries"
	exit 0
fi

CLIENT=65523
CACHE=/var/cache/stook/debuginfod

gcc -std=gnu11 -O1 -g -D_GNU_SOURCE -w -fno-omit-frame-pointer -DNAME=asks -Wl,--build-id=sha1 \
	-o "$T/whole" tests/live/programs/special/names.c &&
	objcopy --only-keep-debug "$T/whole" "$T/asks.debug" && strip -o "$T/asks" "$T/whole" || exit 1
ID=$(readelf -n "$T/asks" | awk '/Build ID/ { print $3; exit }')
start "$T/asks" 300
asks=$PID

# Environment of the runs: what root's own programs would use must not be touched.
mkdir "$T/home"
export HOME=$T/home XDG_CACHE_HOME=$T/home/cache STOOK_SECRET=x
unset DEBUGINFOD_CACHE_PATH

run() { profile -f -F 499 -d 1 -p "$asks"; }
is_named() { test "$(sum_matching ';asks_outer;asks_inner ')" -gt 0; }
owner_and_mode() { stat -c '%u:%g %a' "$1" 2>&1; }

# --- rights ------------------------------------------------------------------------------------------

# Writes the results of the attempts to a file in its cache, and says that it has found a file.
mkdir "$T/fake" "$T/everyone" && chmod 1777 "$T/everyone"
echo secret >"$T/secret" && chmod 600 "$T/secret"
gcc -shared -fPIC -pthread -DFOLDER="\"$T\"" -o "$T/fake/libdebuginfod.so.1" -x c - <<'C' || exit 1
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static FILE *out;

static void tell(const char *what, long result)
{
	fprintf(out, "%s: %s\n", what, result < 0 ? strerrorname_np(errno) : "possible");
}

static void *do_nothing(void *context) { return context; }

void *debuginfod_begin(void) { return "client"; }

int debuginfod_find_debuginfo(void *client, const unsigned char *id, int bytes, char **path)
{
	const char *cache = getenv("DEBUGINFOD_CACHE_PATH");
	char name[300];
	pthread_t thread;
	pid_t child;
	char **variable;

	if (!cache || asprintf(path, "%s/%s/debuginfo", cache, id) < 0)
		return -EINVAL;
	snprintf(name, sizeof(name), "%s/tried", cache);
	out = fopen(name, "w");
	if (!out)
		return -errno;
	tell("read a file of root", open(FOLDER "/secret", O_RDONLY));
	tell("write to a file of root", open(FOLDER "/asks.debug", O_WRONLY));
	tell("read what all may read", open("/etc/passwd", O_RDONLY));
	tell("write where all may write", open(FOLDER "/everyone/new", O_WRONLY | O_CREAT, 0600));
	tell("signal root", kill(getppid(), 0));
	tell("trace root", ptrace(PTRACE_SEIZE, getppid(), 0, 0));
	tell("make a namespace", unshare(CLONE_NEWUSER));
	child = fork();
	if (child == 0)
		_exit(0);
	tell("start a process", child);
	tell("execute a program", execl("/bin/true", "true", NULL));
	errno = pthread_create(&thread, NULL, do_nothing, NULL);
	tell("start a thread", errno ? -1 : pthread_join(thread, NULL));
	tell("make a socket", socket(AF_INET, SOCK_STREAM, 0));
	fprintf(out, "dumpable: %d\n", prctl(PR_GET_DUMPABLE));
	for (variable = environ; *variable; variable++)
		fprintf(out, "has %.*s\n", (int)strcspn(*variable, "="), *variable);
	fclose(out);
	return open("/dev/null", O_RDONLY);
}
C

export DEBUGINFOD_URLS=http://127.0.0.1:1
mkdir -m 700 /var/cache/stook # as the cache of unwind tables leaves it
LD_LIBRARY_PATH=$T/fake run
check_equal "rights: status" "$STATUS" 0
check_equal "the client's folder is its own" "$(owner_and_mode $CACHE)" "$CLIENT:$CLIENT 700"
check_equal "the folder above is root's" "$(owner_and_mode /var/cache/stook)" "0:0 711"
tried=$CACHE/tried
check_equal "what the client writes is its own" "$(owner_and_mode $tried)" "$CLIENT:$CLIENT 644"
is_refused() { grep -qE "^$1: (EACCES|EPERM)\$" $tried; }
for what in "read a file of root" "write to a file of root" "signal root" "trace root" "make a namespace" \
	"start a process" "execute a program"; do
	check "the client cannot $what" is_refused "$what"
done
if python3 -c 'import ctypes, sys; sys.exit(ctypes.CDLL(None).syscall(444, 0, 0, 1) < 1)'; then
	check "the client cannot write where all may write" is_refused "write where all may write"
else
	skip "the client cannot write where all may write" "Landlock"
fi
for what in "read what all may read" "start a thread" "make a socket"; do
	check "the client can $what" grep -qx "$what: possible" $tried
done
check "the client cannot be traced by its user" grep -qx 'dumpable: 0' $tried
check "the client has an environment" grep -qx 'has DEBUGINFOD_URLS' $tried
check_equal "the client has no more of the environment than it uses" \
	"$(sed -n 's/^has //p' $tried | grep -vE '^(DEBUGINFOD|SSL_CERT)_|_proxy$|_PROXY$|^(LD_LIBRARY_PATH|RES_OPTIONS|LOCALDOMAIN)$')" ""
check_equal "nothing is written to root's home" "$(find "$T/home" -mindepth 1)" ""

# --- files ---------------------------------------------------------------------------------------------

# Whatever is in the cache, the fake client says that it is the file.
fake() { LD_LIBRARY_PATH=$T/fake run; }
put() { rm -rf "${CACHE:?}/$ID" && install -d -o $CLIENT -g $CLIENT "$CACHE/$ID"; }
put && install -o $CLIENT -m 400 "$T/asks.debug" "$CACHE/$ID/debuginfo"
fake
check "a file of the client is used" is_named
put && install -m 644 "$T/asks.debug" "$CACHE/$ID/debuginfo"
fake
check "a file of root is not (a hard link, perhaps)" eval '! is_named'
chown $CLIENT "$T/asks.debug"
put && ln -s "$T/asks.debug" "$CACHE/$ID/debuginfo"
fake
check "a link out of the folder is not followed" eval '! is_named'
put && rmdir "$CACHE/$ID" && mkdir "$T/$ID" && ln "$T/asks.debug" "$T/$ID/debuginfo" && ln -s "$T/$ID" "$CACHE/$ID"
fake
check "neither is that of a folder" eval '! is_named'
rm "$CACHE/$ID"
check_equal "no run failed" "$STATUS" 0

# --- caches that are refused -----------------------------------------------------------------------------

refused() { # refused PATH WHY
	DEBUGINFOD_CACHE_PATH=$1 LD_LIBRARY_PATH=$T/fake run
	check_equal "cache '$1': status" "$STATUS" 0
	check "cache '$1': refused" grep -q "debuginfod was not asked .*'$1'" "$T/err"
	check "cache '$1': and why" grep -q "debuginfod was not asked .*$2" "$T/err"
	check "cache '$1': nothing is in it" eval "! test -e '$1/tried'"
}
mkdir "$T/ours" && install -d -o 65534 "$T/theirs" && mkdir -m 700 "$T/closed"
install -d -o $CLIENT "$T/linked" && ln -s linked "$T/link"
refused "$T/ours" "not owned by user $CLIENT"
check_equal "and is root's as before" "$(owner_and_mode "$T/ours")" "0:0 755"
refused "$T/theirs/cache" "owned by another user"
refused "$T/closed/cache" "not passable"
refused "$T/link" "Not a directory"
refused cache "not an absolute path"
DEBUGINFOD_CACHE_PATH=$T/chosen setpriv --bounding-set=-chown --inh-caps=-chown "$STOOK" profile -f -F 499 -d 1 -p "$asks" \
	>"$T/out" 2>"$T/err" </dev/null
check "without CAP_CHOWN none is made, which is reported" \
	grep -q "debuginfod was not asked .*cannot give it to user $CLIENT without CAP_CHOWN" "$T/err"
check_equal "and nothing of it is left" "$(find "$T" -maxdepth 1 -name '*chosen*')" ""
for missing in setuid setgid; do
	LD_LIBRARY_PATH=$T/fake setpriv --bounding-set=-$missing --inh-caps=-$missing "$STOOK" profile -f -F 499 -d 1 -p "$asks" \
		>"$T/out" 2>"$T/err" </dev/null
	check "without CAP_${missing^^} no server is asked, which is reported" \
		grep -q "debuginfod was not asked .*its client cannot give up root's rights" "$T/err"
done
DEBUGINFOD_CACHE_PATH=$T/chosen LD_LIBRARY_PATH=$T/fake run
check_equal "another folder is made for the client" "$(owner_and_mode "$T/chosen")" "$CLIENT:$CLIENT 700"
check "and used" test -e "$T/chosen/tried"

# --- a server --------------------------------------------------------------------------------------------

if ! ldconfig -p | grep -q libdebuginfod.so.1; then
	skip "a server" "libdebuginfod.so.1"
	exit 0
fi
rm -rf /var/cache/stook
mkdir -p "$T/served/buildid/$ID" && cp "$T/asks.debug" "$T/served/buildid/$ID/debuginfo"
# serve: starts a server of debug files. Requests are logged in $T/requests.
serve() {
	python3 -c '
import http.server, os, sys
os.chdir(sys.argv[1])
class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, form, *args): print(form % args, flush=True)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()' "$T/served" >"$T/requests" 2>/dev/null &
	server=$!
	STARTED+=("$server")
	wait_until 5 grep -q . "$T/requests"
	export DEBUGINFOD_URLS
	DEBUGINFOD_URLS=http://127.0.0.1:$(head -n 1 "$T/requests")
}
nr_requests() { grep -c "GET /buildid/$ID/debuginfo" "$T/requests"; }

serve
run
check "a name from the server" is_named
check_equal "it was asked once" "$(nr_requests)" 1
check "the file is in the cache" cmp "$T/asks.debug" "$CACHE/$ID/debuginfo"
check_equal "and the client's" "$(stat -c %u "$CACHE/$ID/debuginfo")" $CLIENT
run
check "a second run has the name" is_named
check_equal "and does not ask" "$(nr_requests)" 1
stop "$server"
run
check "so has one without the server" is_named
check_equal "nothing was written to root's home" "$(find "$T/home" -mindepth 1)" ""

# --- the agent, with the capabilities of its service ------------------------------------------------------

# The bounding set of the unit, and what its manual page adds for servers of debug files.
bounding=$(sed -n 's/^CapabilityBoundingSet=//p' systemd/stook-agent.service | tr ' ' '\n' | sed -n 's/^CAP_/,+/p' |
	tr '[:upper:]' '[:lower:]' | tr -d '\n')
agent() { # agent SET-OF-MORE-CAPABILITIES
	setpriv --bounding-set="-all$bounding$1" --no-new-privs "$STOOK" agent --store "$T/store" --epoch 1 \
		--budget off -F 199 -p "$asks" 2>"$T/err" </dev/null &
	agent=$!
	STARTED+=("$agent")
}
is_in_store() { "$STOOK" query -q --store "$T/store" -f 2>/dev/null | grep -q ';asks_outer;asks_inner '; }
is_cached() { test -s "$CACHE/$ID/debuginfo"; }
if ! setpriv --bounding-set="-all$bounding" true 2>/dev/null; then
	skip "agent" "setpriv that knows its capabilities, which root has"
	exit 0
fi
rm -rf /var/cache/stook && mkdir -m 755 /var/cache/stook # as CacheDirectory=
serve
agent ",+chown"
check "agent: it makes the cache, and has files there" wait_until 30 is_cached
check_equal "agent: the client's folder is its own" "$(owner_and_mode $CACHE)" "$CLIENT:$CLIENT 700"
check "agent: the name is in its store" wait_until 30 is_in_store
stop "$agent"
stop "$server"
rm -rf "$T/store"
agent ""
check "agent: a cache that is there needs no CAP_CHOWN" wait_until 30 is_in_store
stop "$agent"
