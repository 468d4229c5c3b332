"""Frames that perf names, keyed by where their code is: the same place as in a pprof file.

For code in files perf prints file offsets, for the kernel and JIT-compiled code addresses. If the
kernel walked the stack, perf looks up return addresses unchanged; if perf unwound a copy of the
stack, it subtracts one first.
"""
import re
import subprocess
from dataclasses import dataclass

from names_bench import elf_file
from unwind_bench.stacks import FRAME, HEAD, LOWEST_KERNEL_ADDRESS

KERNEL, RUN_TIME, VDSO = "[kernel]", "[JIT]", "[vdso]"
MAP_FILE = re.compile(r"/perf-\d+\.map$")
OFFSET = re.compile(r"\+0x([0-9a-f]+)$")


@dataclass(frozen=True)
class Place:
    file: str     # a path, or one of the above; "" if unknown
    address: int  # link-time or memory address; return address - 1


@dataclass(frozen=True)
class PerfFrame:
    place: Place
    name: str       # "" if perf has none
    start: int      # of perf's symbol, the same kind of address
    is_return: bool  # perf looked up the return address, not the byte before
    dso: str


def read(path, is_unwound):
    """Returns {PerfFrame: number of its occurrences in all samples}."""
    frames, chain = {}, []
    with subprocess.Popen(["perf", "script", "-i", path, "--no-inline", "--no-demangle",
                           "-F", "comm,pid,ip,sym,symoff,dso"], stdin=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                          errors="replace") as script:
        for line in script.stdout:
            found = FRAME.match(line)
            if found:
                chain.append(found.groups())
            elif HEAD.match(line) or not line.strip():
                take_chain(frames, chain, is_unwound)
                chain = []
    take_chain(frames, chain, is_unwound)
    return frames


def take_chain(frames, chain, is_unwound):
    """chain: leaf first. The first frame of the kernel part, and of the user part, is not a return
    address."""
    last_was_kernel = None
    for text, name, dso in chain:
        address = int(text, 16)
        is_kernel = address >= LOWEST_KERNEL_ADDRESS
        is_first = is_kernel != last_was_kernel
        last_was_kernel = is_kernel
        is_return = not is_first and (is_kernel or not is_unwound)
        frame = frame_of(address, name, dso, is_kernel, is_return)
        frames[frame] = frames.get(frame, 0) + 1


def frame_of(address, name, dso, is_kernel, is_return):
    offset = OFFSET.search(name)
    start = address - int(offset.group(1), 16) if offset else address
    name = without_version(OFFSET.sub("", name))
    place, linked = place_of(address, dso, is_kernel)
    return PerfFrame(Place(place, linked - is_return), "" if name == "[unknown]" else name,
                     start + linked - address, is_return, dso)


def without_version(name):
    """Removes a symbol version: `read@@GLIBC_2.2.5` becomes `read`. `read@plt` stays."""
    return name if name.endswith("@plt") else name[:1] + name[1:].partition("@")[0]


def place_of(address, dso, is_kernel):
    """Returns (file, address in its own terms: link-time or memory)."""
    path = dso.removesuffix(" (deleted)")
    if is_kernel:
        return KERNEL, address
    if MAP_FILE.search(path):
        return RUN_TIME, address
    if path == VDSO:
        return VDSO, address
    elf = elf_file.elf_file(path) if path.startswith("/") else None
    linked = elf.address_of(address) if elf else None
    return ("", address) if linked is None else (path, linked)
