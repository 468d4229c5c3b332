#!/usr/bin/env bash
# `make deb`: the packages, their files, and lintian without a complaint. tests/vm/package installs them.
set -u
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

for tool in dpkg-buildpackage dh lintian; do
	if ! command -v $tool >/dev/null; then
		echo "SKIP package: deb: needs $tool (tools/install-deps package)"
		exit 0
	fi
done

check() { # check NAME COMMAND…
	local name=$1
	shift
	if "$@" >"$work/said" 2>&1; then
		echo "PASS package: $name"
	else
		echo "FAIL package: $name: [$*] $(tail -n 3 "$work/said" | tr '\n' '|')"
	fi
}

check "deb: is built, lintian has no complaint" tools/package deb
tail -n 20 "$work/said" >&2
deb=$(ls build/deb/stook_*.deb) debug=$(ls build/deb/stook-dbgsym_*.deb)
dpkg-deb --extract "$deb" "$work/root" && dpkg-deb --control "$deb" "$work/control"
dpkg-deb --extract "$debug" "$work/debug"
has() { grep -qE "$1" "$2"; }
has_not() { ! has "$@"; }
build_id() { readelf --notes "$1" 2>/dev/null | sed -n 's/.*Build ID: //p'; }

check "deb: the program runs" "$work/root/usr/bin/stook" --version
check "deb: it is hardened" tools/check-hardening "$work/root/usr/bin/stook"
for file in lib/systemd/system/stook-agent.service usr/share/man/man1/stook-agent.1.gz \
	usr/share/bash-completion/completions/stook usr/share/zsh/vendor-completions/_stook \
	usr/share/fish/vendor_completions.d/stook.fish usr/share/doc/stook/copyright; do
	check "deb: $file" test -s "$work/root/$file"
done
check "deb: a configuration file" has '^/etc/stook/agent.conf$' "$work/control/conffiles"
check "deb: depends on libraries" has '^Depends: .*libbpf1.*libdw1' "$work/control/control"
check "deb: an update restarts the service" has 'try-restart.*stook-agent' "$work/control/postinst"
check "deb: removal stops the service" has 'deb-systemd-invoke stop .*stook-agent' "$work/control/prerm"
check "deb: installation does not start it" has_not 'invoke (re)?start|action=start' "$work/control/postinst"
id=$(build_id "$work/root/usr/bin/stook")
check "debug package: is of the program" test -s "$work/debug/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug"
