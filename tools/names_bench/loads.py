"""Further loads, besides those of unwind_bench, where names are difficult: JIT-compiled code, C++
with debugging information, a stripped Go program."""
import os
import subprocess

from unwind_bench import loads as whole

PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")


class Cxx(whole.Load):
    name = "c++"
    needs = ("g++",)

    def begin(self):
        program = f"{self.folder}/busy-c++"
        subprocess.run(["g++", "-std=c++17", "-O2", "-g", "-o", program, f"{PROGRAMS}/busy.cc"],
                       stdin=subprocess.DEVNULL, check=True)
        self.start([program], judged=True)


class GoStripped(whole.Load):
    """A Go program without symbols and DWARF, as release builds often are."""

    name = "go-stripped"
    needs = ("go",)

    def begin(self):
        program = f"{self.folder}/busy-go-stripped"
        subprocess.run(["go", "build", "-ldflags", "-s -w", "-o", program,
                        f"{whole.PROGRAMS}/busy.go"],
                       env={**os.environ, "GOCACHE": f"{self.folder}/cache", "GO111MODULE": "off"},
                       stdin=subprocess.DEVNULL, check=True)
        self.start([program], judged=True)


class RunTime(whole.Load):
    """A process with JIT-compiled code. Its files in /tmp are removed at the end."""

    warm_seconds = 3

    def __exit__(self, *_):
        super().__exit__()
        for pid in self.pids:
            for left in (f"/tmp/perf-{pid}.map", f"/tmp/.java_pid{pid}"):
                if os.path.lexists(left):
                    os.unlink(left)

    @property
    def pid(self):
        return next(iter(self.pids))


class Node(RunTime):
    name = "node"
    needs = ("node",)
    flags = ("--perf-basic-prof",)
    seconds = ()  # argument of busy.js: seconds until it exits; (): never

    def begin(self):
        self.start(["node", *self.flags, f"{PROGRAMS}/busy.js", *self.seconds], judged=True,
                   cwd=self.folder)


class Java(RunTime):
    name = "java"
    needs = ("java", "javac")
    flags = ()

    def begin(self):
        subprocess.run(["javac", "-d", self.folder, f"{PROGRAMS}/Busy.java"],
                       stdin=subprocess.DEVNULL, check=True)
        self.start(["java", *self.flags, "-cp", self.folder, "Busy"], judged=True, cwd=self.folder)


LOADS = {load.name: load for load in (
    whole.Redis, whole.Nginx, whole.Python, Node, Cxx, whole.Go, GoStripped, whole.Sqlite,
    whole.Compile)}
