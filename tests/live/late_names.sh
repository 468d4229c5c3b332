#!/usr/bin/env bash
# stook query --resymbolize: a program without symbols is sampled by the agent, and its debug file is found later.
set -u
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_live
command -v objcopy gcc >/dev/null || { skip "late names" "gcc, objcopy"; exit 0; }

cat >"$T/late.c" <<'END'
static volatile unsigned long sum;
__attribute__((noinline)) static void late_inner(unsigned long n)
{
	while (n--)
		sum += n;
}
__attribute__((noinline)) static void late_outer(unsigned long n)
{
	late_inner(n);
	sum++;
}
int main(void)
{
	for (;;)
		late_outer(100000);
}
END
gcc -g -O1 -fno-omit-frame-pointer -fno-inline -Wl,--build-id -o "$T/late" "$T/late.c" || fail "late names" "gcc"
objcopy --only-keep-debug "$T/late" "$T/late.debug"
strip -s "$T/late"

start "$T/late"
"$STOOK" agent --store "$T/store" --epoch 1 --budget off -F 199 -d 4 2>"$T/err" </dev/null
kill -KILL "$PID"
check "epochs are stored" test -s "$T/store"

query() { "$STOOK" query -q --store "$T/store" --comm late "$@" 2>"$T/err"; }
check "before: functions have their starts" grep -qE '^late;(.*;)?late\+0x[0-9a-f]+;late\+0x[0-9a-f]+ ' <(query -f)
check "without a debug file: the same" cmp -s <(query -f) <(query -f --resymbolize)
cp "$T/store" "$T/before"

id=$(readelf -n "$T/late" | awk '/Build ID/ { print $3 }')
mkdir -p "$T/debug/.build-id/${id::2}"
cp "$T/late.debug" "$T/debug/.build-id/${id::2}/${id:2}.debug"
query -f --resymbolize --debug-dir "$T/debug" >"$T/named"
check "with it: names" grep -qE '^late;(.*;)?main;late_outer;late_inner [0-9]+$' "$T/named"
check_equal "all samples are there" "$(awk '{ s += $NF } END { print s }' "$T/named")" \
	"$(query -f | awk '{ s += $NF } END { print s }')"
check "filters see the names" grep -q late_inner <(query --resymbolize --debug-dir "$T/debug" --symbol '^late_inner$')
check "the store stays as it is" cmp -s "$T/store" "$T/before"
"$STOOK" query --store "$T/store" --comm late --resymbolize --debug-dir "$T/debug" >/dev/null 2>"$T/err"
check "what has names is reported" grep -qE '^stook: [0-9,]+ of [0-9,]+ frames have symbols' "$T/err"
rm "$T/late"
check "the program may be gone" cmp -s <(query -f --resymbolize --debug-dir "$T/debug") "$T/named"
