#!/usr/bin/env bash
# stook serve, and stook open, on a store that store_cost writes: who may look, over a socket and over TCP; what other programs get (pprof,
# Prometheus); malformed requests, slow clients, many connections.
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"
tools=build/tests/tools
[ -x $tools/store_cost ] || { skip "all" "build/tests/tools/store_cost"; exit 0; }
for needed in curl python3; do
	command -v $needed >/dev/null || { skip "all" "$needed"; exit 0; }
done
export TZ=UTC LC_ALL=C.UTF-8

store="$T/store"
script='<script>alert(1)</script>'
printf '%s\n' 'redis;main;libc.so!read;sys_read_[k] 3' "$script;main;$script 5" 'nginx;main;serve 2' >"$T/in.stacks"
$tools/make_pprof --all <"$T/in.stacks" >"$T/in.pb.gz"
# 12 minutes of epochs of 10 s, until soon: making them takes a while.
begin=$(($(date +%s) - 700))
times="from=@$begin&to=@$((begin + 720))"
$tools/store_cost -k 72 -b $begin "$store" "$T/in.pb.gz" || fail "store" "cannot be made"

# serve ARG…: starts a server; its pid is in $SERVER.
serve() {
	rm -f "$T/err" # an earlier server's message
	"$STOOK" serve --store "$store" "$@" 2>"$T/err" </dev/null &
	SERVER=$!
	STARTED+=("$SERVER")
	wait_until 20 grep -qs '^stook: serving' "$T/err"
}
end_server() { kill "$SERVER"; wait "$SERVER" 2>/dev/null || :; }
get() { curl -sS -m 20 --unix-socket "$T/s" "$@" 2>&1; }
status() { curl -s -m 20 -o /dev/null -w '%{http_code}' "$@"; }

# --- the socket ----------------------------------------------------------------------------------------

serve --listen "unix:$T/s"
check_equal "the socket is for this user" "$(stat -c %a "$T/s")" 600
check_equal "health" "$(get http://localhost/healthz)" ok
check_equal "a profile" "$(get "http://localhost/api/profile?$times&format=folded&value=samples&where=comm=redis")" \
	"redis;main;read;sys_read 216"
check_equal "a series" "$(get "http://localhost/api/series?$times&by=comm&value=samples&top=2" |
	python3 -c 'import json,sys; j=json.load(sys.stdin)
print(j["step"], [[s["name"], s["total"]] for s in j["series"]], sum(j["rest"]))')" \
	"10.0 [['$script', 360], ['redis', 216]] 144"
check_equal "labels are those of query --list" \
	"$(get "http://localhost/api/labels?$times" | grep -v '^"from\|^"to')" \
	"$("$STOOK" query -q --store "$store" --from @$begin --to @$((begin + 720)) --list --json | grep -v '^"from\|^"to')"
check_equal "a difference" "$(get 'http://localhost/api/diff?from=-5m&format=json&value=samples' |
	python3 -c 'import json,sys; j=json.load(sys.stdin); print([r["name"] for r in j["rows"] if r["self"]["kind"]])')" "[]"
check "the policy" grep -qi "^content-security-policy: default-src 'none'; script-src 'self'" <(get -I http://localhost/)
# curl reads no body after HEAD.
check_equal "HEAD has the length of GET, and no body" "$(python3 - "$T/s" "$times" <<'PYTHON'
import socket, sys
def ask(method, path):
	with socket.socket(socket.AF_UNIX) as s:
		s.settimeout(20)
		s.connect(sys.argv[1])
		s.sendall(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
		head, body = b"".join(iter(lambda: s.recv(65536), b"")).decode().split("\r\n\r\n", 1)
		return [line for line in head.split("\r\n") if not line.startswith("Date:")], body
for path in "/", "/stook.css", "/healthz", "/none", f"/api/profile?{sys.argv[2]}&format=folded":
	head, body = ask("HEAD", path)
	if body or sorted(head) != sorted(ask("GET", path)[0]):
		print(path, head, len(body))
PYTHON
)" ""
# Five days, and from the fourth on a function takes more time; all times are questions of the description's JSON.
if python3 -c 'import yaml' 2>/dev/null; then
	printf '%s\n' 'redis;main;get 30' 'redis;main;set 30' 'redis;main;del 40' | $tools/make_pprof --all >"$T/grows.pb.gz"
	$tools/store_cost -d 5 -e 1800 -n 1000 -c 0 -g set:3:60 "$T/grows" "$T/grows.pb.gz" >/dev/null
	"$STOOK" serve --store "$T/grows" --listen "unix:$T/g" 2>/dev/null </dev/null &
	GROWS=$!
	STARTED+=("$GROWS")
	wait_until 20 [ -S "$T/g" ]
	days='from=@1700000000&to=@1700440000'
	check "a regression" grep -q '"name": "set"' <(curl -s -m 20 --unix-socket "$T/g" "http://localhost/api/regressions?$days")
	check_equal "docs/api.yaml is what the server does" "$(python3 tests/replay/check_api.py src/serve/api.c "$T/g" \
		/api/store "/api/labels?$days" "/api/series?$days&by=comm" "/api/series?$days&by=category" "/api/regressions?$days" \
		/api/regressions '/api/profile?from=@0' '/api/profile?from=@0&format=svg' '/api/profile?from=@0&format=csv' \
		'/api/diff?from=@1700220000&to=@1700440000' / /stook.js /stook.css /debug/pprof/ '/debug/pprof/profile?seconds=3600' \
		/metrics /healthz 2>&1)" ""
	kill "$GROWS"
else
	skip "docs/api.yaml" "python3-yaml"
fi
# As socat does when its input ends. The request and the end arrive together, or nearly.
check_equal "clients that close their half" "$(python3 - "$T/s" <<'PYTHON'
import socket, sys
for i in range(10):
	with socket.socket(socket.AF_UNIX) as s:
		s.connect(sys.argv[1])
		s.sendall(b"GET /api/store HTTP/1.0\r\nHost: localhost\r\n\r\n")
		s.shutdown(socket.SHUT_WR)
		answer = s.recv(12)
		if answer != b"HTTP/1.0 200":
			print(answer)
PYTHON
)" ""
check_equal "other methods" "$(status --unix-socket "$T/s" -X DELETE http://localhost/api/profile)" 501
check_equal "a body" "$(status --unix-socket "$T/s" -d x http://localhost/api/profile)" 413
check_equal "another name" "$(status --unix-socket "$T/s" http://evil.example/)" 421
check_equal "another site" "$(status --unix-socket "$T/s" -H 'Sec-Fetch-Site: cross-site' http://localhost/api/store)" 403
check_equal "no file" "$(status --unix-socket "$T/s" --path-as-is http://localhost/../../etc/passwd)" 404
if [ "$(id -u)" -eq 0 ]; then
	chmod 755 "$T"
	check_equal "stook open without a folder for sockets" \
		"$(env -u XDG_RUNTIME_DIR setpriv --reuid 65534 --clear-groups "$STOOK" open 2>&1 </dev/null)" \
		'stook: there is no folder for a socket: no XDG_RUNTIME_DIR
  hint: --socket FILE'
	check_equal "another user" "$(setpriv --reuid 65534 --clear-groups curl -s -m 5 --unix-socket "$T/s" \
		http://localhost/healthz; echo $?)" 7
	pid=$(pgrep -P "$SERVER")
	check_equal "the server has no capability" "$(sed -n 's/^CapEff:\t*//p' "/proc/$pid/status")" 0000000000000000
	check_equal "nor new privileges" "$(sed -n 's/^NoNewPrivs:\t*//p' "/proc/$pid/status")" 1
	check_equal "nor all system calls" "$(sed -n 's/^Seccomp:\t*//p' "/proc/$pid/status")" 2
else
	skip "another user" "root"
fi
"$STOOK" open --socket "$T/s" >"$T/link" 2>/dev/null </dev/null &
OPENED=$!
STARTED+=("$OPENED")
wait_until 20 [ -s "$T/link" ]
link=$(cat "$T/link")
check_equal "stook open needs its token" "$(status "${link%%#*}healthz")" 401
check_equal "stook open passes requests on" "$(curl -s -H "Authorization: Bearer ${link#*=}" "${link%%#*}healthz")" ok
check_equal "stook open passes answers on" "$(curl -sD - -H "Authorization: Bearer ${link#*=}" \
	"${link%%#*}api/profile?$times&format=folded&value=samples&where=comm=redis" | tr -d '\r' | grep -E '^(Content-[DT]|redis)')" \
	'Content-Type: text/plain; charset=utf-8
Content-Disposition: attachment; filename="stook.folded"
redis;main;read;sys_read 216'
open_get() { curl -s -m 20 -H "Authorization: Bearer ${link#*=}" "${link%%#*}$1"; }
check "stook open serves the page" grep -q '<script src="/stook.js">' <(open_get '')
check "stook open passes downloads on" grep -q '<!doctype html>' <(open_get "api/profile?$times&format=html")
check_equal "stook open passes pprof on" "$(open_get 'debug/pprof/profile?seconds=60' | gzip -dc 2>/dev/null | grep -ac redis)" 1
check_equal "stook open passes errors on" "$(open_get 'api/profile?from=x' | cut -c 1-23)" "{\"error\": \"bad value 'x"
if [ "$(id -u)" -eq 0 ]; then
	# The process at the other end of a connection, which has sent nothing yet.
	cat >"$T/who.py" <<'PYTHON'
import glob, os, re, socket, sys, time
port = int(sys.argv[1])
s = socket.create_connection(("127.0.0.1", port), 10)
s.sendall(b"GET /hea")
time.sleep(0.5)
rows = [line.split() for line in open("/proc/net/tcp")]
wanted = f"socket:[{next(row[9] for row in rows if row[1].endswith(':%04X' % port) and row[2].endswith(':%04X' % s.getsockname()[1]))}]"
for link in glob.glob("/proc/[0-9]*/fd/*"):
	try:
		if os.readlink(link) == wanted:
			status = open("/proc/%s/status" % link.split("/")[2]).read()
			values = dict(re.findall(r"^(\w+):\s*(.*)", status, re.M))
			print(*[key + " " + values[key] for key in ("CapEff", "CapPrm", "NoNewPrivs", "Seccomp")],
				"root" if "0" in values["Uid"].split() else "another user")
	except OSError:
		pass
PYTHON
	check_equal "stook open parses requests without rights" "$(python3 "$T/who.py" "$(sed 's/.*:\([0-9]*\)\/.*/\1/' <<<"$link")")" \
		'CapEff 0000000000000000 CapPrm 0000000000000000 NoNewPrivs 1 Seccomp 2 another user'
fi
gone() { ! kill -0 "$1" 2>/dev/null; }
relaying=$(pgrep -P "$OPENED")
kill "$OPENED"
wait "$OPENED" 2>/dev/null
check "the relay ends with stook open" wait_until 10 gone "${relaying:-0}"
mv "$store" "$T/moved"
check_equal "a store that is gone" "$(get http://localhost/healthz)" \
	"cannot open store '$store': No such file or directory"
mkfifo "$store"
check_equal "a pipe in its place is no store, and nothing waits for it" "$(get -o /dev/null -w '%{http_code}' http://localhost/healthz)" 503
rm "$store"
ln -s "$T/moved" "$store"
check_equal "a link in its place is not followed" "$(get -o /dev/null -w '%{http_code}' http://localhost/healthz)" 503
rm "$store"
mv "$T/moved" "$store"
check_equal "and is back" "$(get http://localhost/healthz)" ok
end_server
check "the socket is removed" [ ! -e "$T/s" ]

# What daemonset.yaml asks whether the agent is ready: this store is, and an older one is not.
read -ra probe < <(sed -n 's/.*exec: {command: \[[^,]*, \(.*\)\]}.*/\1/p' packaging/daemonset.yaml | tr -d ,)
$tools/store_cost -k 72 -b $((begin - 7200)) "$T/old" "$T/in.pb.gz"
check "the probe of daemonset.yaml" test -n "${probe[*]}"
is_ready() { "$STOOK" "${probe[@]/--store=*/--store=$1}" >/dev/null 2>&1; }
is_not_ready() { ! is_ready "$1"; }
check "the probe: ready" is_ready "$store"
check "the probe: not ready" is_not_ready "$T/old"

# --- TCP -----------------------------------------------------------------------------------------------

check_equal "TCP needs a token" "$("$STOOK" serve --store "$store" --listen 127.0.0.1:0 2>&1; echo $?)" \
	"stook: --listen 127.0.0.1:0 needs a token: --token-file FILE
  hint: every local user can connect to it; with unix:PATH, only this one can
2"
token=0123456789abcdef0123
echo $token >"$T/token"
chmod 644 "$T/token"
check_equal "the token is nobody else's" \
	"$("$STOOK" serve --store "$store" --listen 127.0.0.1:0 --token-file "$T/token" 2>&1 | head -n 1)" \
	"stook: token file '$T/token' is open to other users"
chmod 600 "$T/token"
serve --listen 127.0.0.1:0 --token-file "$T/token"
url=$(sed -n 's/.* at \(http.*\)\/$/\1/p' "$T/err")
bearer="Authorization: Bearer $token"
for path in /api/store /api/series /api/profile /metrics /healthz /debug/pprof/profile /none; do
	[ "$(status "$url$path")" = 401 ] || fail "TCP without a token: $path" "$(status "$url$path")"
done
pass "TCP without a token"
check_equal "the page has no data" "$(status "$url/")" 200
check_equal "a wrong token" "$(status -H "${bearer}x" "$url/api/store")" 401
check_equal "the token" "$(status -H "$bearer" "$url/api/store")" 200
check_equal "a link" "$(curl -s -o /dev/null -c "$T/cookies" -w '%{http_code} %{redirect_url}' "$url/?token=$token")" "303 $url/"
check_equal "the cookie" "$(status -b "$T/cookies" "$url/api/store")" 200
check "is not the token" grep -qv $token "$T/cookies"
check "and not for scripts" grep -q '^#HttpOnly_127.0.0.1' "$T/cookies"
check_equal "the cookie from another site" "$(status -b "$T/cookies" -H 'Sec-Fetch-Site: same-site' "$url/api/store")" 403
check_equal "DNS rebinding" "$(status -H "$bearer" -H 'Host: evil.example' "$url/api/store")" 421

# --- a proxy -------------------------------------------------------------------------------------------

# The block of stook-serve(1), with other ports and files.
if command -v nginx >/dev/null && command -v openssl >/dev/null; then
	openssl req -x509 -newkey rsa:2048 -nodes -keyout "$T/key" -out "$T/cert" -days 2 -subj /CN=profiles.example.org 2>/dev/null
	tls=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	mkdir "$T/nginx"
	cat >"$T/nginx/conf" <<-CONF
	daemon off;
	pid $T/nginx/pid;
	error_log $T/nginx/error;
	events {}
	http {
		access_log off;
		client_body_temp_path $T/nginx/body;
		proxy_temp_path $T/nginx/proxy;
		fastcgi_temp_path $T/nginx/fastcgi;
		uwsgi_temp_path $T/nginx/uwsgi;
		scgi_temp_path $T/nginx/scgi;
		$(sed -n '/^server {/,/^}/p' docs/stook-serve.1 |
			sed "s,listen 443,listen 127.0.0.1:$tls,; s,/etc/ssl/certs/[^;]*,$T/cert,; s,/etc/ssl/private/[^;]*,$T/key,; s,127.0.0.1:8080,${url#*//},")
	}
	CONF
	nginx -e "$T/nginx/error" -p "$T/nginx" -c "$T/nginx/conf" 2>"$T/nginx/said" </dev/null &
	NGINX=$!
	STARTED+=("$NGINX")
	proxy() { curl -s -m 20 --cacert "$T/cert" --resolve "profiles.example.org:$tls:127.0.0.1" "$@"; }
	proxied=https://profiles.example.org:$tls
	answers() { [ -n "$(proxy -o /dev/null -w '%{http_code}' "$proxied/" | tr -d 0)" ]; }
	check "nginx: the configuration of stook-serve(1)" wait_until 20 answers
	check_equal "nginx: the page" "$(proxy -o /dev/null -w '%{http_code}' "$proxied/")" 200
	check_equal "nginx: data need the token" "$(proxy -o /dev/null -w '%{http_code}' "$proxied/api/store")" 401
	check_equal "nginx: the token" "$(proxy -H "$bearer" "$proxied/healthz")" ok
	proxy -c "$T/tls_cookies" -H "$bearer" "$proxied/api/session"
	check "nginx: the cookie is for TLS only" grep -qE '^#HttpOnly_profiles.example.org.*TRUE.*stook-' "$T/tls_cookies"
	check_equal "nginx: the cookie" "$(proxy -b "$T/tls_cookies" -H 'Sec-Fetch-Site: same-origin' "$proxied/healthz")" ok
	check_equal "nginx: another site" "$(proxy -b "$T/tls_cookies" -H 'Sec-Fetch-Site: cross-site' -o /dev/null -w '%{http_code}' "$proxied/healthz")" 403
	kill "$NGINX"
else
	skip "nginx" "nginx and openssl"
fi

# --- other programs ------------------------------------------------------------------------------------

if command -v go >/dev/null; then
	check "go tool pprof" grep -q 'cpu.*redis\|main' <(PPROF_TMPDIR="$T" HOME="$T" go tool pprof -top -sample_index=samples \
		"$url/debug/pprof/profile?seconds=60&token=$token" 2>&1)
else
	skip "go tool pprof" "go"
fi
if command -v promtool >/dev/null; then
	check_equal "promtool" "$(curl -s -H "$bearer" "$url/metrics" | promtool check metrics 2>&1)" ""
else
	skip "promtool" "promtool"
fi

# --- attacks -------------------------------------------------------------------------------------------

server=$(pgrep -P "$SERVER")
memory() { awk '/^VmHWM/ { print int($2 / 1024) }' "/proc/$server/status"; }
check_equal "malformed requests, slow clients, many connections" \
	"$(python3 tests/tools/attack_server.py "${url##*:}" "$token")" "HTTP/1.1 200 in time"
check "memory is bounded: $(memory) MB" [ "$(memory)" -lt 64 ]
check "it is the same process" [ "$server" = "$(pgrep -P "$SERVER")" ]
for _ in 1 2 3 4 5 6; do
	curl -s -m 30 -o /dev/null -H "$bearer" "$url/api/profile?from=@0&format=html" &
	wait_for+=($!)
done
wait "${wait_for[@]}"
check_equal "questions over everything" "$(status -H "$bearer" "$url/healthz" | sed 's/503/200/')" 200

# --- Prometheus ------------------------------------------------------------------------------------------

if command -v prometheus >/dev/null; then
	port=$(free_port)
	cat >"$T/prometheus.yml" <<-END
		global: { scrape_interval: 1s }
		scrape_configs:
		- job_name: stook
		  authorization: { credentials_file: $T/token }
		  static_configs: [ { targets: [ "${url#http://}" ] } ]
	END
	prometheus --config.file="$T/prometheus.yml" --storage.tsdb.path="$T/prometheus" --web.listen-address="127.0.0.1:$port" \
		>"$T/prometheus.log" 2>&1 </dev/null &
	PROMETHEUS=$!
	STARTED+=("$PROMETHEUS")
	# scraped METRIC: prints the value that Prometheus has of it.
	scraped() {
		curl -s -m 10 -G --data-urlencode "query=$1" "http://127.0.0.1:$port/api/v1/query" |
			python3 -c 'import json,sys; print(*(r["value"][1] for r in json.load(sys.stdin)["data"]["result"]))' 2>/dev/null
	}
	is_scraped() { [ "$(scraped up)" = 1 ] && [ "$(scraped 'stook_store_blocks{length="epoch"}')" = 72 ]; }
	check "Prometheus scrapes it" wait_until 40 is_scraped
	check_equal "Prometheus has no warning about it" "$(grep -c 'level=\(warn\|error\)' "$T/prometheus.log")" 0
	kill "$PROMETHEUS"
	wait "$PROMETHEUS" 2>/dev/null
else
	skip "Prometheus" "prometheus"
fi
end_server
