"""Java and Node.js under load: the share of their compiled code that has names, before and after following
the advice in stook's verdict.

A sample counts if one of its user frames is JIT-compiled code. "leaf named" counts samples whose
leaf is such code and has a name, "all named" samples in which every frame of such code has a name.
The share of complete stacks is from stook's verdict. Below the table are stook's messages and the
first lines of its report for each case.

V8 writes jitdump files in blocks of 2 MiB, and the rest when it exits: while a process runs, its newest code
has no names yet.
"""
import os
import subprocess
import tempfile

from names_bench import loads, pprof
from names_bench.perf_script import RUN_TIME
from unwind_bench import samplers

SECONDS = float(os.environ.get("SECONDS_EACH", "5"))
FREQUENCY = 499
LEAST_PERCENT = 95
REPORT_LINES = 9  # including the heading
WORDS = ("stacks", "names", "warning")  # first words of the lines of the verdict to show


def case(load, *flags, **attributes):
    """Returns the load with these flags for its runtime."""
    return type(load.__name__, (load,), {"flags": flags, **attributes})


def ends_meanwhile(load):
    """Makes the load end one second before sampling ends."""
    return {"seconds": (str(load.warm_seconds + SECONDS - 1),)}


# name: (load, stook's options, true if 95 % is a goal)
CASES = {
    "java": (case(loads.Java), [], False),
    "java, --java": (case(loads.Java), ["--java"], False),
    "java, frame pointers": (case(loads.Java, "-XX:+PreserveFramePointer"), [], False),
    "java, frame pointers, --java": (
        case(loads.Java, "-XX:+PreserveFramePointer"), ["--java"], True),
    "node": (case(loads.Node), [], False),
    "node, basic-prof": (case(loads.Node, "--perf-basic-prof"), [], True),
    "node, basic-prof, native-stack": (
        case(loads.Node, "--perf-basic-prof", "--interpreted-frames-native-stack"), [], True),
    "node, jitdump, runs on": (case(loads.Node, "--perf-prof"), [], False),
    "node, jitdump, ends": (
        case(loads.Node, "--perf-prof", **ends_meanwhile(loads.Node)), [], True),
    "node, jitdump, native-stack, ends": (
        case(loads.Node, "--perf-prof", "--interpreted-frames-native-stack",
             **ends_meanwhile(loads.Node)), [], True),
}


class Share:
    """Numbers of samples with JIT-compiled code, and of the named ones among them."""

    def __init__(self, samples):
        self.all = self.with_code = self.named = self.leaves = self.named_leaves = 0
        for sample in samples:
            self.take(sample)

    def take(self, sample):
        user = [frame for frame in sample.frames if frame.address < 1 << 63]
        made = [frame for frame in user if frame.file == RUN_TIME]
        self.all += sample.count
        if not made:
            return
        self.with_code += sample.count
        self.named += sample.count * all(frame.names for frame in made)
        if user[0].file == RUN_TIME:
            self.leaves += sample.count
            self.named_leaves += sample.count * bool(user[0].names)


def percent(part, whole):
    return 100 * part / whole if whole else 0


class Outcome:
    def __init__(self, folder):
        self.share = Share(pprof.read(f"{folder}/x.pb.gz"))
        stats = samplers.Stook.stats(folder)
        self.whole = percent(stats["user_complete"], sum(
            stats[name] for name in ("user_complete", "user_broken", "user_truncated",
                                     "user_missed")))
        self.words = summary_words(samplers.read_text(f"{folder}/err"))
        self.report = samplers.read_text(f"{folder}/x.txt").splitlines()[:REPORT_LINES]

    def keeps_promise(self):
        share = self.share
        return share.with_code > 0 and min(
            percent(share.named, share.with_code),
            percent(share.named_leaves, share.leaves)) >= LEAST_PERCENT


def summary_words(text):
    """Returns the lines that begin with one of WORDS, and the indented lines after them."""
    shown, kept = False, []
    for line in text.splitlines():
        if not line.startswith(" "):
            shown = line.split(" ")[0] in WORDS or line.startswith("stook: ") \
                and "cpu-clock" not in line
        if shown:
            kept.append(line)
    return kept


def measure(load, options, folder):
    """Returns an Outcome, or the error message."""
    with load, open(f"{folder}/err", "wb") as err:
        status = subprocess.run(
            [samplers.stook, "profile", "-F", str(FREQUENCY), "-p", str(load.pid),
             "-d", str(SECONDS), "--stats", f"{folder}/stats", "-o", f"{folder}/x.pb.gz",
             "-o", f"{folder}/x.txt", *options], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=err, check=False).returncode
    return Outcome(folder) if status == 0 else samplers.read_text(f"{folder}/err")[-200:]


def print_row(name, outcome, is_promised):
    share = outcome.share
    verdict = ("met" if outcome.keeps_promise() else "**missed**") if is_promised else "–"
    print(f"| {name} | {share.all} | {share.with_code} | {share.leaves}"
          f" | {percent(share.named_leaves, share.leaves):.1f} %"
          f" | {percent(share.named, share.with_code):.1f} %"
          f" | {outcome.whole:.1f} % | {verdict} |", flush=True)


def print_words(outcomes):
    for name, outcome in outcomes.items():
        print(f"\n{name}:\n")
        for line in outcome.words + [""] + outcome.report:
            print(f"    {line}".rstrip())


def run(names, say):
    """Returns False if less than 95 % is named in a case that has this goal."""
    print(f"\nJIT-compiled code, {SECONDS:g} s of each at {FREQUENCY} Hz;"
          f" {samplers.versions()}.\n")
    print("| case | samples | with such code | such a leaf | leaf named | all named | whole"
          f" | ≥ {LEAST_PERCENT} % named |\n" + "|---" * 8 + "|")
    outcomes, good = {}, True
    for name in names or CASES:
        load_class, options, is_promised = CASES[name]
        with tempfile.TemporaryDirectory(prefix="stook-names.") as folder:
            load = load_class(folder)
            why = load.missing()
            outcome = why or measure(load, options, folder)
            if isinstance(outcome, str):
                say(f"NO {name}: {outcome}")
                good &= not is_promised or bool(why)
                continue
        print_row(name, outcome, is_promised)
        outcomes[name] = outcome
        good &= outcome.keeps_promise() or not is_promised
    print_words(outcomes)
    return good
