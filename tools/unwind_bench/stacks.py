"""Reads the output of the tools into stacks, and decides if a stack is complete.

A user stack is complete if one of its outermost frames is in the start code of programs or threads.
This shows that a walk reached the start, not that it missed no frame on its way; the mean depth is
reported for that: a walker that skips callers has fewer frames.

The same rule holds for every tool, by names. A stripped program has no symbol for its entry point: stook shows it as
_start; for perf, which prints [unknown], its address is compared. bcc prints no addresses; libc's start code is
used instead.
"""
import functools
import os
import re
import struct
from dataclasses import dataclass

OUTERMOST = 4

BEGINNINGS = {
    "main", "_start", "_dl_start_user", "clone", "__clone", "clone3", "__clone3", "thread_start",
    "start_thread", "__libc_start_main", "__libc_start_main_alias_2", "__libc_start_main_impl",
    "__libc_start_call_main",
    # where Go's own tracebacks end, see runtime.topofstack()
    "runtime.goexit", "runtime.mstart", "runtime.mcall", "runtime.morestack", "runtime.rt0_go",
    "_rt0_amd64", "_rt0_amd64_linux", "_rt0_arm64_linux",
}

# A stripped libc has no symbol for the function that calls a thread's start function. In Rust, the
# start function itself has a symbol.
RUST_THREAD = re.compile(r"^<?std::sys::.*::Thread>?::new::thread_start$")

MISSED = "[Missed User Stack]"
LOWEST_KERNEL_ADDRESS = 1 << 63
ENTRY_BYTES = 0x30


@dataclass
class Stack:
    """`count` samples with these user frames, outermost first. pid None: not in the tool's
    output."""

    comm: str
    pid: int
    frames: tuple
    count: int

    def is_complete(self):
        return any(plain(name) in BEGINNINGS or RUST_THREAD.match(name)
                   for name in self.frames[:OUTERMOST])


def plain(name):
    """Removes the symbol version and Go's ABI suffix."""
    return name.partition("@")[0].removesuffix(".abi0")


# --- folded stacks: stook, bcc ----------------------------------------------------------------


SINCE_BEFORE = "[since before the run]"


def read_folded(path, with_pid, states=None):
    """Parses lines of `comm;user;…;-;kernel_[k];… count`. with_pid: the first word is comm-PID. states: off-CPU time,
    whose second word is the state; only of these, and without waits since before the run, which have no user stack."""
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            text, _, count = line.rstrip("\n").rpartition(" ")
            comm, *frames = text.split(";")
            pid = None
            if with_pid:
                comm, _, number = comm.rpartition("-")
                pid = int(number) if number.isdigit() else None
            if states:
                state, *frames = frames or [""]
                if state.strip("[]") not in states or SINCE_BEFORE in frames:
                    continue
            if text and count.isdigit():
                yield Stack(comm, pid, user_part(frames), int(count))


def user_part(frames):
    if "-" in frames:
        return tuple(frames[:frames.index("-")])
    return tuple(name for name in frames if not name.endswith("_[k]"))


# --- perf script ------------------------------------------------------------------------------

HEAD = re.compile(r"^\s*(\S.*?)\s+(\d+)\s*$")
FRAME = re.compile(r"^\s+([0-9a-f]+) (.*) \((.*)\)$")


def read_perf_script(stream):
    """Parses `perf script -F comm,pid,ip,sym,dso`: a header, its frames leaf first, an empty
    line."""
    head, frames = None, []
    for line in stream:
        frame = FRAME.match(line)
        if frame:
            frames.append(frame.groups())
            continue
        if head:
            yield perf_stack(head, frames)
        found = HEAD.match(line)
        head, frames = (found.groups() if found else None), []
    if head:
        yield perf_stack(head, frames)


def perf_stack(head, frames):
    user = [(int(address, 16), name, path) for address, name, path in reversed(frames)]
    names = tuple("_start" if is_entry(path, address) else name
                  for address, name, path in user if address < LOWEST_KERNEL_ADDRESS)
    return Stack(head[0], int(head[1]), names, 1)


def is_entry(path, address):
    """perf prints file offsets or link-time addresses."""
    return any(begin <= address < begin + ENTRY_BYTES for begin in entry_points(path))


@functools.lru_cache(maxsize=None)
def entry_points(path):
    """Returns the entry point of a 64-bit little-endian ELF file, (address, file offset), or ()."""
    try:
        if not os.path.isfile(path):
            return ()
        with open(path, "rb") as elf:
            return parse_entry(elf)
    except (OSError, struct.error):
        return ()


def parse_entry(elf):
    head = elf.read(64)
    if head[:6] != b"\x7fELF\x02\x01":
        return ()
    entry, table = struct.unpack_from("<QQ", head, 24)
    entry_bytes, nr = struct.unpack_from("<HH", head, 54)
    for i in range(nr if entry else 0):
        elf.seek(table + i * entry_bytes)
        kind, _, offset, address, _, size = struct.unpack("<IIQQQQ", elf.read(40))
        if kind == 1 and address <= entry < address + size:  # PT_LOAD
            return entry, entry - address + offset
    return ()


def is_named(frame):
    """Returns False for [unknown] and the like, and for names that are only an offset in a file."""
    return not re.search(r"^\[.*\]$|\+0x[0-9a-f]+$", frame)


# --- the verdict ------------------------------------------------------------------------------


class Verdict:
    """Counts user samples by how their stacks end."""

    def __init__(self):
        self.samples = self.complete = self.frames = self.without_user = 0
        self.named = 0       # samples whose innermost user frame has a name
        self.functions = set()  # different functions, by name or start
        self.broken = {}     # outermost frames of a truncated stack: samples
        self.of_process = {}  # pid: [samples, complete, samples without a user part]

    def add(self, stack):
        process = self.of_process.setdefault(stack.pid, [0, 0, 0])
        if not stack.frames:
            self.without_user += stack.count
            process[2] += stack.count
            return
        complete = stack.is_complete()
        self.samples += stack.count
        self.frames += stack.count * (len(stack.frames) if stack.frames[0] != MISSED else 0)
        process[0] += stack.count
        self.named += stack.count if is_named(stack.frames[-1]) else 0
        self.functions.update(name for name in stack.frames if not name.startswith("["))
        if complete:
            self.complete += stack.count
            process[1] += stack.count
        else:
            end = f"{stack.comm}: " + ";".join(stack.frames[:3])
            self.broken[end] = self.broken.get(end, 0) + stack.count

    def percent(self):
        return 100 * self.complete / self.samples if self.samples else None

    def mean_frames(self):
        return self.frames / self.samples if self.samples else 0

    def worst(self, nr):
        return sorted(self.broken.items(), key=lambda item: -item[1])[:nr]


def judge(stacks):
    verdict = Verdict()
    for stack in stacks:
        verdict.add(stack)
    return verdict
