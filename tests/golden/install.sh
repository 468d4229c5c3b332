#!/usr/bin/env bash
# `make install`: the installed files, the stripped program, and its debug file where debuggers look for it.
# The static program is tested too, if it is built and up to date.
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
	check "$name: nothing outside of PREFIX" is_same "$(ls "$at") $(ls "$at/opt")" "opt stook"
}

install_and_check dynamic build/stook
if make -q STATIC=1 build/static/stook 2>/dev/null; then
	install_and_check static build/static/stook STATIC=1
else
	echo "SKIP install: static: needs build/static/stook as make static makes it now"
fi
