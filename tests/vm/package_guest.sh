#!/bin/sh
# The Debian package from installation to purge, in the machine that tests/vm/package boots. Prints on the console, a
# line for each check:  PASS package: NAME  or  FAIL package: NAME: [COMMAND] its last lines
unit=stook-agent.service
store=/var/lib/stook/store
said=/packages/said
export DEBIAN_FRONTEND=noninteractive
export LC_ALL=C

check() { # check NAME COMMAND…
	name=$1
	shift
	if "$@" >$said 2>&1; then
		echo "PASS package: $name"
	else
		echo "FAIL package: $name: [$*] $(tail -n 5 $said | tr '\n' '|')"
	fi
}

is_not() { ! "$@"; }
is_silent() { # is_silent COMMAND…: exits with 0 and says nothing
	words=$("$@" 2>&1) && [ -z "$words" ] && return
	echo "$words"
	return 1
}
has_line() { # has_line REGEX COMMAND…
	regex=$1
	shift
	"$@" >$said.lines 2>&1
	cat $said.lines
	grep -qE "$regex" $said.lines
}
patiently() { # patiently COMMAND…: repeats it for some minutes until it succeeds
	for _ in $(seq 60); do
		"$@" >$said.last 2>&1 && return
		sleep 5
	done
	cat $said.last
	return 1
}
has_samples() { # has_samples COMM SINCE: with the name of the function that runs there
	stook query --store $store --from "$2" --where "comm=$1" -f >$said.lines 2>&1
	cat $said.lines
	grep -q "spin_inner" $said.lines
}
has_no_warnings() { ! journalctl -q -u $unit -p warning -g 'error|cannot|denied|not permitted'; }
has_status() { has_line "^$1" systemctl show --value --property StatusText $unit; }
first_epoch() { stook query --store $store --list --json 2>/dev/null | grep -o -m 1 '"from": [0-9]*'; }
has_no_file() {
	find / -xdev \( -path /packages -o -path /var/log -o -path /var/cache/man -o -path /tmp \) -prune -o -name '*stook*' -print >$said.files
	cat $said.files
	[ ! -s $said.files ]
}
# ask TARGET: prints what the server answers through `stook open`, which has printed http://ADDRESS:PORT/#token=TOKEN
ask() {
	link=$(cat /packages/link)
	at=${link#http://}
	at=${at%%/*}
	# shellcheck disable=SC2016 # expanded by bash
	timeout 60 bash -c 'exec 3<>"/dev/tcp/$1/$2"
		printf "GET %s HTTP/1.0\r\nHost: %s:%s\r\nAuthorization: Bearer %s\r\n\r\n" "$3" "$1" "$2" "$4" >&3
		cat <&3' bash "${at%:*}" "${at#*:}" "$1" "${link#*=}" | tr -d '\r'
}
main_pid() { systemctl show --value --property MainPID $unit; }
apt_install() { apt-get -qq -y --no-install-recommends --allow-downgrades install "$@"; }

echo BOOTED
check "systemd is the first process" [ "$(cat /proc/1/comm)" = systemd ]

# --- install ---

check "install" apt_install /packages/first.deb
check "nothing is started" is_not systemctl is-active $unit
check "nothing is enabled" is_not systemctl is-enabled $unit
check "verify: clean" is_silent systemd-analyze verify $unit
echo "FIGURE exposure $(systemd-analyze security --offline=true /lib/systemd/system/$unit --no-pager | tail -n 1)"
check "manual page" man -w stook-agent
check "completion" test -s /usr/share/bash-completion/completions/stook
check "configuration file" test -s /etc/stook/agent.conf

# --- start and profile ---

check "profile" stook profile -q -d 2 -f
stook doctor >/packages/doctor
check "doctor: the agent can run" has_line '^ok +agent ' grep -A 2 ' agent ' /packages/doctor
check "doctor: systemd" has_line '^ok +service manager ' grep -A 2 ' service manager ' /packages/doctor
for place in /tmp /root; do # the service has a /tmp and no /root of its own
	cp /packages/spin "$place/spin${place##*/}"
	nice -n 19 "$place/spin${place##*/}" 3000 >/dev/null 2>&1 &
done
check "start" systemctl enable --now $unit
check "it runs" systemctl is-active $unit
for comm in spintmp spinroot; do
	check "the store has $comm, with names" patiently has_samples $comm -1h
done
check "the store is for its owner only" [ "$(stat -c %a:%U $store)" = 600:root ]
check "the page is for its owner only" [ "$(stat -c %a:%U /run/stook/stook.sock)" = 600:root ]
stook open >/packages/link 2>/dev/null </dev/null &
opened=$!
check "the page has a link" patiently test -s /packages/link
check "the page: data arrive" patiently has_line '^ok$' ask /healthz
check "the page: a profile" has_line '^spintmp;.*spin_inner' ask '/api/profile?from=-1h&by=comm&format=folded'
kill $opened
touch /run/stook/pause
check "pause by file" patiently has_status paused
systemctl restart $unit
check "pause by file: after a restart, too" patiently has_status paused
rm /run/stook/pause
check "resume" patiently has_status sampling
check "no error is logged" has_no_warnings

# --- update ---

first=$(first_epoch)
pid=$(main_pid)
echo "FIGURE first epoch $first"
echo '# mine' >>/etc/stook/agent.conf
check "update" apt_install /packages/update.deb
updated=$(date +%s)
check "the later version" has_line '^Version: .*\+update$' dpkg -s stook
check "the service runs" systemctl is-active $unit
check "it was restarted" [ "$(main_pid)" != "$pid" ]
check "the store is the same" [ "${first:-none}" = "$(first_epoch)" ]
check "the configuration is the same" grep -q '^# mine$' /etc/stook/agent.conf
check "it goes on" patiently has_samples spintmp "@$updated"

# --- remove ---

check "remove" apt-get -qq -y remove stook
check "removed: the program" is_not test -e /usr/bin/stook
check "removed: the service has ended" is_not systemctl is-active $unit
check "removed: no process" is_not pidof stook
check "kept: the store" test -s $store
check "kept: the configuration" grep -q '^# mine$' /etc/stook/agent.conf
check "install again" apt_install /packages/update.deb
check "the store is still the same" [ "${first:-none}" = "$(first_epoch)" ]
check "start again" systemctl start $unit

# --- purge ---

check "purge" apt-get -qq -y purge stook
check "purged: the service has ended" is_not systemctl is-active $unit
check "purged: no file" has_no_file
check "purged: systemd knows nothing of it" is_not systemctl list-unit-files 'stook*'
check "nothing has failed" is_silent systemctl --no-legend --plain --failed

echo END
systemctl poweroff
