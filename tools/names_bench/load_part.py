"""Measures the cost of the symbols of large files, compared with their size, addr2line, llvm-symbolizer
and perf.

The largest is made here: 400,000 functions in 130 MB, with names as long as those of C++. Three
tables: the symbol table alone (tests/tools/symbol_cost.c); whole processes that look up one
address, and 10,000 (for stook print_symbols); and `perf script` for samples of the generated
program, compared with stook for the same addresses. Cold means that files were dropped from the
page cache before. Ratios are to stook's time.
"""
import importlib.machinery
import importlib.util
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from names_bench import elf_file, perf_script
from names_bench.perf_part import program
from unwind_bench import samplers

ROUNDS = int(os.environ.get("ROUNDS", "5"))
FUNCTIONS = int(os.environ.get("FUNCTIONS", "400000"))
FUNCTION_BYTES = 260
NR_ADDRESSES = 10000
LIMIT_SECONDS = 60
OTHERS = ("/usr/bin/node", "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1",
          "/usr/lib/chromium/chromium")
PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")

# Goals for the generated file.
MOST_SECONDS, MOST_MEMORY, LEAST_LOOKUPS = 0.3, 1.5, 1e6


def load_script(name):
    """Imports a script of tools/ whose name is not a valid module name."""
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"),
                                                  f"{samplers.ROOT}/tools/{name}")
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


bench_lines = load_script("bench-lines")


def make_big_file(folder):
    with open(f"{folder}/big.s", "wb") as source:
        subprocess.run([sys.executable, f"{PROGRAMS}/big_file.py", str(FUNCTIONS),
                        str(FUNCTION_BYTES)], stdout=source, check=True)
    subprocess.run(["gcc", "-nostdlib", "-static", "-Wl,--build-id", "-o", f"{folder}/big",
                    f"{folder}/big.s"], check=True)
    os.unlink(f"{folder}/big.s")
    return f"{folder}/big"


# --- the table itself -------------------------------------------------------------------------


def symbol_cost(path, runs):
    """Returns the figures in the only row that symbol_cost prints."""
    done = subprocess.run([program("symbol_cost"), "-n", str(runs), path], check=True,
                          stdout=subprocess.PIPE, text=True)
    words = done.stdout.splitlines()[1].split()
    return dict(zip(("symbols", "table", "held", "held_ratio", "peak_ratio", "first_ms", "load_ms",
                     "lookups"), map(float, words)))


def cold_first_ms(path):
    figures = []
    for _ in range(ROUNDS):
        bench_lines.make_cold(path)
        figures.append(symbol_cost(path, 1)["first_ms"])
    return statistics.median(figures)


def print_tables(paths):
    """Returns True if the first file, the generated one, meets the goals."""
    print("\n| file | MB | functions | bytes of its tables, MB | held, of these "
          "| at most, of these | first lookup, cold, ms | warm, ms | lookups/s |")
    print("|---" * 9 + "|")
    kept = []
    for path in paths:
        cold, warm = cold_first_ms(path), symbol_cost(path, 11)
        print(f"| {os.path.basename(path)} | {os.path.getsize(path) / 1e6:.0f}"
              f" | {warm['symbols']:,.0f} | {warm['table'] / 1e6:.1f} | {warm['held_ratio']:.2f}"
              f" | {warm['peak_ratio']:.2f} | {cold:.1f} | {warm['first_ms']:.1f}"
              f" | {warm['lookups']:,.0f} |", flush=True)
        kept.append(cold <= 1000 * MOST_SECONDS and warm["peak_ratio"] <= MOST_MEMORY
                    and warm["lookups"] >= LEAST_LOOKUPS)
    return kept[0]


# --- whole processes --------------------------------------------------------------------------


def tools(path):
    """Yields (name, command); the first one is stook."""
    yield "stook", [program("print_symbols"), path]
    if shutil.which("addr2line"):
        yield "addr2line", ["addr2line", "-f", "-e", path]
    symbolizer = shutil.which("llvm-symbolizer-14") or shutil.which("llvm-symbolizer")
    if symbolizer:
        yield "llvm-symbolizer", [symbolizer, f"--obj={path}", "-f", "--no-inlines",
                                  "--no-demangle"]


def random_addresses(path, nr):
    sections = elf_file.elf_file(path).code_sections()
    chance = random.Random(1)
    chosen = chance.choices(sections, [section.size for section in sections], k=nr)
    return [section.address + chance.randrange(section.size) for section in chosen]



def measure(path, nr, is_cold, rounds):
    """Returns {tool: (seconds, MiB), or None if it failed or took too long}."""
    figures = {name: [] for name, _ in tools(path)}
    with tempfile.NamedTemporaryFile("w", prefix="stook-names.") as questions:
        questions.writelines(f"0x{address:x}\n" for address in random_addresses(path, nr))
        questions.flush()
        for _ in range(rounds):
            for name, command in tools(path):
                if is_cold:
                    bench_lines.make_cold(path)
                figures[name].append(run_tool(command, questions.name))
    return {name: None if None in runs else (statistics.median(seconds for seconds, _ in runs),
                                             max(mib for _, mib in runs))
            for name, runs in figures.items()}


def run_tool(command, questions):
    """Returns seconds and MiB. The peak is from GNU time: a direct child would inherit the peak of
    this process."""
    with open(questions, "rb") as stdin, tempfile.NamedTemporaryFile("r") as peak:
        begin = time.monotonic()
        done = subprocess.run(["/usr/bin/time", "-q", "-f", "%M", "-o", peak.name, "timeout",
                               str(LIMIT_SECONDS), *command], stdin=stdin, check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        seconds = time.monotonic() - begin
        return None if done.returncode else (seconds, int(peak.read()) / 1024)


def print_processes(paths):
    print("\n| file | addresses | page cache | " + " | ".join(
        f"{name} | its memory" for name, _ in tools(paths[0])) + " |")
    print("|---" * (3 + 2 * len(list(tools(paths[0])))) + "|")
    for path in paths:
        for nr, is_cold in ((1, True), (1, False), (NR_ADDRESSES, False)):
            figures = measure(path, nr, is_cold, ROUNDS if nr == 1 else 1)
            own = figures["stook"][0] if figures["stook"] else None
            print(f"| {os.path.basename(path)} | {nr:,} | {'cold' if is_cold else 'warm'} | "
                  + " | ".join(cell(figure, own) for figure in figures.values()) + " |",
                  flush=True)


def cell(figure, own):
    if not figure:
        return f"> {LIMIT_SECONDS} s, or failed | –"
    seconds, mib = figure
    ratio = f" ({seconds / own:.1f})" if own and seconds != own else ""
    return f"{seconds:.3f} s{ratio} | {mib:.0f} MiB"


# --- perf script ------------------------------------------------------------------------------


def script_seconds(data):
    """Returns the median time of `perf script` with a warm page cache."""
    figures = []
    for _ in range(ROUNDS):
        begin = time.monotonic()
        subprocess.run(["perf", "script", "-i", data, "--no-inline", "-F", "ip,sym"], check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        figures.append(time.monotonic() - begin)
    return statistics.median(figures)


def record(path, data):
    """Records the program with perf for three seconds."""
    with subprocess.Popen([path], stdin=subprocess.DEVNULL) as process:
        subprocess.run(["perf", "record", "-q", "-N", "-F", "999", "-e", "cpu-clock:u", "-g", "-p",
                        str(process.pid), "-o", data, "--", "sleep", "3"],
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=True)
        process.kill()


def print_perf(path, folder):
    """Compares the time of `perf script` for samples of the generated file with stook for the same
    addresses."""
    data = f"{folder}/perf.data"
    record(path, data)
    frames = perf_script.read(data, False)
    addresses = {frame.place.address for frame in frames if frame.place.file == path}
    with open(f"{folder}/questions", "w", encoding="ascii") as questions:
        questions.writelines(f"{address:x}\n" for address in addresses)
    own = statistics.median(
        run_tool([program("print_symbols"), path], f"{folder}/questions")[0]
        for _ in range(ROUNDS))
    named = script_seconds(data)
    print(f"\n| {sum(frames.values())} samples of {os.path.basename(path)}, {len(addresses)} places"
          " | time | ratio |\n|---|---|---|")
    print(f"| stook, these places | {own:.3f} s | 1 |")
    print(f"| perf script, these samples | {named:.3f} s | {named / own:.1f} |", flush=True)


def run(paths, say):
    """Returns False if the generated file misses a goal."""
    for name in ("symbol_cost", "print_symbols"):
        if not os.access(program(name), os.X_OK):
            say(f"NO load: {program(name)} is not built: make programs")
            return False
    others = [path for path in paths or OTHERS if os.path.exists(path)]
    with tempfile.TemporaryDirectory(prefix="stook-names.", dir="/var/tmp") as folder:
        say(f"making a program of {FUNCTIONS:,} functions")
        big = make_big_file(folder)
        print(f"\nSymbols of large files; {samplers.versions()}.")
        good = print_tables([big, *others])
        print_processes([big, *others])
        print_perf(big, folder)
    return good
