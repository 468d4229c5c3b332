#!/usr/bin/env bash
# The packages: what they need to be built; `make deb`, its files, and lintian without a complaint; the files of `make
# rpm`. tests/vm/package installs the Debian package.
set -u
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

check() { # check NAME COMMAND…
	local name=$1
	shift
	if "$@" >"$work/said" 2>&1; then
		echo "PASS package: $name"
	else
		echo "FAIL package: $name: [$*] $(tail -n 3 "$work/said" | tr '\n' '|')"
	fi
}

has() { grep -qE "$1" "$2"; }
has_not() { ! has "$@"; }
build_id() { readelf --notes "$1" 2>/dev/null | sed -n 's/.*Build ID: //p'; }
# lacks TOOL…: true, with a line on stdout, if one of them is missing.
lacks() { # lacks PACKAGE TOOL…
	local package=$1 tool
	shift
	for tool; do
		command -v "$tool" >/dev/null && continue
		echo "SKIP package: $package: needs $tool (tools/install-deps package)"
		return 0
	done
	return 1
}

# --- build dependencies ----------------------------------------------------------------------------

# Prints packages of the rows `build` of tools/install-deps, without the ones that each distribution's builder has, and
# those that only the static program needs.
needed() { # needed COLUMN
	awk -v column="$1" '$1 == "build" && $2 != "|" && $column != "-" { gsub(",", "\n", $column); print $column }' tools/install-deps |
		grep -vxE 'gcc|make|libc6-dev|glibc-devel|libzstd-dev(el)?|libbz2-dev|bzip2-devel' | sort
}
named() { sed -E 's/ \(.*\)|,$//g; s/^ +//' | grep -vxE 'gcc|make|debhelper-compat|systemd-rpm-macros' | sort; }
check "deb: build dependencies are those of tools/install-deps" diff <(needed 3) \
	<(sed -n '/^Build-Depends:/,/^[A-Z]/{/^ /p}' debian/control | named)
check "rpm: build dependencies are those of tools/install-deps" diff <(needed 4) \
	<(sed -n 's/^BuildRequires: *//p' packaging/stook.spec | named)

# --- deb -------------------------------------------------------------------------------------------

if ! lacks deb dpkg-buildpackage dh lintian; then
	check "deb: is built, lintian has no complaint" tools/package deb
	tail -n 20 "$work/said" >&2
	deb=$(ls build/deb/stook_*.deb) debug=$(ls build/deb/stook-dbgsym_*.deb)
	dpkg-deb --extract "$deb" "$work/root" && dpkg-deb --control "$deb" "$work/control"
	dpkg-deb --extract "$debug" "$work/debug"
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
fi

# --- rpm -------------------------------------------------------------------------------------------

if ! lacks rpm rpmbuild rpm; then
	check "rpm: is built" tools/package rpm
	tail -n 20 "$work/said" >&2
	rpm=$(ls build/rpm/RPMS/*/stook-[0-9]*.rpm)
	rpm -qlp "$rpm" >"$work/files" 2>/dev/null
	# Debian's rpmbuild does not compress manual pages.
	for file in usr/bin/stook usr/lib/systemd/system/stook-agent.service 'usr/share/man/man1/stook-agent.1(.gz)?' \
		etc/stook/agent.conf usr/share/bash-completion/completions/stook usr/share/zsh/site-functions/_stook \
		usr/share/fish/vendor_completions.d/stook.fish; do
		check "rpm: $file" has "^/$file$" "$work/files"
	done
	check_same() { [ "$1" = "$2" ]; }
	check "rpm: a configuration file" check_same "$(rpm -qcp "$rpm" 2>/dev/null)" /etc/stook/agent.conf
	check "rpm: nothing elsewhere" has_not '^/(var|home|opt|root|tmp)' "$work/files"
fi
