#!/usr/bin/env bash
# Command lines typed by users of perf, bcc's tools or FlameGraph's scripts, or mistyped: each works, or gets an
# error that names the right option. A line of the table is a command line, then `ok` if it is accepted, which is
# tested by appending --help, so that nothing is run; or the exit status and all output, with | for line
# breaks. Command lines that have to run are in tests/live/habits.sh.
set -u
cd "$(dirname "$0")/../.." || exit 1
stook=${STOOK:-$PWD/build/stook}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
mkdir symbols
echo 'a;b;c 3' | tee before.folded >after.folded

habits() {
	cat <<-'HABITS'
	profile -F 99 -a -g => ok
	profile -F99 -ag 10 => ok
	profile -g --call-graph=dwarf => ok
	profile --call-graph dwarf,16384 => ok
	profile --call-graph fp => ok
	stackcount -g c:malloc => ok
	profile -df 10 => ok
	profile -F 99 -adf 60 => ok
	profile -dfU 10s => ok
	stackcount -D 10 c:malloc => ok
	profile 10s => ok
	profile -d 500ms -i 1h --timeline 100ms --naming-time 2m => ok
	funccount c:malloc 2m => ok
	tally c:malloc 1.5h => ok
	stat -o a.json -o b.csv 1 => 2 -o is given twice: 'a.json' and 'b.csv'
	stat -o - 1 => ok
	diff --duration 2m,1h before.folded after.folded => ok
	profile --debug-dir symbols => ok
	funccount --debug-dir ./symbols c:malloc => ok
	symbolize --debug-dir ../$(basename $PWD)/symbols in.pb.gz => ok
	profile -p "$$ $$" 10 => ok
	profile -p "$(printf "%s\n" $$ $PPID)" 10 => ok
	profile --freq=99 => ok
	profile 10x => 2 bad value '10x' for --duration: seconds above 0, or with a unit: 500ms, 10s, 2m, 1h
	profile --call-graph lbr => 2 bad value 'lbr' for --call-graph: dwarf or fp|  hint: branch records (lbr) are not supported; without the option, stacks are walked by unwind tables, like dwarf
	funccount -g c:malloc => 2 unknown option '-g'|  hint: use 'stook stackcount' to record stacks
	profile --freqency 99 => 2 unknown option '--freqency'|  hint: did you mean --frequency?
	profile -frequency 99 => 2 unknown option '-frequency'|  hint: did you mean --frequency?
	profile -pid 12 => 2 bad value 'id' for --pid: pids, separated by commas|  hint: did you mean --pid?
	profile --no => 2 unknown option '--no'|  hint: did you mean --no-follow or --no-symbols?
	profile --folded=yes => 2 --folded does not take a value: '--folded=yes'
	profile --user-stacks-only => 2 unknown option '--user-stacks-only'|  hint: use -U, --user
	profile --uid 1000 => 2 unknown option '--uid'|  hint: select the user's processes: -p $(pgrep -d, -u USER)
	profile -G web => 2 unknown option '-G'|  hint: use --cgroup PATH
	report -G before.folded => ok
	profile -p '' 10 => 2 bad value '' for --pid: pids, separated by commas|  hint: $(pidof NAME) is empty if no process has that name
	profile -p -f 10 => 2 bad value '-f' for --pid: pids, separated by commas|  hint: $(pidof NAME) is empty if no process has that name
	profile -p $$ 10 11 => 2 more than one duration: '11'|  hint: separate several pids by commas: -p $(pgrep -d, NAME)
	record => 2 no command 'record'|  hint: 'stook profile -o OUT.pb.gz 10' records a profile, 'stook report' prints it
	top => 2 no command 'top'|  hint: 'stook profile -i 2' prints a report every two seconds
	stat -e cycles,instructions -r 5 -A -a -o stat.csv => ok
	stat -r 5 => 2 --repeat needs '-- CMD'
	stat -I 1000 -a -e cycles => ok
	stat --interval-print 100 -B -- true => 125 unknown option '-B'|  hint: omit it: numbers are always grouped by commas
	stat -I 0.5 => 2 bad value '0.5' for -I: milliseconds, at least 1|  hint: -i takes seconds, also with a unit: -i 500ms
	stat -d -- true => 125 bad value '--' for --duration: seconds above 0, or with a unit: 500ms, 10s, 2m, 1h|  hint: perf's -d is --detailed here; -d takes the duration
	stat -ddd true => 2 bad value 'dd' for --duration: seconds above 0, or with a unit: 500ms, 10s, 2m, 1h|  hint: perf's -d is --detailed here; -d takes the duration
	stat -a -d => 2 '-d' needs a value|  hint: perf's -d is --detailed here; -d takes the duration
	stat -i -- true => 125 bad value '--' for --interval: seconds above 0, or with a unit: 500ms, 10s, 2m, 1h|  hint: perf's -i is --no-follow here; -i takes the interval
	stat -x, -- true => 125 unknown option '-x,'|  hint: use --csv, whose first line names its columns
	stat -j -- true => 125 unknown option '-j'|  hint: use --json
	stat -M IPC -- true => 125 unknown option '-M'|  hint: omit it: the metrics of the counted events are always printed
	stat --timeout 1000 -a => 2 unknown option '--timeout'|  hint: use -d, in seconds or with a unit: -d 500ms
	stat --topdown -a => 2 unknown option '--topdown'|  hint: use --preset topdown
	stat -a sleep 1 => 2 unexpected argument 'sleep'|  hint: put a command after '--': stook stat -- sleep
	profile -d -- true => 125 bad value '--' for --duration: seconds above 0, or with a unit: 500ms, 10s, 2m, 1h
	stat --per-core --per-socket => 2 only one of the options --per-… is possible
	stat --per-thread 1 => 2 --per-thread needs -p or -t
	script => 2 no command 'script'|  hint: 'stook report IN --format perf' prints what 'perf script' would
	annotate => 2 no command 'annotate'|  hint: 'stook profile --lines' shows source lines, 'stook report -s function,line' groups by them
	offcputime -p 1 10 => 2 no command 'offcputime'|  hint: 'stook profile --off-cpu' shows where threads wait; --wall, also where they run
	offcputime-bpfcc => 2 no command 'offcputime-bpfcc'|  hint: 'stook profile --off-cpu' shows where threads wait; --wall, also where they run
	offcpu => 2 no command 'offcpu'|  hint: 'stook profile --off-cpu' shows where threads wait; --wall, also where they run
	lock contention => 2 no command 'lock'|  hint: 'stook profile --locks' shows waits for locks, by kind and stack
	klockstat-bpfcc => 2 no command 'klockstat-bpfcc'|  hint: 'stook profile --locks' shows waits for locks, by kind and stack
	runqlat => 2 no command 'runqlat'|  hint: 'stook sched --hist'; --by pid, tid, comm, cgroup or cpu has one for each
	trace => 2 no command 'trace'|  hint: events are not printed one by one; 'stook funccount' counts them, 'stook tally' by their arguments
	list nosuchevent => 1 no event matches 'nosuchevent'|  hint: 'stook list --missing' has events that this host lacks, 'stook list PROGRAM:FUNCTION' functions
	doctor 10 => 2 unexpected argument '10'
	argdist => 2 no command 'argdist'|  hint: 'stook tally FUNCTION --by arg1', or --value arg1 --hist
	funclatency c:read => 2 no command 'funclatency'|  hint: 'stook tally FUNCTION --value latency --hist'
	funcslower => 2 no command 'funcslower'|  hint: stook tally FUNCTION --value latency --where 'latency > 10ms'
	syscount => 2 no command 'syscount'|  hint: stook funccount 't:syscalls:sys_enter_*'
	flamegraph.pl in.folded => 2 no command 'flamegraph.pl'|  hint: 'stook flame IN -o OUT.svg' draws folded stacks and what 'perf script' prints
	stackcollapse-perf.pl => 2 no command 'stackcollapse-perf.pl'|  hint: 'stook flame IN -o OUT.svg' draws folded stacks and what 'perf script' prints; stacks need not be collapsed first
	difffolded.pl => 2 no command 'difffolded.pl'|  hint: 'stook diff BEFORE AFTER', with -f for flamegraph.pl
	profle 10 => 2 no command 'profle'|  hint: did you mean 'profile'?
	stackcuont => 2 no command 'stackcuont'|  hint: did you mean 'stackcount'?
	xyzzy => 2 no command 'xyzzy'|  hint: 'stook --help' lists the commands
	-p 12 => 2 no command '-p'|  hint: the command is missing: stook profile -p
	10 => 2 no command '10'|  hint: the command is missing: stook profile 10
	help xyzzy => 2 no command 'xyzzy'|  hint: 'stook --help' lists the commands
	help record => 2 no command 'record'|  hint: 'stook profile -o OUT.pb.gz 10' records a profile, 'stook report' prints it
	flame -- nowhere.folded => 1 cannot open 'nowhere.folded': No such file or directory
	report -- nowhere.folded => 1 cannot open 'nowhere.folded': No such file or directory
	symbolize -- nowhere.pb.gz => 1 cannot open 'nowhere.pb.gz': No such file or directory
	diff before.folded -- after.folded -q -o /dev/null => 0
	diff before.folded -- after.folded --nothing => 2 unknown option '--nothing'|  hint: 'stook diff --help' lists the options
	diff before.folded -- -- -q => 1 cannot open '-q': No such file or directory
	HABITS
}

while IFS= read -r line; do
	habit=${line%% => *} wanted=${line#* => }
	eval "words=($habit)"
	[ "$wanted" != ok ] || words+=(--help)
	said=$("$stook" "${words[@]}" 2>&1 >out </dev/null)
	got="$? $(echo "$said" | sed '1s/^stook: //' | paste -sd '|' -)"
	if [ "$wanted" = ok ]; then
		wanted='0 usage: stook'
		got="${got% } $(head -c 12 out)"
	fi
	if [ "${got% }" = "$wanted" ]; then
		echo "PASS habits: stook $habit"
	else
		echo "FAIL habits: stook $habit: got '$got', want '$wanted'"
	fi
done < <(habits)

# Four ways to get the same help.
"$stook" stackcount --help >wanted
for words in 'help stackcount' '--help stackcount' 'stackcount help' 'stackcount -h'; do
	read -ra split <<<"$words"
	if "$stook" "${split[@]}" >got && cmp -s got wanted; then
		echo "PASS habits: stook $words"
	else
		echo "FAIL habits: stook $words: is not the help of stackcount"
	fi
done

# A kernel thread is never a target by accident. In a container there may be none.
if [ "$(cat /proc/2/comm 2>/dev/null)" = kthreadd ]; then
	wanted="stook: -p 2 is 'kthreadd', a kernel thread: is it the duration?
  hint: if \$(pidof NAME) finds nothing, -p takes the next argument; to profile this process, --pid=2"
	for words in 'profile -p 2' 'stackcount c:malloc -p 2' 'funccount c:malloc -p 2 -T' 'tally c:malloc -p 2'; do
		read -ra split <<<"$words"
		got=$("$stook" "${split[@]}" 2>&1)
		if [ $? -eq 2 ] && [ "$got" = "$wanted" ]; then
			echo "PASS habits: stook $words"
		else
			echo "FAIL habits: stook $words: got '$got'"
		fi
	done
else
	echo "SKIP habits: a thread of the kernel for a target: needs one in /proc"
fi
