#!/usr/bin/env bash
# The scripts of `stook completion`, in their shells: keys are typed into a bash and a zsh on a terminal, fish
# prints its completions. Every completion that is offered is accepted by the commands.
set -u
cd "$(dirname "$0")/../.." || exit 1
stook=$PWD/build/stook
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir "$work/folder"
: >"$work/folder/raw.pb.gz"

pass() { echo "PASS completion: $1"; }
check_equal() { # check_equal NAME GOT WANTED
	if [ "$2" = "$3" ]; then pass "$1"; else echo "FAIL completion: $1: got '$2', want '$3'"; fi
}
has() { command -v "$1" >/dev/null; }

for shell in bash zsh fish; do
	"$stook" completion $shell >"$work/$shell" || echo "FAIL completion: no script for $shell"
	if ! has $shell; then
		echo "SKIP completion: $shell: needs $shell"
	elif $shell -n "$work/$shell"; then
		pass "$shell takes the script"
	else
		echo "FAIL completion: $shell does not take the script"
	fi
done

# Keys, and the arguments that stook then gets.
cases() {
	cat <<-'CASES'
	stook prof\t-q|<profile><-q>
	stook completion fi\t|<completion><fish>
	stook profile --quie\t|<profile><--quiet>
	stook profile --unwind au\t|<profile><--unwind><auto>
	stook profile --by pid,com\t|<profile><--by><pid,comm>
	stook symbolize raw\t|<symbolize><raw.pb.gz>
	stook profile -o raw\t|<profile><-o><raw.pb.gz>
	stook symbolize --debug-dir ../fol\tx|<symbolize><--debug-dir><../folder/x>
	stook profile -- mkfif\tx|<profile><--><mkfifo><x>
	CASES
}

type_into() { # type_into SHELL SETUP
	local keys=() wanted=() got=() line i
	while IFS='|' read -r line wants; do
		keys+=("$line"'\n')
		wanted+=("$wants")
	done < <(cases)
	# shellcheck disable=SC2016 # for the shell that is typed into
	mapfile -t got < <(cd "$work/folder" && python3 "$OLDPWD/tests/golden/type_keys.py" "$1" \
		"stook() { printf 'GOT:'; printf '<%s>' \"\$@\"; echo; }; $2" "${keys[@]}")
	for i in "${!keys[@]}"; do
		check_equal "$1: ${keys[i]}" "${got[i]-}" "${wanted[i]}"
	done
}

offers() { # offers LINE WANTED: the first thing that fish offers
	check_equal "fish: $1" "$(cd "$work/folder" &&
		fish --no-config -c "source ../fish; complete -C '$1'" | cut -f 1 | head -n 1)" "$2"
}

if ! has python3; then
	echo "SKIP completion: keys: needs python3"
else
	type_into bash ". $work/bash"
	has zsh && type_into zsh "autoload -Uz compinit; compinit -u -D; . $work/zsh"
fi
if has fish; then
	offers "stook prof" profile
	offers "stook completion fi" fish
	offers "stook profile --quie" --quiet
	offers "stook profile --unwind au" auto
	offers "stook profile --by pid,com" pid,comm
	offers "stook symbolize raw" raw.pb.gz
	offers "stook profile --debug-dir ../fol" ../folder/
	offers "stook profile -- mkfif" mkfifo
fi

# All commands are offered, with all options of their help.
commands=$("$stook" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' | tr '\n' ' ')
offered=$(sed -n "s/^_stook_commands='\(.*\)'/\1 /p" "$work/bash")
check_equal "all commands" "$offered" "$commands"
for command in $commands; do
	options=$("$stook" "$command" --help | grep -oE '^  (-.,|   ) --[a-z-]+' | grep -oE -- '--[a-z-]+' |
		sort)
	offered=$(sed -n "/^\t$command)/,/;;/s/.*options='\(.*\)'/\1/p" "$work/bash" |
		tr ' ' '\n' | grep -- -- | grep -vx -- --help | sort)
	check_equal "all options of $command" "$offered" "$options"
done

# profile:--unwind | …) _stook_words 'auto cfi fp' …
while read -r command option words; do
	refused=
	for word in $words; do
		"$stook" "$command" "$option" "$word" --help >/dev/null 2>&1 || refused+=" $word"
	done
	check_equal "$command takes all that is offered for $option" "$refused" ""
done < <(sed -nE "s/^\t([a-z]+):(--[a-z-]+).*_stook_words '([^']*)'.*/\1 \2 \3/p" "$work/bash")
