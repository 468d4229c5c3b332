#!/usr/bin/env bash
# Hostile names: functions in ELF symbols, a thread name and a program path with escape sequences, C1 controls,
# overrides of the writing direction, markup, quotes and formulas. A program with such names is profiled, and
# all output about it must be harmless.
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"

need_live
for tool in gcc python3; do
	if ! command -v $tool >/dev/null; then
		skip "all" "$tool"
		exit 0
	fi
done

# Functions whose symbols are renamed in assembly, where a quoted name may contain any byte.
esc=$'\033' csi=$'\302\233' rlo=$'\342\200\256' paragraph=$'\342\200\251' raw=$'\233'
cat >"$T/evil.c" <<'C'
#include <sys/prctl.h>
#include <unistd.h>
#include <stdlib.h>
volatile unsigned long turns;
#define NAME(n) __attribute__((noinline, noclone, used)) void n(int left)
static void spin(void) { for (unsigned long i = 0; i < 200000; i++) turns += i; }
NAME(evil_f) { spin(); if (left) turns++; spin(); }
NAME(evil_e) { spin(); evil_f(left); turns++; }
NAME(evil_d) { spin(); evil_e(left); turns++; }
NAME(evil_c) { spin(); evil_d(left); turns++; }
NAME(evil_b) { spin(); evil_c(left); turns++; }
NAME(evil_a) { spin(); evil_b(left); turns++; }
int main(void)
{
	prctl(PR_SET_NAME, "\033[2J\302\233x\342\200\256\233;");
	alarm(60);
	for (int i = 0;; i++)
		evil_a(i);
}
C
gcc -O1 -fno-optimize-sibling-calls -S -o "$T/evil.s" "$T/evil.c" 2>"$T/err" || fail "compile"
python3 - "$T/evil.s" "$esc" "$csi" "$rlo" "$paragraph" "$raw" <<'PY'
import re, sys
path = sys.argv[1]
esc, csi, rlo, paragraph, raw = [a.encode(errors="surrogateescape") for a in sys.argv[2:]]
names = {
    b"evil_a": b"</script><script>alert(1)</script>]]>--><b>&amp;'",
    b"evil_b": b"=HYPERLINK(1)" + esc + b"]0;title" + b"\a" + esc + b"[31m",
    b"evil_c": csi + b"2J" + raw + b"41m",
    b"evil_d": rlo + b"evil" + paragraph + b"`|;*x*` [a](javascript:b)",
    b"evil_e": b"\x7f\x08\x08\x08\rback\x01" + b"\xed\xa0\x80\xc0\xaf\xff",
    b"evil_f": b"+1\t${x} %s%n",
}
text = open(path, "rb").read()
for name, evil in names.items():
    text = re.sub(rb"\b" + name + rb"\b", lambda _: b'"' + evil + b'"', text)
open(path, "wb").write(text)
PY
folder=$T/$'dir\033[5m\302\233"<x>'
mkdir "$folder"
program=$folder/$'pro\033gram\342\200\256'
if ! gcc -o "$program" "$T/evil.s" 2>"$T/err"; then
	skip "all" "an assembler that takes any name: $(tail -n 1 "$T/err")"
	exit 0
fi

start "$program"
outputs=(folded perf txt md csv json speedscope.json svg html pb.gz)
for output in "${outputs[@]}"; do arguments+=(-o "$T/r.$output"); done
profile -d 1 -F 499 -p "$PID" --by comm,pid "${arguments[@]}" --format folded
check_equal "a profile of it" "$STATUS" 0
stop "$PID"
check "the profile contains the names" grep -aq 'HYPERLINK' "$T/r.folded"

# harmless FILE…: true if none of them contains a byte that could control a terminal.
cat >"$T/harmless.py" <<'PY'
import sys
bad = set(range(0x20)) - {9, 10} | {0x7f} | set(range(0x80, 0xa0)) | {0x61c, 0x200e, 0x200f}
bad |= set(range(0x2028, 0x202f)) | set(range(0x2066, 0x206a))
for path in sys.argv[1:]:
    data = open(path, "rb").read()
    if path.endswith(".csv"):
        data = data.replace(b"\r\n", b"\n")
    text = data.decode("utf-8")  # which no invalid byte survives
    found = {hex(ord(c)) for c in text if ord(c) in bad}
    if found:
        sys.exit(f"{path}: {found}")
    if not text:
        sys.exit(f"{path}: empty")
PY
harmless() { python3 "$T/harmless.py" "$@" 2>>"$T/err"; }

check "the run's messages are harmless" harmless "$T/err"
for output in folded perf txt md csv json speedscope.json svg html; do
	check "$output is harmless" harmless "$T/r.$output"
done
mv "$T/r.pb.gz" "$T/evil.pb.gz"
for format in report folded perf md csv json speedscope svg html; do
	"$STOOK" report "$T/evil.pb.gz" --format $format >"$T/again" 2>"$T/err"
	cp "$T/again" "$T/again.$format"
	check "$format of the pprof file is harmless" harmless "$T/again.$format"
done
"$STOOK" diff "$T/evil.pb.gz" "$T/r.folded" >"$T/again" 2>"$T/err"
check "a difference is harmless" harmless "$T/again"

# The same for the results of other programs.
check "the SVG is XML" python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$T/r.svg"
check "the SVG has no script but its own" test "$(grep -ac '<script' "$T/r.svg")" -eq 1
check "the HTML page has no script from a name" bash -c "! grep -aq '<script>alert' '$T/r.html'"
for json in r.json r.speedscope.json; do
	check "$json is JSON, with the name unchanged" python3 -c '
import json, sys
text = json.dumps(json.load(open(sys.argv[1])), ensure_ascii=False)
sys.exit("</script><script>alert(1)" not in text)' "$T/$json"
done
check "JSON keeps the control characters" python3 -c '
import json, sys
names = json.dumps(json.load(open(sys.argv[1])), ensure_ascii=True)
sys.exit(not all(c in names for c in ("\\u001b", "\\u009b", "\\u202e")))' "$T/r.json"
check "no cell of the CSV file is a formula" python3 -c '
import csv, sys
rows = list(csv.reader(open(sys.argv[1], newline="")))
cells = [c for r in rows for c in r]
sys.exit(not any("HYPERLINK" in c for c in cells) or any(c[:1] in "=+@\t" and c for c in cells))' "$T/r.csv"
check "the pprof file is read back" "$STOOK" report "$T/evil.pb.gz" --format folded -o "$T/back.folded"

# Messages that quote: the name of a value in the file, a file name, an invalid line.
evil=$'e\033[2J\302\233\233\342\200\256'
python3 - "$T/labels.pb" "$evil" <<'PY'
import sys
def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128]); n >>= 7
    return out + bytes([n])
def field(number, data):
    if isinstance(data, int):
        return varint(number << 3) + varint(data)
    return varint(number << 3 | 2) + varint(len(data)) + data
evil = sys.argv[2].encode(errors="surrogateescape")
strings = [b"", evil, b"count", b"two" + evil]
profile = field(1, field(1, 1) + field(2, 2)) + field(1, field(1, 3) + field(2, 1))
profile += field(2, field(2, varint(1) + varint(2)))
profile += b"".join(field(6, s) for s in strings) + field(13, 1)
open(sys.argv[1], "wb").write(profile)
PY
cp "$T/labels.pb" "$T/$evil.pb"
message() { # message NAME ARG…: checks that the command prints messages, and that they are harmless
	local name=$1
	shift
	"$STOOK" "$@" >"$T/out" 2>"$T/err" </dev/null
	cp "$T/err" "$T/message"
	check "$name" harmless "$T/message"
}
message "a value that is not there" report "$T/labels.pb" --value nosuch
message "a file that is not there" report "$T/no$evil"
message "a file in the wrong place" report "$T/$evil.pb" --value nosuch
message "an option that is none" report "--$evil"
message "a command that is none" "$evil"
message "a program that can't be executed" profile -d 1 -- "$T/no$evil"
message "an output that can't be written" report "$T/r.folded" -o "$T/no/$evil.svg"
printf 'a;b\033[2J\302\233 x\n' >"$T/none.folded"
message "a text that is no profile" report "$T/none.folded"
"$STOOK" report "$T/labels.pb" >"$T/out" 2>"$T/err"
check "values of the file in a report" harmless "$T/out"

# The counting commands: list and count probes of that program. Patterns have no control characters.
cp "$program" "$T/plain"
program=$T/plain
"$STOOK" funccount --list "$program:*" >"$T/list" 2>"$T/err" </dev/null
check "the list of probes is harmless" harmless "$T/list"
for command in "funccount -d 1" "funccount -d 1 --csv" "funccount -d 1 --json"; do
	start "$program"
	# shellcheck disable=SC2086 # words
	timeout 60 "$STOOK" $command -p "$PID" "$program:*" >"$T/counted.txt" 2>"$T/err" </dev/null
	stop "$PID"
	case $command in *csv) mv "$T/counted.txt" "$T/counted.csv" ;; esac
	check "$command: its table is harmless" harmless "$T"/counted.*
	cp "$T/err" "$T/message"
	[ ! -s "$T/message" ] || check "$command: its messages are harmless" harmless "$T/message"
	rm -f "$T"/counted.*
done
