#!/usr/bin/env python3
"""Compares folded stacks of stook and stackcollapse-perf.pl line by line, under named rules.

    compare_folded.py OPTION OURS THEIRS OURS_CUT

OPTION is the option of stackcollapse-perf.pl: all kernel jit pid tid addrs. OURS_CUT is stook's
output for the input up to its last empty line. Prints one line: the number of our lines, of equal
ones, of lines equal under the rules, of different ones, and the rules used. Different lines follow
on stderr, and make the exit status 1.

A rule changes one side to hide an intended difference, and gives the reason for the difference.
"""
import collections
import re
import sys


def words(change):
    """A rule for each frame."""
    return lambda stack: ";".join([stack.split(";")[0]] + [change(w) for w in stack.split(";")[1:]])


def comm(change):
    """A rule for the first word, the thread's name."""
    return lambda stack: ";".join([change(stack.split(";")[0])] + stack.split(";")[1:])


def cut_arguments(word):
    mark = re.search(r"(_\[[kij]\])?$", word).group()
    name = word[:len(word) - len(mark)]
    if not re.search(r"\.\(.*\)\.", name):
        name = re.sub(r"\((?!anonymous namespace\)).*", "", name)
    return name + mark


def cut_java_type(stack):
    if stack.split(";")[0] != "java" or OPTION in ("pid", "tid"):  # they test for "java" only
        return stack
    return words(lambda w: w[1:] if w[:1] == "L" and "/" in w else w)(stack)


# name, side, change of a stack, reason
RULES = [
    ("one-mark", "ours", lambda s: s.replace("_[j]", "") if OPTION == "kernel"
     else s.replace("_[k]", "") if OPTION == "jit" else s,
     "--annotate marks every kind, --kernel and --jit one"),
    ("comm-blanks", "ours", comm(lambda w: w.replace(" ", "_")),
     "blanks in a thread's name stay"),
    ("arguments", "ours", words(cut_arguments),
     "names are not cut at (: overloads are different functions"),
    ("quotes", "ours", words(lambda w: w.replace('"', "").replace("'", "")),
     "quotes are part of names"),
    ("java-type", "ours", cut_java_type,
     "what the runtime calls a function is not guessed at"),
    ("unknown", "theirs", words(lambda w: re.sub(r"^\[[^\]]*\](_\[[kj]\])?$", r"[unknown]\1", w)),
     "no name is [unknown], whatever file it is in"),
    ("empty", "theirs", words(lambda w: "[unknown]" if re.fullmatch(r" *(_\[[kj]\])?", w) else w),
     "an empty name is none"),
    ("vdso", "theirs", words(lambda w: w[:-4] if w.startswith("__vdso_") and w.endswith("_[k]") else w),
     "the vdso is code of the process"),
    ("no-pid", "theirs", comm(lambda w: w[:-2] if w.endswith("-?") else w),
     "a pid that is not in the file is not shown"),
]


def read(path):
    lines = collections.Counter()
    with open(path, errors="surrogateescape") as file:
        for line in file:
            stack, _, count = line.rstrip("\n").rpartition(" ")
            lines[stack] += int(count)
    return lines


def apply_rules(lines, side):
    """Applies the rules; returns the changed lines and, for each, the rules that changed it."""
    changed, causes = collections.Counter(), collections.defaultdict(set)
    for stack, count in lines.items():
        now, used = stack, set()
        for name, whose, change, _ in RULES:
            if whose == side:
                before, now = now, change(now)
                if now != before:
                    used.add(name)
        changed[now] += count
        causes[now] |= used
    return changed, causes


def main():
    ours, theirs, ours_cut = (read(path) for path in sys.argv[2:5])
    equal = sum(theirs.get(stack) == count for stack, count in ours.items())
    mine, my_causes = apply_rules(ours_cut, "ours")
    others, their_causes = apply_rules(theirs, "theirs")
    wrong = [s for s in set(mine) | set(others) if mine.get(s) != others.get(s)]
    used = set().union(*my_causes.values(), *their_causes.values())
    if ours != ours_cut:
        used.add("last-sample")  # they drop a sample without a following empty line
    print(len(ours), equal, len(ours) - equal - len(wrong), len(wrong), ",".join(sorted(used)) or "-")
    for stack in sorted(wrong)[:10]:
        print("  ours %s theirs %s: %s" % (mine.get(stack), others.get(stack), stack), file=sys.stderr)
    return 1 if wrong or sum(mine.values()) != sum(others.values()) else 0


OPTION = sys.argv[1]
sys.exit(main())
