"""The tools that are compared: the command of each, and the parser of its output.

Variants of stook are rows of a table: a name and its options. Variants with an option that this
build of stook lacks are skipped and reported.
"""
import json
import os
import re
import shutil
import signal
import subprocess

from unwind_bench import stacks

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILT = os.environ.get("STOOK", os.path.join(ROOT, "build", "stook"))
stook = BUILT
FREQUENCY = int(os.environ.get("FREQUENCY", "999"))

LIMIT_SECONDS = 120  # a tool is killed this long after its time is over

STOOK_VARIANTS = [
    ("stook", []),
    ("stook-cfi", ["--unwind", "cfi"]),
    ("stook-fp", ["--unwind", "fp"]),
]


BEFORE = os.environ.get("BEFORE")  # an older stook to compare with


def keep_stook(folder):
    """Copies the stook to measure, so that a rebuild meanwhile does not mix versions."""
    global stook
    if os.access(BUILT, os.X_OK):
        stook = shutil.copy(BUILT, f"{folder}/stook")


class Sampler:
    """command() samples the whole machine, or only the cgroup if the tool supports that. It ends by
    itself, or earlier on SIGINT."""

    name = ""
    is_stook = False

    def missing(self):
        """Returns why the tool can't run here, or None."""
        return None

    def command(self, seconds, folder, cgroup=None):
        raise NotImplementedError

    def stacks(self, folder):
        raise NotImplementedError

    def own_verdict(self, _folder):
        """Returns the percentage of complete stacks that the tool itself reports, or None."""
        return None

    def run(self, seconds, folder, cgroup=None):
        """Runs the tool; its output is in folder/out and folder/err. Returns None, or why it
        failed."""
        with open(f"{folder}/out", "wb") as out, open(f"{folder}/err", "wb") as err:
            process = subprocess.Popen(self.command(seconds, folder, cgroup), stdout=out,
                                       stderr=err, stdin=subprocess.DEVNULL)
            try:
                status = process.wait(seconds + LIMIT_SECONDS)
            except subprocess.TimeoutExpired:
                status = "none in time"
            finally:
                if process.poll() is None:
                    process.kill()
                    process.wait()
        return None if status == 0 else f"status {status}: {read_text(f'{folder}/err')[-200:]}"


class Stook(Sampler):
    is_stook = True

    def __init__(self, name, options, program=None):
        self.name = name
        self.options = options
        self.program = program  # None: the stook to measure

    def missing(self):
        program = self.program or stook
        if not os.access(program, os.X_OK):
            return f"{program} is not built"
        tried = subprocess.run([program, "profile", "-f", "-F", "1", "-d", "0.05", *self.options],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True, check=False)
        if tried.returncode == 0:
            return None
        return f"{' '.join(self.options)}: {(tried.stderr.splitlines() or ['failed'])[0]}"

    def command(self, seconds, folder, cgroup=None):
        where = ["--cgroup", cgroup] if cgroup else ["-a"]
        return [self.program or stook, "profile", "-F", str(FREQUENCY), *where, "-d", str(seconds),
                "--by", "pid,comm", "--delimited", "--annotate", "-o", f"{folder}/x.folded",
                "--stats", f"{folder}/stats", *self.options]

    def stacks(self, folder):
        return stacks.read_folded(f"{folder}/x.folded", with_pid=True)

    @staticmethod
    def stats(folder):
        """Returns the figures of --stats, which older versions wrote as lines and not as JSON."""
        text = read_text(f"{folder}/stats")
        if text.startswith("{"):
            return json.loads(text)
        return {name: int(figure) for name, figure in map(str.split, text.splitlines())}

    def own_verdict(self, folder):
        figures = self.stats(folder)
        user = sum(figures.get(name, 0) for name in
                   ("user_complete", "user_broken", "user_truncated", "user_missed"))
        return 100 * figures["user_complete"] / user if user else None


class StookBlocked(Stook):
    """Stacks of threads that wait, weighted by nanoseconds. Those of threads that could run are like those of samples, and
    left out."""

    def command(self, seconds, folder, cgroup=None):
        where = ["--cgroup", cgroup] if cgroup else ["-a"]
        return [self.program or stook, "profile", "--off-cpu", *where, "-d", str(seconds),
                "--state", "sleeping,blocked", "--by", "pid,comm", "--delimited", "--annotate",
                "-o", f"{folder}/x.folded", "--stats", f"{folder}/stats", *self.options]

    def missing(self):
        program = self.program or stook
        return None if os.access(program, os.X_OK) else f"{program} is not built"

    def stacks(self, folder):
        return stacks.read_folded(f"{folder}/x.folded", with_pid=True, states=("sleeping", "blocked"))


class Perf(Sampler):
    """perf record; --no-inline: looking up inlined callers would take minutes and does not affect
    walks. -N: store nothing in ~/.debug."""

    def __init__(self, name, call_graph):
        self.name = name
        self.call_graph = call_graph

    def missing(self):
        return None if shutil.which("perf") else "perf is not installed"

    def command(self, seconds, folder, cgroup=None):
        return ["perf", "record", "-N", "-F", str(FREQUENCY), "-a", "-e", "cpu-clock",
                *self.call_graph, "-o", f"{folder}/perf.data", "--", "sleep", str(seconds)]

    def stacks(self, folder):
        with open(f"{folder}/err.script", "wb") as err, subprocess.Popen(
                ["perf", "script", "-i", f"{folder}/perf.data", "--no-inline",
                 "-F", "comm,pid,ip,sym,dso"], stdin=subprocess.DEVNULL, stderr=err,
                stdout=subprocess.PIPE, text=True, errors="replace") as script:
            yield from stacks.read_perf_script(script.stdout)


class Bcc(Sampler):
    """bcc compiles against kernel headers. Headers of a similar version are enough; they are linked
    to where it looks for them in a mount namespace of its own, so that the host stays as it is. Its
    output has no pids: programs are identified by name."""

    name = "bcc"

    def missing(self):
        if not bcc_program():
            return "bcc's profile (bpfcc-tools) is not installed"
        if not has_own_headers() and not other_headers():
            return "bcc needs kernel headers (linux-headers-amd64)"
        return None

    def command(self, seconds, folder, cgroup=None):
        run = [bcc_program(), "-F", str(FREQUENCY), "-f", "-d", "-a",
               "--stack-storage-size", "65536", str(seconds)]
        if has_own_headers():
            return run
        build, source = other_headers()
        return ["unshare", "--mount", "sh", "-c",
                "mount -t tmpfs none /lib/modules && mkdir /lib/modules/$(uname -r) &&"
                f" ln -s {build} /lib/modules/$(uname -r)/build &&"
                f" ln -s {source} /lib/modules/$(uname -r)/source && exec \"$@\"", "-"] + run

    def stacks(self, folder):
        return stacks.read_folded(f"{folder}/out", with_pid=False)


def bcc_program():
    return shutil.which("profile-bpfcc") or shutil.which("profile.py")


def has_own_headers():
    return os.path.isdir(f"/lib/modules/{os.uname().release}/build")


def other_headers():
    """(build, source) folders of some installed kernel headers, or None."""
    try:
        names = sorted(n for n in os.listdir("/usr/src") if n.startswith("linux-headers-"))
    except OSError:
        return None
    common = [name for name in names if name.endswith("common")]
    builds = [name for name in names if name not in common]
    if not builds:
        return None
    return "/usr/src/" + builds[-1], "/usr/src/" + (common or builds)[-1]


def all_samplers():
    return [*(Stook(name, options) for name, options in STOOK_VARIANTS),
            Perf("perf-fp", ["-g"]), Perf("perf-dwarf", ["--call-graph", "dwarf"]), Bcc()]


def trial_samplers():
    before = [Stook("before", [], BEFORE)] if BEFORE else []
    return [*before, Stook("stook", [])]


def blocked_samplers():
    return [StookBlocked("stook --off-cpu", []),
            StookBlocked("stook --off-cpu --unwind fp", ["--unwind", "fp"])]


def usable_samplers(samplers, say):
    """Returns the samplers that can run here; prints why the others can't."""
    usable = []
    for sampler in samplers:
        why = sampler.missing()
        if why:
            say(f"NO {sampler.name}: {why}")
        else:
            usable.append(sampler)
    return usable


def stop(process):
    """Ends a sampler early; it still writes its result."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        return process.wait(60)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def versions():
    """Returns a line with the machine, the kernel and the versions of the tools."""
    def first(*command):
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  text=True, check=False)
        except OSError:
            return None
        found = re.search(r"\d+\.\d+[\w.+-]*", done.stdout)
        return found.group(0) if found else None

    said = [f"{os.cpu_count()} CPUs", f"Linux {os.uname().release}",
            f"perf {first('perf', '--version')}",
            f"bcc {first('dpkg-query', '-W', '-f', '${Version}', 'bpfcc-tools') or 'unknown'}"]
    return ", ".join(said)


def read_text(path):
    with open(path, encoding="utf-8", errors="replace") as stream:
        return stream.read()
