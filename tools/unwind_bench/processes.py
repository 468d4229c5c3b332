"""Records the processes that existed while the tools ran: parents, lifetimes, names.

A `perf record` of the kernel's task events runs beside a load, the same for all tools. So the samples of the load are
identified independently of the tools, and other programs, even of the same names, are excluded.
"""
import os
import re
import signal
import subprocess
import time

FORK = re.compile(r"(\d+\.\d+): PERF_RECORD_FORK\((\d+):(\d+)\):\((\d+):\d+\)")
EXIT = re.compile(r"(\d+\.\d+): PERF_RECORD_EXIT\((\d+):(\d+)\)")
COMM = re.compile(r"PERF_RECORD_COMM(?: exec)?: (.*):(\d+)/\d+$")


class Watch:
    """`with Watch(folder) as watch:`, then .processes"""

    def __init__(self, folder):
        self.path = f"{folder}/watch.data"
        self.perf = None
        self.processes = None

    def __enter__(self):
        self.perf = subprocess.Popen(
            ["perf", "record", "-q", "-N", "-a", "-e", "dummy", "-k", "CLOCK_MONOTONIC",
             "-o", self.path], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        time.sleep(0.5)
        return self

    def __exit__(self, *_):
        self.perf.send_signal(signal.SIGINT)
        self.perf.wait()
        script = subprocess.run(
            ["perf", "script", "-i", self.path, "--show-task-events", "--ns",
             "-F", "comm,pid,tid,time,event"], stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, errors="replace", check=False)
        os.unlink(self.path)
        self.processes = Processes(script.stdout.splitlines())


class Processes:
    def __init__(self, lines):
        self.parents, self.born, self.ended, self.comms = {}, {}, {}, {}
        for line in lines:
            self.take(line)

    def take(self, line):
        if found := FORK.search(line):
            seconds, pid, tid, parent = found.groups()
            if pid == tid:
                self.parents[int(pid)] = int(parent)
                self.born[int(pid)] = float(seconds)
        elif found := EXIT.search(line):
            seconds, pid, tid = found.groups()
            if pid == tid:
                self.ended[int(pid)] = float(seconds)
        elif found := COMM.search(line):
            self.comms.setdefault(int(found.group(2)), set()).add(found.group(1))

    def descends_from(self, pid, roots):
        seen = set()
        while pid and pid not in seen:
            if pid in roots:
                return True
            seen.add(pid)
            pid = self.parents.get(pid)
        return False

    def family(self, roots):
        """Returns these processes and all their descendants."""
        known = set(self.parents) | set(self.comms)
        return {pid for pid in known if self.descends_from(pid, roots)} | set(roots)

    def lived(self, pid, least, most):
        """Returns True if the process started and exited while watched, and its lifetime is in this
        range."""
        if not self.born.get(pid) or pid not in self.ended:
            return False
        return least <= self.ended[pid] - self.born[pid] <= most

    def comms_of(self, pids):
        return set().union(*(self.comms.get(pid, set()) for pid in pids))
