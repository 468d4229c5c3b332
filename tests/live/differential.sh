#!/usr/bin/env bash
# Stacks of live programs, walked by stook's tables and by elfutils at the same stopped instant
# (tests/tools/differential.c): at least 99.9 % must have the same frames.
#
# STOPS (300; 5000 for a thorough run) is the number of stops, divided among the loads. Stacks that differ are
# printed to stderr in both versions, grouped by reason. LOADS selects loads; REPORT is a file for the whole
# output. Go (LOADS=go) is not included by default: where the runtime switches stacks, stook walks on and
# elfutils stops.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
TOOL=${TOOL:-$ROOT/build/tests/tools/differential}
STOPS=${STOPS:-300}
REPORT=${REPORT:-$T/report}
LOADS=${LOADS:-redis python perl sqlite nginx postgres cc1 cxx signals node java}

if [ "$(id -u)" -ne 0 ]; then
	skip "all" "root, to stop and read other processes"
	exit 0
fi
if [ ! -x "$TOOL" ]; then
	skip "all" "$TOOL: make programs, with libdw (libdw-dev)"
	exit 0
fi
: >"$REPORT"

# --- loads: each starts something and leaves its pid in $PID; false if it is not installed --------

has() { command -v "$1" >/dev/null 2>&1; }

load_redis() {
	has redis-server && has redis-benchmark || return 1
	local port server
	port=$(free_port)
	start redis-server --port "$port" --save '' --appendonly no
	server=$PID
	wait_until 5 redis-cli -p "$port" ping >/dev/null 2>&1
	start redis-benchmark -p "$port" -q -n 100000000 -t set,get,lpush,lrange,mset
	PID=$server
}

load_python() {
	has python3 || return 1
	cat >"$T/load.py" <<-'END'
		import hashlib, json, random, re, zlib
		def deep(n):
		    return json.dumps({"a": [n] * 20}) if n == 0 else deep(n - 1)
		while True:
		    for depth in (3, 30, 150):
		        deep(depth)
		    re.sub(r"(a|b)*c", "x", "abababababc" * 50)
		    zlib.compress(b"abcdef" * 5000)
		    hashlib.sha256(b"x" * 20000).digest()
		    sorted([random.random() for _ in range(500)], key=lambda x: -x)
	END
	start python3 "$T/load.py"
}

load_perl() {
	has perl || return 1
	cat >"$T/load.pl" <<-'END'
		sub f {
			my $n = shift;
			return f($n - 1) + 1 if $n;
			(my $s = "abc" x 100) =~ s/(a|b)+c/x/g;
			return length join ",", sort { $b cmp $a } map { rand() . $s } 1 .. 50;
		}
		while (1) {
			f($_) for 1, 20, 80;
			my %h;
			$h{ $_ % 97 } .= sprintf("%d", $_) for 1 .. 2000;
			eval { die { a => 1 } };
		}
	END
	start perl "$T/load.pl"
}

load_sqlite() {
	has sqlite3 || return 1
	cat >"$T/load.sql" <<-'END'
		create table t(a, b);
		with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
			insert into t select i, hex(randomblob(8)) from n;
		with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000000000)
			select count(*) from n where (select sum(a) from t where b like '%' || i || '%') > 5;
	END
	start sqlite3 :memory: ".read $T/load.sql"
}

load_nginx() {
	has nginx && has wrk || return 1
	local port server
	port=$(free_port)
	mkdir -p "$T/nginx/logs" "$T/www"
	chmod -R 777 "$T/nginx"
	head -c 200000 /dev/zero | tr '\0' a >"$T/www/index.html"
	cat >"$T/nginx/nginx.conf" <<-END
		daemon off; master_process off; pid $T/nginx/pid;
		events { worker_connections 256; }
		http { access_log off; server { listen 127.0.0.1:$port; root $T/www; gzip on;
		       gzip_types text/html; } }
	END
	start nginx -p "$T/nginx" -e "$T/nginx/error.log" -c "$T/nginx/nginx.conf"
	server=$PID
	sleep 0.3
	start wrk -t 1 -c 8 -d 3600 -H "Accept-Encoding: gzip" "http://127.0.0.1:$port/index.html"
	PID=$server
}

load_postgres() {
	has postgres && id postgres >/dev/null 2>&1 || return 1
	local bin
	bin=$(dirname "$(readlink -f "$(command -v postgres)")")
	[ -x "$bin/initdb" ] && [ -x "$bin/pgbench" ] || return 1
	install -d -o postgres "$T/pg"
	(cd / && setpriv --reuid postgres --clear-groups "$bin/initdb" -A trust -D "$T/pg") \
		>"$T/initdb" 2>&1 || return 1
	start setpriv --reuid postgres --clear-groups "$bin/postgres" -D "$T/pg" -p 7933 -k "$T/pg" \
		-c fsync=off -c listen_addresses=
	local server=$PID
	wait_until 10 "$bin/pg_isready" -q -h "$T/pg" -p 7933
	"$bin/pgbench" -q -i -s 1 -h "$T/pg" -p 7933 -U postgres postgres >"$T/initdb" 2>&1
	start "$bin/pgbench" -h "$T/pg" -p 7933 -U postgres -c 4 -T 3600 postgres
	PID=$server
}

# Short-lived processes: most are stopped within their first tenths of a second.
load_cc1() {
	has gcc || return 1
	start sh -c "while :; do gcc -O2 -D_GNU_SOURCE -Isrc -I. -S -o /dev/null src/elf/unwind/cfi_program.c; done"
}

# Exceptions, and a stack that is realigned for vectors.
load_cxx() {
	has g++ || return 1
	g++ -O2 -march=x86-64-v3 -o "$T/cxx" tests/live/unwind_load.cc 2>"$T/err" ||
		g++ -O2 -o "$T/cxx" tests/live/unwind_load.cc 2>"$T/err" || return 1
	start "$T/cxx"
}

# Handlers on an alternate stack, vfork, system calls, the vdso, recursion.
load_signals() {
	has gcc || return 1
	gcc -O2 -D_GNU_SOURCE -fomit-frame-pointer -pthread -o "$T/signals" tests/live/unwind_load.c \
		2>"$T/err" || return 1
	start "$T/signals"
}

load_node() {
	has node || return 1
	cat >"$T/load.js" <<-'END'
		const zlib = require('zlib');
		const fib = n => n < 2 ? n : fib(n - 1) + fib(n - 2);
		function once() {
			fib(20);
			JSON.parse(JSON.stringify({a: [1, 2, 3, {b: 'x'.repeat(100)}]}));
			'abababab'.repeat(50).replace(/(a|b)+/g, m => m.length);
			[...Array(300)].map((_, i) => i * 7 % 13).sort((a, b) => a - b);
			zlib.deflateSync(Buffer.alloc(20000, 'ab'));
			setImmediate(once);
		}
		once();
	END
	start node "$T/load.js"
	let_run "$PID" 100 # during startup, code may be mapped after its maps were read
}

load_java() {
	has java || return 1
	cat >"$T/Load.java" <<-'END'
		import java.util.*;
		public class Load {
			static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
			public static void main(String[] a) {
				for (long k = 0;; k += fib(18)) {
					HashMap<String, Integer> m = new HashMap<>();
					for (int i = 0; i < 500; i++) m.merge("k" + i % 50, 1, Integer::sum);
					k += "aababab".repeat(30).replaceAll("(a|b)+", "x").length();
				}
			}
		}
	END
	start java -XX:+PreserveFramePointer "$T/Load.java"
	sleep 3
}

load_go() {
	has go || return 1
	cat >"$T/load.go" <<-'END'
		package main

		import ("fmt"; "sort")

		func fib(n int) int { if n < 2 { return n }; return fib(n-1) + fib(n-2) }
		func main() {
			for k := 0; ; k++ {
				m := map[string]int{}
				for i := 0; i < 500; i++ { m[fmt.Sprint(i*7)] += fib(8) }
				s := []string{}
				for x := range m { s = append(s, x) }
				sort.Strings(s)
			}
		}
	END
	(cd "$T" && HOME=$T GOFLAGS=-mod=mod GO111MODULE=off go build -o "$T/goload" load.go) \
		>"$T/err" 2>&1 || return 1
	start "$T/goload"
}

# --- one after the other --------------------------------------------------------------------------

# shellcheck disable=SC2086
set -- $LOADS
each=$(((STOPS + $# - 1) / $#))
all=0 same=0 different=0 broken_off=0

# measure LOAD: stops the threads of $PID STOPS / loads times, compares the stacks, and adds to the sums.
measure() {
	local stops equal apart
	timeout $((60 + each / 2)) "$TOOL" -n "$each" -w "${WAIT_US:-1000}" -g "${ASK_GDB:-20}" \
		"$PID" >"$T/one" 2>&1
	{
		echo "--- $1"
		cat "$T/one"
	} | tee -a "$REPORT" >&2
	read -r stops equal apart < <(awk '/^[0-9]+ stops, / { print $1, $3, $(NF - 1) }' "$T/one")
	check "$1 was stopped" test "${stops:-0}" -gt 0
	all=$((all + ${stops:-0})) same=$((same + ${equal:-0})) different=$((different + ${apart:-0}))
	apart=$(awk '/stook stops in .*: stook no_rule/ { n += $1 } END { print n + 0 }' "$T/one")
	broken_off=$((broken_off + apart))
}

for load in $LOADS; do
	before=${#STARTED[@]}
	if "load_$load"; then
		sleep 0.3
		measure "$load"
	else
		skip "$load" "$load and its load generator"
	fi
	stop "${STARTED[@]:before}"
done
note "$all stops, $same the same, $different different, of which $broken_off ended early and were reported as incomplete"
if [ "$all" -eq 0 ]; then
	skip "all" "any of: $LOADS"
	exit 0
fi
# A walk that ends early and reports it (lazy binding, see docs/architecture.md) is not a wrong frame; a run of
# some hundred stops must have no wrong frame.
check "of $all stops, $((different - broken_off)) have other frames: at most 0.1 %" \
	test $(((different - broken_off) * 1000)) -le "$all"
check "of $all stops, $broken_off ended early: at most 1 %" test $((broken_off * 100)) -le "$all"
