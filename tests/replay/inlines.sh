#!/usr/bin/env bash
# Compares inlined calls and lines with other symbolizers: tests/replay/inlines.sh [FILE…]
#
# The other symbolizers are addr2line and llvm-symbolizer. Programs in C, C++, Rust and Go are built
# with each variant of DWARF. The addresses are every function's start, middle and end, and random
# ones in the code. An address is
#
#	same       equal to one of the two tools, including lines
#	symbol     equal except for the outermost function: DWARF has a plain name or none, the
#	           tools print its symbol
#	none       without debug information: the tools print a symbol and no line
#	different  anything else; these are listed, and must be less than one in a thousand
#
# Compilers' suffixes (.cold, .isra.0, .abi0) belong to symbols, not to DWARF, and are ignored.
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"

PRINT_LINES=${PRINT_LINES:-$ROOT/build/tests/tools/print_lines}
NR_RANDOM=${NR_RANDOM:-4000}
SECOND=$(command -v llvm-symbolizer-14 || command -v llvm-symbolizer)

cat >"$T/compare.awk" <<'END_AWK'
# One line holds the result for one address: ADDRESS, then function and line number of each frame.
function plain(name) {
	while (sub(/\.(cold|part|isra|constprop|lto_priv|llvm|localalias|abi0)(\.[0-9]+)*$/, "", name))
		;
	return name
}

# True if the mangled symbol may belong to the function of this name.
function is_symbol_of(symbol, name,    base) {
	if (name == "??" || symbol !~ /^_[ZR]/)
		return name == "??"
	base = name
	sub(/<.*/, "", base)
	sub(/^~/, "", base)
	if (base == "" || base ~ /^operator/ || base == "allocator" && index(symbol, "Sa"))
		return 1
	return index(symbol, length(base) base) > 0
}

# Constructors and destructors have several symbols at one address.
function kin(name) {
	gsub(/[CD][0-5]E/, "", name)
	return plain(name)
}

# Returns 2 if equal, 1 if equal except for the outermost function, else 0.
function likeness(ours, theirs,    a, b, nr, i) {
	nr = split(ours, a, "\t")
	if (split(theirs, b, "\t") != nr)
		return 0
	for (i = 2; i <= nr; i += 2)
		if (plain(a[i]) != plain(b[i]) && i < nr - 1 || a[i + 1] != b[i + 1])
			return 0
	if (plain(a[nr - 1]) == plain(b[nr - 1]))
		return 2
	return kin(a[nr - 1]) == kin(b[nr - 1]) || is_symbol_of(b[nr - 1], a[nr - 1])
}

function answer(line) {
	sub(/^[^\t]*\t/, "", line)
	return line
}

FILENAME == ARGV[1] { first[$1] = $0; next }
FILENAME == ARGV[2] { second[$1] = $0; next }
{
	nr++
	best = likeness($0, first[$1])
	other = $1 in second ? likeness($0, second[$1]) : 0
	if (other > best)
		best = other
	if (best)
		sums[best]++
	else if (NF == 3 && $2 == "??" && first[$1] ~ /^[^\t]*\t[^\t]*\t0$/)
		none++
	else {
		different++
		print "ours " $0 " | addr2line " answer(first[$1]) " | llvm " answer(second[$1])
	}
}
END {
	printf "%d addresses: %d same, %d symbol, %d none, %d different\n", nr, sums[2], sums[1],
		none, different > "/dev/stderr"
	exit !nr || !sums[2] || different * 1000 >= nr
}
END_AWK

# Joins the frames of one address into one line; $1 is the number of numbers after a file name.
one_line() {
	awk -v nr_numbers="$1" -v OFS='\t' '
	/^0x[0-9a-f]+$/ { if (line != "") print line; line = $0; is_name = 1; next }
	/^$/ { next }
	is_name { line = line OFS $0; is_name = 0; next }
	{
		sub(/ \(discriminator [0-9]+\)$/, "")
		nr = split($0, part, ":")
		line = line OFS part[nr - nr_numbers + 1] + 0
		is_name = 1
	}
	END { if (line != "") print line }'
}

# Pads 0x1139 to sixteen digits, like addr2line.
pad_addresses() {
	sed -E '/^0x[0-9a-f]+$/ { s/^0x/0000000000000000/; s/^0*([0-9a-f]{16})$/0x\1/ }'
}

# Prints START and BYTES of the file's functions; of large files, an evenly spread selection.
functions() { # functions FILE
	nm -S --defined-only "$1" 2>/dev/null | awk '
		NF == 4 && $3 ~ /^[tTwWi]$/ { function_of[nr++] = $1 " " $2 }
		END {
			for (i = 0; i < nr; i += int(nr / 2000) + 1)
				print function_of[i]
		}'
}

# Prints every function's first, middle and last byte, and as many random addresses.
addresses() { # addresses FILE
	local start bytes
	{
		functions "$1" | while read -r start bytes; do
			start=$((16#$start)) bytes=$((16#$bytes))
			[ $bytes -eq 0 ] ||
				printf '%d\n' $start $((start + bytes / 2)) $((start + bytes - 1))
		done
		readelf -SW "$1" 2>/dev/null | sed -n 's/^.*\] \.text *[A-Z]* *\([0-9a-f]*\) [0-9a-f]* \([0-9a-f]*\) .*/\1 \2/p' |
			while read -r start bytes; do
				awk -v start=$((16#$start)) -v bytes=$((16#$bytes)) -v nr="$NR_RANDOM" '
				BEGIN {
					srand(1)
					for (i = 0; i < nr; i++)
						printf "%d\n", start + int(rand() * bytes)
				}'
			done
	} | sort -nu | while read -r address; do printf '0x%016x\n' "$address"; done
}

has_same_code() {
	objcopy -O binary -j .text "$1" "$T/one" && objcopy -O binary -j .text "$2" "$T/other" &&
		cmp -s "$T/one" "$T/other"
}

# judge NAME FILE [TWIN]: compares the file's addresses. The tools read the twin, the same code with
# debug information that they support.
judge() {
	local twin=${3:-$2}
	if ! has_same_code "$2" "$twin"; then
		fail "$1" "its code is not that of $twin"
		return
	fi
	addresses "$2" >"$T/addresses"
	: >"$T/second"
	[ -z "$SECOND" ] || "$SECOND" --obj="$twin" --addresses -f -i --no-demangle \
		<"$T/addresses" 2>/dev/null | pad_addresses | one_line 2 >"$T/second" &
	addr2line -f -i -a -e "$twin" <"$T/addresses" 2>/dev/null | one_line 1 >"$T/first"
	"$PRINT_LINES" "$2" <"$T/addresses" 2>"$T/err" | one_line 1 >"$T/ours"
	wait $!
	if awk -F'\t' -f "$T/compare.awk" "$T/first" "$T/second" "$T/ours" >"$T/differences" \
		2>"$T/sums"; then
		pass "$1: $(cat "$T/sums")"
	else
		fail "$1" "$(cat "$T/sums" "$T/err")"
	fi
	head -n 5 "$T/differences" | cut -c 1-600 >&2
}

# --- programs ---------------------------------------------------------------------------------

cat >"$T/shapes.c" <<'END_C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int sink;
static inline int leaf(int x) { return x * 3 + sink; }
static inline int middle(int x) { int i, s = 0; for (i = 0; i < x; i++) s += leaf(i); return s; }
static __attribute__((noinline)) int part(int x) { if (x > 5) abort(); return middle(x) + leaf(x); }
static int by_pointer(const void *a, const void *b) { return leaf(*(const int *)a) - leaf(*(const int *)b); }
static int text(const char *s) { int n = 0; for (; *s; s++) n += leaf(*s); return n; }
int exported(int n)
{
	int *values = calloc(n + 1, sizeof(int)), i;
	for (i = 0; i < n; i++) values[i] = middle(i);
	qsort(values, n, sizeof(int), by_pointer);
	i = part(values[0]);
	free(values);
	return i;
}
int main(int argc, char **argv) { sink = text(argv[0]); printf("%d\n", exported(argc) + part(argc)); return 0; }
END_C
cat >"$T/shapes.cc" <<'END_CC'
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace {
struct Base { virtual ~Base() {} virtual int value() const = 0; };
template <class T> struct Holder : Base {
	T t;
	explicit Holder(T x) : t(std::move(x)) {}
	int value() const override { return int(t.size()); }
};
int local(int n) {
	struct Inner { int twice(int x) { return x * 2 + int(std::to_string(x).size()); } } inner;
	auto twice = [&](int x) { return inner.twice(x) + n; };
	std::function<int(int)> f = twice;
	return f(n) + twice(3);
}
}
std::map<std::string, int> count(const std::string &text) {
	std::map<std::string, int> words;
	std::istringstream stream(text);
	for (std::string word; stream >> word;) words[word]++;
	return words;
}
int main(int argc, char **argv) {
	std::vector<std::string> all(argv, argv + argc);
	std::sort(all.begin(), all.end(), [](const auto &a, const auto &b) { return a.size() < b.size(); });
	std::vector<std::unique_ptr<Base>> held;
	for (auto &s : all) held.emplace_back(new Holder<std::string>(s));
	int sum = local(argc);
	for (auto &h : held) sum += h->value();
	std::regex re("a+(b|c)*");
	try { if (std::regex_match(all[0], re)) throw 1; } catch (int i) { sum += i; }
	for (auto &p : count(all.back())) sum += p.second;
	std::printf("%d\n", sum);
}
END_CC
cat >"$T/shapes.rs" <<'END_RS'
use std::collections::HashMap;
trait Shape { fn area(&self) -> f64; }
struct Square(f64);
struct Named<'a> { name: &'a str, inner: Box<dyn Shape> }
impl Shape for Square { fn area(&self) -> f64 { self.0 * self.0 } }
impl<'a> Shape for Named<'a> { fn area(&self) -> f64 { self.inner.area() + self.name.len() as f64 } }
fn count(text: &str) -> HashMap<String, usize> {
    let mut words = HashMap::new();
    for word in text.split_whitespace() { *words.entry(word.to_lowercase()).or_insert(0) += 1; }
    words
}
fn main() {
    let all: Vec<String> = std::env::args().collect();
    let mut shapes: Vec<Box<dyn Shape>> = all.iter().map(|a| Box::new(Square(a.len() as f64)) as Box<dyn Shape>).collect();
    shapes.push(Box::new(Named { name: "x", inner: Box::new(Square(2.0)) }));
    let mut areas: Vec<f64> = shapes.iter().map(|s| s.area()).collect();
    areas.sort_by(|a, b| a.partial_cmp(b).unwrap());
    println!("{:?} {:?}", areas, count(&all.join(" ")));
}
END_RS
cat >"$T/shapes.go" <<'END_GO'
package main

import (
	"fmt"
	"os"
	"sort"
	"strings"
)

type shape struct{ side int }

func (s *shape) area() int { return s.side * s.side }
func sum(all []*shape) (total int) {
	for _, s := range all {
		total += s.area()
	}
	return
}
func main() {
	words := os.Args
	sort.Slice(words, func(i, j int) bool { return len(words[i]) < len(words[j]) })
	fmt.Println(sum([]*shape{{1}, {len(words)}}), strings.Join(words, ","))
}
END_GO

# go requires its options first: go_build SOURCE -o PROGRAM
go_build() { GO111MODULE=off GOCACHE=$T/go-cache go build "$2" "$3" "$1"; }

# build NAME TWIN COMPILER ARGUMENTS…: builds in a separate folder, where the .dwo files stay. The
# twin is the name of another build, or - for none.
build() {
	local name=$1 twin=
	[ "$2" = - ] || twin=$T/$2/program
	shift 2
	if ! command -v "$1" >/dev/null; then
		skip "$name" "$1"
		return
	fi
	mkdir -p "$T/$name"
	if (cd "$T/$name" && "$@" -o program) >"$T/log" 2>&1; then
		judge "$name" "$T/$name/program" ${twin:+"$twin"}
	else
		skip "$name" "a compiler that supports it: $(head -n 1 "$T/log")"
	fi
}

if [ ! -x "$PRINT_LINES" ]; then
	fail "all" "$PRINT_LINES must be built"
	exit 1
fi
if ! command -v addr2line >/dev/null; then
	skip "all" "addr2line"
	exit 0
fi
if [ $# -gt 0 ]; then
	for file in "$@"; do
		judge "$(basename "$file")" "$file"
	done
	exit 0
fi

export RUSTC_BOOTSTRAP=1 # old versions select the DWARF version only with this
for version in 4 5; do
	for compiler in gcc clang; do
		c=("$compiler" -O2 "-gdwarf-$version" "$T/shapes.c")
		build "c-$compiler-$version" - "${c[@]}"
		build "c-$compiler-$version-split" "c-$compiler-$version" "${c[@]}" -gsplit-dwarf
		c=("$compiler" -O2 "-gdwarf-$version" "$T/shapes.cc" -lstdc++)
		build "c++-$compiler-$version" - "${c[@]}"
		build "c++-$compiler-$version-split" "c++-$compiler-$version" "${c[@]}" -gsplit-dwarf
	done
	build "rust-$version" - rustc -O -g -Z dwarf-version=$version "$T/shapes.rs"
done
build rust-split rust-4 rustc -O -g -Z dwarf-version=4 -C split-debuginfo=unpacked "$T/shapes.rs"
build go - go_build "$T/shapes.go"
build c++-compressed - g++ -O2 -g -gz "$T/shapes.cc"
build c++-old-compressed c++-compressed g++ -O2 -g -gz=zlib-gnu "$T/shapes.cc"
build c++-lto - g++ -O2 -g -flto -flto-partition=max "$T/shapes.cc"
build c++-sections - g++ -O2 -g -ffunction-sections -Wl,--gc-sections "$T/shapes.cc"
build c++-lld - clang++ -O2 -g -ffunction-sections -fuse-ld=lld -Wl,--gc-sections "$T/shapes.cc"
build c++-O0 - g++ -O0 -g "$T/shapes.cc"
build c++-split-inlining - clang++ -O2 -g -gsplit-dwarf -fsplit-dwarf-inlining "$T/shapes.cc"

# Without its .dwo file, the same program still has clang's copy in the linked part.
if [ -x "$T/c++-split-inlining/program" ]; then
	rm -f "$T"/c++-split-inlining/*.dwo
	"$PRINT_LINES" -q "$T/c++-split-inlining/program" <"$T/addresses" 2>"$T/err"
	check "a lost .dwo is counted" grep -q ', 1 split ones lost' "$T/err"
fi

if ! command -v dwz >/dev/null; then
	skip "dwz" "dwz"
	exit 0
fi
mkdir -p "$T/dwz"
cp "$T/c++-gcc-4/program" "$T/dwz/a"
cp "$T/c++-O0/program" "$T/dwz/b"
cp "$T/c++-gcc-5/program" "$T/dwz/c"
if (cd "$T/dwz" && dwz -m common.debug a b && dwz c) 2>"$T/log"; then
	judge "dwz with a common file" "$T/dwz/a" "$T/c++-gcc-4/program"
	judge "dwz by itself" "$T/dwz/c" "$T/c++-gcc-5/program"
	# In another root, where /proc/self/fd does not give the file's path.
	"$PRINT_LINES" -r "$T" "$T/dwz/a" <"$T/addresses" 2>"$T/err" >"$T/rooted"
	"$PRINT_LINES" "$T/dwz/a" <"$T/addresses" 2>"$T/err" >"$T/plain"
	if [ "$(id -u)" -eq 0 ]; then
		check "the common file is found in another root" cmp -s "$T/rooted" "$T/plain"
	else
		skip "the common file is found in another root" "root"
	fi
else
	skip "dwz" "a dwz that works: $(head -n 1 "$T/log")"
fi
