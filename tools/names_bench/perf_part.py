"""Checks that stook names every frame that perf names: both sample the same load at the same time.

perf samples twice, along frame pointers and with copies of stacks that it unwinds later. Frames are
compared by the place of their code, not sample by sample. Places that only perf sampled are looked
up by stook afterwards: in files with print_symbols, in the kernel with print_kernel_names. In
JIT-compiled code and the vdso, stook must have named another place of the same function; otherwise
the function counts as not met.

    same       the same name
    alias      another name of the function in the symbol tables; for JavaScript the name without
               V8's prefix
    different  anything else: listed with the cause, according to the file's symbols
    unnamed    stook has no name: listed, too; there must be no such frame
    not met    stook did not sample that function, and there is no tool to look it up
    no call    what perf took for a return address follows no call, but is a function's first byte:
               a pointer that lay where a frame pointer was expected. perf names that function,
               stook what is before it, if anything
    only stook only stook has a name
    neither    neither has a name
"""
import functools
import os
import re
import signal
import subprocess
import tempfile
import time

from names_bench import elf_file, loads, perf_script, pprof
from names_bench.perf_script import KERNEL, RUN_TIME, VDSO, Place
from unwind_bench import samplers

SECONDS = float(os.environ.get("SECONDS_EACH", "5"))
FREQUENCY = 499
MODES = (("fp", ["-g"], False), ("dwarf", ["--call-graph", "dwarf"], True))
COLUMNS = ("same", "alias", "different", "unnamed", "not met", "no call", "only stook", "neither")
NR_NAMED_COLUMNS = COLUMNS.index("only stook")
V8_NAME = re.compile(r"^(JS|LazyCompile|Function|InterpretedFunction):([~^+*]?'?)(.*)$")
SHOWN = int(os.environ.get("SHOWN", "15"))  # lines for each kind of difference


# --- sampling ---------------------------------------------------------------------------------


def sample(load, folder):
    """Runs all samplers at the same time on the load's cgroup. Returns False if one of them
    failed."""
    group = os.path.basename(load.cgroup)
    commands = [["perf", "record", "-q", "-N", "-F", str(FREQUENCY), "-a", "-e", "cpu-clock",
                 "-G", group, *options, "-o", f"{folder}/{name}.data"]
                for name, options, _ in MODES]
    commands.append([samplers.stook, "profile", "-q", "-F", str(FREQUENCY), "--cgroup",
                     load.cgroup, "--by", "pid,comm", "--demangle", "no",
                     "-o", f"{folder}/x.pb.gz"])
    with open(f"{folder}/err", "wb") as err:
        running = [subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=err, stderr=err)
                   for command in commands]
        time.sleep(SECONDS + 0.5)
        for process in running:
            process.send_signal(signal.SIGINT)
        statuses = [process.wait() for process in running]
    return statuses[-1] == 0 and os.path.exists(f"{folder}/x.pb.gz")


# --- what stook says ----------------------------------------------------------------------------


class Stook:
    """Stook's names by place: from its samples, and from later lookups."""

    def __init__(self, samples):
        self.names, self.functions = {}, set()
        for frame in {frame for sample in samples for frame in sample.frames}:
            place = Place(kind_of(frame), frame.address)
            self.names[place] = frame.names[-1] if frame.names else ""
            self.functions.add((place.file, self.names[place]))

    def ask_later(self, places):
        """Looks up the places that were not sampled and are in files or in the kernel."""
        by_file = {}
        for place in places:
            if place not in self.names and (place.file.startswith("/") or place.file == KERNEL):
                by_file.setdefault(place.file, set()).add(place.address)
        for path, addresses in by_file.items():
            command = [program("print_kernel_names")] if path == KERNEL else \
                [program("print_symbols"), path]
            for address, name in ask(command, addresses):
                self.names[Place(path, address)] = name


def kind_of(frame):
    if frame.address >= 1 << 63:
        return KERNEL
    return frame.file.removesuffix(" (deleted)")


def program(name):
    """Returns the path of a tool of tests/tools; the variable PRINT_SYMBOLS, for example, overrides
    it."""
    return os.environ.get(name.upper(), f"{samplers.ROOT}/build/tests/tools/{name}")


def ask(command, addresses):
    """Yields (address, name) for each address."""
    done = subprocess.run(command, input="".join(f"{a:x}\n" for a in sorted(addresses)),
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    for line in done.stdout.splitlines():
        address, *names = line.split("\t")
        yield int(address, 16), "" if names[-1] == "??" else names[-1]


# --- judging ------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=None)
def kernel_names():
    """Returns {address: names}."""
    names = {}
    with open("/proc/kallsyms", encoding="ascii") as lines:
        for line in lines:
            address, _, name = line.split()[:3]
            names.setdefault(int(address, 16), set()).add(name)
    return names


def without_v8_word(name):
    """Returns the name as stook shows it: without V8's prefix, and `(anonymous)` if it is empty."""
    found = V8_NAME.match(name)
    if not found:
        return name
    word, mark, rest = found.groups()
    if word == "InterpretedFunction" and not mark:
        mark = "~"
    return mark + ("(anonymous)" if rest[:1] in ("", " ") else "") + rest


def follows_no_call(frame):
    """Returns True if the return address is the start of perf's symbol, and the file has no call
    before it."""
    if not frame.is_return or frame.start != frame.place.address + 1:
        return False
    elf = elf_file.elf_file(frame.place.file) if frame.place.file.startswith("/") else None
    return bool(elf) and not elf.is_behind_call(frame.start)


def are_aliases(frame, name):
    place = frame.place
    if place.file == KERNEL:
        return {name, frame.name} <= kernel_names().get(frame.start, set())
    if place.file == RUN_TIME:
        return without_v8_word(frame.name) == name
    symbols = elf_file.symbols_of(place.file) if place.file.startswith("/") else None
    return bool(symbols) and symbols.are_aliases(frame.name, name)


def verdict(frame, stook):
    """Returns (column, stook's name)."""
    name = stook.names.get(frame.place)
    if not frame.name:
        return "only stook" if name else "neither", name
    if name is None:
        met = any((frame.place.file, other) in stook.functions
                  for other in (frame.name, without_v8_word(frame.name)))
        return "same" if met else "not met", frame.name
    if name == frame.name:
        return "same", name
    if follows_no_call(frame):
        return "no call", name
    if not name:
        return "unnamed", name
    return "alias" if are_aliases(frame, name) else "different", name


def cause(frame, name):
    """Returns why the two names differ, according to the file's symbols."""
    place = frame.place
    if frame.is_return and frame.start == place.address + 1:
        return "a call at a function's end: perf names the next function"
    if frame.name == "@plt":
        return "a PLT stub of an IFUNC: perf has no name for it"
    if not place.file.startswith("/"):
        return f"in {place.file or frame.dso}"
    symbols = elf_file.symbols_of(place.file)
    section = symbols.elf.section_at(place.address)
    if not any(start == frame.start for start, *_ in symbols.by_name.get(frame.name, [])):
        return f"in {section}; no symbol {frame.name} is at {frame.start:x}"
    if not symbols.covers(frame.name, place.address):
        return f"in {section}; past the end of perf's symbol, or that has no size"
    kinds = {kind for _, _, kind, _ in symbols.by_name[frame.name]}
    if not kinds & {"FUNC", "IFUNC", "NOTYPE"}:
        return f"in {section}; perf's symbol is data"
    return f"in {section}; both names' symbols cover it" if symbols.covers(name, place.address) \
        else f"in {section}; only perf's symbol covers it"


class Judgement:
    """Sums by column: of different frames (place and perf's name), and of samples."""

    def __init__(self, frames, stook):
        self.places = dict.fromkeys(COLUMNS, 0)
        self.listed = {"alias": [], "different": [], "unnamed": [], "not met": []}
        for frame, count in sorted(frames.items(), key=lambda item: -item[1]):
            column, name = verdict(frame, stook)
            self.places[column] += 1
            if column in self.listed:
                self.listed[column].append((frame, name, count))

    def nr_named(self):
        return sum(self.places[column] for column in COLUMNS[:NR_NAMED_COLUMNS])


def tell(judgement, title, say):
    for column in ("different", "unnamed"):
        found = judgement.listed[column]
        for frame, name, count in found[:SHOWN]:
            say(f"    {title} {column}: {frame.place.file or frame.dso} {frame.place.address:x}:"
                f" perf {frame.name}, stook {name or '-'}, {count} frames: {cause(frame, name)}")
        if len(found) > SHOWN:
            say(f"    {title} {column}: {len(found) - SHOWN} more (SHOWN=…)")
    aliases = sorted({f"{frame.name} = {name}" for frame, name, _ in judgement.listed["alias"]})
    if aliases:
        say(f"    {title} alias: {', '.join(aliases[:SHOWN])}")
    not_met = sorted({f"{frame.name} ({frame.dso})" for frame, *_ in judgement.listed["not met"]})
    if not_met:
        say(f"    {title} not met: {', '.join(not_met)}")


# --- the table ----------------------------------------------------------------------------------


def measure(load, folder, say):
    """Returns the rows of the table, {mode: Judgement}; None if sampling failed."""
    with load:
        if not sample(load, folder):
            say(f"NO {load.name}: {samplers.read_text(f'{folder}/err')[-200:]}")
            return None
        stook = Stook(pprof.read(f"{folder}/x.pb.gz"))
        rows = {}
        for mode, _, is_unwound in MODES:
            frames = perf_script.read(f"{folder}/{mode}.data", is_unwound)
            stook.ask_later({frame.place for frame in frames})
            rows[mode] = Judgement(frames, stook)
        return rows


def print_row(load, mode, judgement):
    figures = " | ".join(str(judgement.places[column]) for column in COLUMNS)
    print(f"| {load.name} | {mode} | {judgement.nr_named()} | {figures} |", flush=True)


def run(names, say):
    """Returns False if perf names a frame that stook does not name."""
    print(f"\nFrames by place of their code, {SECONDS:g} s of each load at {FREQUENCY} Hz;"
          f" {samplers.versions()}.\n")
    print("| load | perf | frames that perf names | " + " | ".join(COLUMNS) + " |")
    print("|---|---|" + "---|" * (len(COLUMNS) + 1))
    good = True
    for tool in ("print_symbols", "print_kernel_names"):
        if not os.access(program(tool), os.X_OK):
            say(f"NO perf: {program(tool)} is not built: make programs")
            return False
    for name in names or loads.LOADS:
        with tempfile.TemporaryDirectory(prefix="stook-names.") as folder:
            load = loads.LOADS[name](folder)
            why = load.missing()
            if why:
                say(f"NO {name}: {why}")
                continue
            rows = measure(load, folder, say) or {}
            for mode, judgement in rows.items():
                print_row(load, mode, judgement)
                tell(judgement, f"{name} {mode}", say)
                good &= not judgement.places["unnamed"] and judgement.nr_named() > 0
            good &= bool(rows)
    return good
