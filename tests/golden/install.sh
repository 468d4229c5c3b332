#!/usr/bin/env bash
# `make install`: the installed files, the stripped program, and its debug file where debuggers look for it.
# The static program is tested too, if it is built and up to date. Versions, capabilities and settings that stand in
# several of the files for packages are the same.
set -u
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

check() { # check NAME COMMAND…
	local name=$1
	shift
	if "$@" >"$work/said" 2>&1; then
		echo "PASS install: $name"
	else
		echo "FAIL install: $name: [$*] $(head -n 1 "$work/said")"
	fi
}

has_section() { readelf --sections --wide "$1" | grep -q " \\$2 "; }
has_no_section() { ! has_section "$@"; }
build_id() { readelf --notes "$1" 2>/dev/null | sed -n 's/.*Build ID: //p'; }
is_same() { [ "$1" ] && [ "$1" = "$2" ]; }
is_without() { ! grep -q "$1" "$2"; }
is_smaller() { [ $(($(stat -c %s "$1") * 4)) -le $(($(stat -c %s "$2") * 3)) ]; }

# The name and the checksum in .gnu_debuglink are those of the debug file.
is_linked() { # is_linked PROGRAM DEBUG
	objcopy -O binary --only-section=.gnu_debuglink --set-section-flags .gnu_debuglink=alloc "$1" "$work/link" &&
		python3 - "$2" "$work/link" <<-'PYTHON'
		import os, struct, sys, zlib
		debug, link = sys.argv[1], open(sys.argv[2], "rb").read()
		name = link.split(b"\0")[0].decode()
		crc = struct.unpack("<I", link[-4:])[0]
		sys.exit((name, crc) != (os.path.basename(debug), zlib.crc32(open(debug, "rb").read())))
		PYTHON
}

install_and_check() { # install_and_check NAME BUILT [STATIC=1]
	local name=$1 built=$2 at=$work/$1 program debug file
	shift 2
	make -s "$@" install DESTDIR="$at" PREFIX=/opt/stook >&2 || echo "FAIL install: $name: make install"
	program=$at/opt/stook/bin/stook
	debug=$at/opt/stook/bin/.debug/stook.debug
	check "$name: the program runs" "$program" --version
	check "$name: without symbols" has_no_section "$program" .symtab
	check "$name: without debug information" has_no_section "$program" .debug_info
	check "$name: a quarter smaller, or more" is_smaller "$program" "$built"
	check "$name: the debug file has symbols" has_section "$debug" .symtab
	check "$name: the debug file has lines" has_section "$debug" .debug_line
	check "$name: the debug file belongs to it" is_same "$(build_id "$program")" "$(build_id "$debug")"
	if command -v python3 >/dev/null; then
		check "$name: and is linked to" is_linked "$program" "$debug"
	else
		echo "SKIP install: $name: the link to the debug file: needs python3"
	fi
	if command -v gdb >/dev/null; then
		gdb -nx -batch -ex 'info line main' "$program" >"$work/gdb" 2>&1
		check "$name: gdb finds it" grep -q 'Line [0-9]* of "src/cmd/main.c"' "$work/gdb"
	else
		echo "SKIP install: $name: gdb finds the debug file: needs gdb"
	fi
	check "$name: hardened as it was built" tools/check-hardening "${built%/*}/install/stook"
	check "$name: is the one that was looked at" cmp "${built%/*}/install/stook" "$program"
	for file in docs/*.1; do
		check "$name: $file" cmp "$file" "$at/opt/stook/share/man/man1/${file##*/}"
	done
	for file in bash-completion/completions/stook zsh/site-functions/_stook fish/vendor_completions.d/stook.fish; do
		check "$name: $file" test -s "$at/opt/stook/share/$file"
	done
	check "$name: the service runs it" grep -q "^ExecStart=/opt/stook/bin/stook agent " \
		"$at/opt/stook/lib/systemd/system/stook-agent.service"
	check "$name: the service reads the configuration" grep -q -e " --config /opt/stook/etc/stook/agent.conf " \
		"$at/opt/stook/lib/systemd/system/stook-agent.service"
	check "$name: the configuration file" cmp packaging/agent.conf "$at/opt/stook/etc/stook/agent.conf"
	check "$name: nothing outside of PREFIX" is_same "$(ls "$at") $(ls "$at/opt")" "opt stook"
}

install_and_check dynamic build/stook
if make -q STATIC=1 build/static/stook 2>/dev/null; then
	install_and_check static build/static/stook STATIC=1
else
	echo "SKIP install: static: needs build/static/stook as make static makes it now"
fi

# For package builders: the whole program, units where the distribution has them.
at=$work/whole
make -s NOSTRIP=1 install DESTDIR="$at" PREFIX=/usr UNITDIR=/lib/systemd/system >&2 || echo "FAIL install: NOSTRIP=1"
check "NOSTRIP=1: the program is whole" cmp build/stook "$at/usr/bin/stook"
check "NOSTRIP=1: no debug file" is_same "$(ls -A "$at/usr/bin")" stook
check "UNITDIR: the service is there, and runs it" grep -q "^ExecStart=/usr/bin/stook agent " \
	"$at/lib/systemd/system/stook-agent.service"
echo mine >"$at/etc/stook/agent.conf"
make -s NOSTRIP=1 install DESTDIR="$at" PREFIX=/usr >&2 || echo "FAIL install: NOSTRIP=1, again"
check "a changed configuration file stays" is_same "$(cat "$at/etc/stook/agent.conf")" mine

version=$(sed -n 's/^VERSION := //p' Makefile)
check "version: debian/changelog" is_same "$(sed -n '1s/.*(\(.*\)).*/\1/p' debian/changelog)" "$version"
check "version: stook.spec" is_same "$(sed -n 's/^Version: *//p' packaging/stook.spec)" "$version"
check "version: daemonset.yaml" is_same "$(sed -n 's/.*image: stook://p' packaging/daemonset.yaml)" "$version"

sorted() { grep -oE '[A-Z][A-Z_]+' | sed 's/^CAP_//' | sort | tr '\n' ' '; }
capabilities=$(sed -n 's/^CapabilityBoundingSet=//p' systemd/stook-agent.service | sorted)
check "capabilities: daemonset.yaml" is_same \
	"$(sed -n '/^ *add:/,/^ *resources:/s/^ *- \([A-Z_]*\).*/\1/p' packaging/daemonset.yaml | sorted)" "$capabilities"
check "capabilities: Containerfile" is_same \
	"$(grep -o -e '--cap-add [A-Z_,]*' packaging/Containerfile | sorted)" "$capabilities"

# agent.conf shows options of the agent with their defaults.
build/stook agent --help | tr -s ' \n' ' ' >"$work/help"
sed -n 's/^# \([a-z-]*\) = \(.*\)/\1 \2/p' packaging/agent.conf >"$work/settings"
while read -r key value; do
	check "agent.conf: $key" grep -qE -e "--$key [A-Z]+ [^(]*\(default $value\)" "$work/help"
done <"$work/settings"
check "agent.conf: has settings" test -s "$work/settings"

if command -v systemd-analyze >/dev/null; then
	check "the service is confined: systemd-analyze security" \
		systemd-analyze security --offline=true --threshold=35 --no-pager systemd/stook-agent.service
	# The drop-ins that stook-agent(1) shows, in place: other paths than that of the program are the packages'.
	drop_in() { # drop_in NAME SECTION LINE-THAT-IT-HAS
		local unit=$work/$1/stook-agent.service
		mkdir -p "$unit.d"
		sed 's,^ExecStart=[^ ]*,ExecStart=/bin/true,' systemd/stook-agent.service >"$unit"
		sed -n "/^\.Sh $2/,/^\.Sh [^${2:0:1}]/{/^\[Service\]/,/^\.Ed/p}" docs/stook-agent.1 | grep -v '^\.' \
			>"$unit.d/override.conf"
		check "the drop-in for $1: is there" grep -qx "$3" "$unit.d/override.conf"
		systemd-analyze verify --man=no "$unit" >"$work/verified" 2>&1
		check "the drop-in for $1: systemd-analyze verify" is_without stook "$work/verified"
		check "the drop-in for $1: the service is confined" systemd-analyze security --offline=true --threshold=45 \
			--no-pager "$unit"
	}
	drop_in TCP "SERVING A PORT" 'RestrictAddressFamilies=AF_INET AF_INET6'
	drop_in debuginfod "DEBUG FILES FROM A SERVER" 'CapabilityBoundingSet=CAP_CHOWN'
else
	echo "SKIP install: the service is confined: needs systemd-analyze"
fi
if command -v promtool >/dev/null; then
	echo token >"$work/token"
	sed -n '/^scrape_configs:/,/^\.Ed/p' docs/stook-agent.1 | grep -v '^\.' |
		sed "s,/etc/prometheus/stook.token,$work/token," >"$work/prometheus.yml"
	check "stook-agent(1): what Prometheus needs" promtool check config "$work/prometheus.yml"
else
	echo "SKIP install: stook-agent(1): what Prometheus needs: needs promtool"
fi
if python3 -c 'import yaml' 2>/dev/null; then
	sed 's/#port //' packaging/daemonset.yaml >"$work/with_port.yaml"
	check "daemonset.yaml: also if it serves a port" grep -q 'secretName: stook' "$work/with_port.yaml"
	for file in packaging/daemonset.yaml "$work/with_port.yaml"; do
		check "${file##*/} is YAML, without a key twice" python3 - "$file" <<-'PYTHON'
		import sys, yaml
		class Loader(yaml.SafeLoader):
		    def construct_mapping(self, node, deep=False):
		        keys = [key.value for key, _ in node.value]
		        assert len(keys) == len(set(keys)), keys
		        return super().construct_mapping(node, deep)
		kinds = [part["kind"] for part in yaml.load_all(open(sys.argv[1]), Loader)]
		sys.exit(kinds != ["Namespace", "DaemonSet"])
		PYTHON
	done
else
	echo "SKIP install: daemonset.yaml: needs python3-yaml"
fi
