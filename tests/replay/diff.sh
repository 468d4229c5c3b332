#!/bin/bash
# Tests stook diff on files: tests/replay/diff.sh
#
#	shares and errors   compared with a computation in Python from the folded files
#	no change           two random draws from one source: no change is reported
#	a known change      functions made slower, removed and added are found, and no others
#	files               several per side, one with two columns, errors on the command line
# shellcheck source=tests/live/lib.sh
. "$(dirname "$0")/../live/lib.sh"

# draw SEED NUMBER [CHANGED]: draws samples from a source of 300 stacks.
draw() {
	python3 - "$@" <<-'PYTHON'
	import random, sys
	seed, number, changed = int(sys.argv[1]), int(sys.argv[2]), len(sys.argv) > 3
	shape, chance = random.Random(7), random.Random(seed)
	weights = {}
	for i in range(300):
	    depth = shape.randint(3, 12)
	    stack = ";".join(["app", "main"] + ["f%d" % (10 * k + shape.randint(0, 6)) for k in range(depth)])
	    weights[stack] = weights.get(stack, 0) + shape.paretovariate(1)
	total = sum(weights.values())
	weights["app;main;slower"] = total * (0.08 if changed else 0.05)
	weights["app;main;vanishes"] = 0 if changed else total * 0.01
	weights["app;main;f1;appears"] = total * 0.01 if changed else 0
	counts = {}
	for stack in chance.choices(list(weights), weights=list(weights.values()), k=number):
	    counts[stack] = counts.get(stack, 0) + 1
	for stack in counts:
	    print(stack, counts[stack])
	PYTHON
}

changed() { # changed JSON: prints the names of changed rows, sorted
	python3 -c '
import json, sys
rows = json.load(open(sys.argv[1]))["rows"]
print(*sorted("%s:%s" % (r["name"], r["self"]["kind"]) for r in rows if r["self"]["kind"]))' "$1"
}

diff_of() { timeout 60 "$STOOK" diff "$@" >"$T/out" 2>"$T/err"; }

# Recomputes each row.
arithmetic() {
	python3 - "$T/before.folded" "$T/after.folded" "$T/diff.json" <<-'PYTHON'
	import json, math, sys
	def read(path):
	    own, total, all = {}, {}, 0
	    for line in open(path):
	        stack, count = line.rsplit(" ", 1)
	        words = stack.split(";")[1:]
	        own[words[-1]] = own.get(words[-1], 0) + int(count)
	        for word in set(words):
	            total[word] = total.get(word, 0) + int(count)
	        all += int(count)
	    return {"self": own, "total": total}, all
	(before, before_all), (after, after_all) = read(sys.argv[1]), read(sys.argv[2])
	report = json.load(open(sys.argv[3]))
	seen = set()
	for row in report["rows"]:
	    name = row["name"]
	    seen.add(name)
	    for kind in ("self", "total"):
	        a, b = before[kind].get(name, 0), after[kind].get(name, 0)
	        p, q = a / before_all, b / after_all
	        error = math.sqrt(p * (1 - p) / before_all + q * (1 - q) / after_all)
	        got = row[kind]
	        assert (got["before"], got["after"]) == (a, b), name
	        assert abs(got["change"] - (q - p)) < 1e-8, name
	        if 20 <= a < 0.9 * before_all and 20 <= b < 0.9 * after_all:
	            assert abs(got["error"] - error) < 0.03 * error, (name, got["error"], error)
	            pool = (a + b) / (before_all + after_all)
	            z = abs(q - p) / math.sqrt(pool * (1 - pool) * (1 / before_all + 1 / after_all))
	            assert abs(got["sigma"] - z) < 0.02 * z + 0.15, (name, got["sigma"], z)
	assert seen == set(before["total"]) | set(after["total"])
	PYTHON
}

nothing_changed() {
	local i wrong=0
	for i in {1..20}; do
		draw "$i" 5000 >"$T/1.folded"
		draw "$((100 + i))" 8000 >"$T/2.folded"
		diff_of "$T/1.folded" "$T/2.folded" -o "$T/same.json"
		[ -z "$(changed "$T/same.json")" ] || wrong=$((wrong + 1))
	done
	check "two draws of one source do not differ ($wrong of 20 did)" test "$wrong" -le 2
}

draw 1 40000 >"$T/before.folded"
draw 2 50000 changed >"$T/after.folded"
diff_of "$T/before.folded" "$T/after.folded" -o "$T/diff.json" -o "$T/two.folded" -o "$T/diff.txt"
check "shares, errors and sigma are what Python makes of the files" arithmetic
check_equal "what was changed is found, and nothing else" "$(changed "$T/diff.json")" \
	"appears:new slower:more vanishes:gone"
check "a path names where it is" grep -q 'NEW .*f1 › appears\|NEW .*f1 > appears' "$T/diff.txt"
nothing_changed

# Files of all formats.
diff_of "$T/two.folded" -o "$T/again.json"
check_equal "a file of two columns is a difference" "$(changed "$T/again.json")" \
	"$(changed "$T/diff.json")"
check_equal "its columns are before and after" \
	"$(awk '{ a += $(NF - 1); b += $NF } END { print a, b }' "$T/two.folded")" "40000 50000"
draw 3 40000 >"$T/before2.folded"
draw 4 50000 changed >"$T/after2.folded"
diff_of "$T/before.folded" "$T/before2.folded" -- "$T/after.folded" "$T/after2.folded" -o "$T/several.json"
check "options behind the files of both sides" test -s "$T/several.json"
diff_of -o "$T/several.json" "$T/before.folded" "$T/before2.folded" -- "$T/after.folded" "$T/after2.folded"
check "several files a side" test "$(changed "$T/several.json")" = \
	"appears:new slower:more vanishes:gone"
diff_of - "$T/after.folded" <"$T/before.folded"
check "standard input is a file" grep -q '40,000 samples' "$T/out"
diff_of --by-time "$T/before.folded" "$T/after.folded"
check "rates need times" grep -q 'does not record its duration' "$T/err"
diff_of --by-time --duration 40,50 "$T/before.folded" "$T/after.folded"
check "rates" grep -q 'vanishes' "$T/out"
diff_of "$T/before.folded"
check "one side is no difference" grep -q 'contains only one side' "$T/err"
diff_of "$T/before.folded" "$T/after.folded" "$T/two.folded"
check_equal "three files without -- are a mistake" "$?" 2
diff_of "$T/before.folded" "$T/two.folded"
check "a difference is no side" grep -q 'already is a difference' "$T/err"
