"""Frames that perf names, keyed by where their code is: the same place as in a pprof file.

perf prints for a file the offset of the code in it, for the kernel and for JIT-compiled code
the address itself. Return addresses are looked up by perf as they are where the kernel walked the
stack, and less one where perf unwound it from a copy.
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
    file: str     # a path, or one of the above; "" for code in nothing that is known
    address: int  # as linked, or in memory; a return address less one


@dataclass(frozen=True)
class PerfFrame:
    place: Place
    name: str       # "" if perf has none
    start: int      # of perf's symbol, in the same terms as the address
    is_return: bool  # perf looked the return address itself up
    dso: str


def read(path, is_unwound):
    """{PerfFrame: how many samples' frames it was}"""
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
    """Leaf first. The first frames of the kernel's part and of the user's are no return
    addresses."""
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
    """`read@@GLIBC_2.2.5` is read; `read@plt` is something else."""
    return name if name.endswith("@plt") else name[:1] + name[1:].partition("@")[0]


def place_of(address, dso, is_kernel):
    """(file, address as it has it)"""
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
