"""A week of short processes in minutes: 100,000 different programs, each a file of its own that is
run once, for a millisecond, and deleted a few seconds later, under one run of stook that prints
every ten seconds.

Each program has its own inode, build id and function name, as different programs have.
Memory must be bounded: stook's memory at the end must be at most a little larger than at the start of the last
quarter. The table shows memory and open descriptors during the run.
"""
import os
import signal
import subprocess
import sys
import tempfile
import time

from names_bench import loads
from unwind_bench import samplers

FILES = 100000
FREQUENCY = 1999  # so that a process that runs for a millisecond gets a sample
WORKERS = 2
INTERVAL_SECONDS = 10
LIMIT_SECONDS = 220
ROWS = 16
LEAST_SEEN = 0.5     # share of the files that must be sampled; with fewer the run proves nothing
MOST_GROWTH = 1.05   # factor, of resident memory in the last quarter of the run
ENOUGH_FILES = 50000  # with fewer, tables are still filling up to their limits


def make_template(folder):
    path = f"{folder}/template"
    subprocess.run(["gcc", "-nostdlib", "-static", "-Wl,--build-id=sha1", "-Wl,-n",
                    "-Wl,-z,noseparate-code", "-o", path, f"{loads.PROGRAMS}/touch.S"], check=True)
    return path


class Workers:
    """The processes that run the files, in a private tmpfs if it can be mounted."""

    def __init__(self, folder, files):
        self.folder = folder
        template = make_template(folder)
        self.files = f"{folder}/files"
        os.mkdir(self.files)
        self.is_mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128m", "stook-names",
                                          self.files], check=False).returncode == 0
        self.running = [subprocess.Popen(
            [sys.executable, f"{loads.PROGRAMS}/toucher.py", template, self.files, str(number),
             str(files // WORKERS), str(WORKERS), f"{folder}/progress-{number}"])
            for number in range(WORKERS)]

    def are_done(self):
        return all(process.poll() is not None for process in self.running)

    def touched(self):
        return sum(int(samplers.read_text(path) or 0) for path in (
            f"{self.folder}/progress-{number}" for number in range(WORKERS))
            if os.path.exists(path))

    def end(self):
        for process in self.running:
            process.kill()
            process.wait()
        if self.is_mounted:
            subprocess.run(["umount", "-l", self.files], check=False)


def memory_of(pid):
    """Returns (resident MB, peak MB, number of open descriptors)."""
    fields = dict(line.split(":", 1) for line in
                  samplers.read_text(f"/proc/{pid}/status").splitlines())
    kb = [int(fields[name].split()[0]) for name in ("VmRSS", "VmHWM")]
    return kb[0] / 1000, kb[1] / 1000, len(os.listdir(f"/proc/{pid}/fd"))


def watch(workers, pid, files):
    """Prints a row from time to time. Returns all rows."""
    rows, begin, next_at = [], time.monotonic(), 0
    while True:
        is_last = workers.are_done() or time.monotonic() > begin + LIMIT_SECONDS
        touched = workers.touched()
        if touched >= next_at or is_last:
            rows.append((time.monotonic() - begin, touched, *memory_of(pid)))
            print("| {:.0f} | {:,} | {:.1f} | {:.1f} | {} |".format(*rows[-1]), flush=True)
            next_at = touched + files / ROWS
        if is_last:
            return rows
        time.sleep(0.2)


def print_growth(rows):
    """Prints the growth in the last quarter of the run. Returns True if memory is bounded, or the
    run was too short to decide."""
    (_, from_files, begin, *_), (_, to_files, end, *_) = rows[len(rows) * 3 // 4], rows[-1]
    bytes_each = 1e6 * (end - begin) / max(to_files - from_files, 1)
    is_bounded = end <= begin * MOST_GROWTH
    word = "bounded" if is_bounded else "**growing**"
    if to_files < ENOUGH_FILES:
        is_bounded, word = True, "too few files to tell"
    print(f"Resident memory over the last quarter: {begin:.1f} to {end:.1f} MB,"
          f" {bytes_each:.0f} bytes a file: {word}", flush=True)
    return is_bounded


def nr_seen(path):
    """Returns the numbers of different programs in the folded stacks of all intervals, of the ones
    with a sample in user code, and of the ones whose function is named."""
    programs, hit, named = set(), set(), set()
    with open(path, "rb") as lines:
        for line in lines:
            comm, *frames = line.rpartition(b" ")[0].split(b";")
            if comm.startswith(b"program-"):
                programs.add(comm)
                if any(not frame.endswith(b"_[k]") for frame in frames):
                    hit.add(comm)
                if any(frame.startswith(b"spin_") for frame in frames):
                    named.add(comm)
    return len(programs), len(hit), len(named)


def measure(folder, files):
    print("| s | files | resident, MB | at most, MB | descriptors |\n|---|---|---|---|---|")
    with open(f"{folder}/out", "wb") as out, open(f"{folder}/err", "wb") as err:
        stook = subprocess.Popen(
            [samplers.stook, "profile", "-f", "--annotate", "-F", str(FREQUENCY), "-a",
             "-i", str(INTERVAL_SECONDS), "--table-cache", f"{folder}/tables"],
            stdin=subprocess.DEVNULL, stdout=out, stderr=err)
    workers = None
    try:
        time.sleep(1)
        workers = Workers(folder, files)
        rows = watch(workers, stook.pid, files)
    finally:
        stook.send_signal(signal.SIGINT)
        status = stook.wait()
        if workers:
            workers.end()
    return rows, status


def run(arguments, say):
    """Returns False if memory keeps growing."""
    files = int(arguments[0]) if arguments else FILES
    print(f"\n{files:,} programs, each a file of its own, each run once;"
          f" {samplers.versions()}.\n")
    with tempfile.TemporaryDirectory(prefix="stook-names.") as folder:
        rows, status = measure(folder, files)
        seen, hit, named = nr_seen(f"{folder}/out")
        say(samplers.read_text(f"{folder}/err")[-1500:])
    print(f"\n{seen:,} of them were sampled, {hit:,} in their own code, which is named in"
          f" {named:,}.")
    return print_growth(rows) and status == 0 and seen >= LEAST_SEEN * files
