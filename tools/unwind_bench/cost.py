"""Measures the cost of walking stacks: BPF time per sample and per frame, and the load's throughput.

Time: redis-server runs alone on the first CPU, its clients on the last one; only the first CPU is
sampled. The kernel's statistics give the BPF time of a sample, without user stacks (-K) and with
them; the difference, divided by the mean number of user frames, is the cost of a frame. Other tasks
on that CPU are included in these figures; the share of redis-server shows how much.

Throughput: the same number of requests with each sampler in turn, in random order in each round. A
profiler cannot avoid the cost of a timer interrupt and a BPF program: the figures of each round are
compared with those of an empty program at the same rate in that round. Besides requests per second,
which depend on both sides and the scheduler, the table has the server's CPU time per request, which
varies less.
"""
import math
import os
import random
import statistics
import subprocess
import tempfile
import time

from unwind_bench import loads, samplers

BPF_STATS = "/proc/sys/kernel/bpf_stats_enabled"
REQUESTS = int(os.environ.get("REQUESTS", "150000"))
SECONDS = int(os.environ.get("SECONDS_EACH", "6"))
SETTLE_SECONDS = 2  # time that the slowest sampler needs until it samples
LEAST_REDIS_PERCENT = 90
EMPTY = "empty"
NONE = "none"

# Student's t for 95 %, two-sided, by degrees of freedom; from 30 on the normal distribution's
STUDENT = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14,
           2.13, 2.12, 2.11, 2.10, 2.09, 2.09, 2.08, 2.07, 2.07, 2.06, 2.06, 2.06, 2.05, 2.05, 2.05]


class PinnedRedis(loads.Redis):
    """The server runs on the first CPU, clients on the last one."""

    name = "redis-pinned"
    needs = ("redis-server", "redis-benchmark", "taskset")

    def begin(self):
        self.server = self.start_server(("taskset", "-c", "0"))

    def client(self, *more):
        return ["taskset", "-c", str(os.cpu_count() - 1), "redis-benchmark", "-p", str(self.port),
                "-c", "20", "-r", "100000", "-d", "64", "-t", "get,set", "-q", *more]

    def cpu_ns(self):
        """Returns the CPU time of the server's main thread, from the scheduler's statistics."""
        return int(samplers.read_text(f"/proc/{self.server.pid}/schedstat").split()[0])


# --- BPF time ---------------------------------------------------------------------------------


def bpf_time_once(variant, options):
    """Returns (ns per sample, mean user frames of all samples, percent of samples in
    redis-server)."""
    with tempfile.TemporaryDirectory(prefix="stook-bench.") as folder:
        sampler = samplers.Stook(variant, options + ["-C", "0"])
        why = sampler.run(SECONDS, folder)
        if why:
            raise RuntimeError(f"{variant}: {why}")
        stats = sampler.stats(folder)
        seen = list(sampler.stacks(folder))
    samples = sum(stack.count for stack in seen)
    frames = sum(stack.count * len(stack.frames) for stack in seen)
    redis = sum(stack.count for stack in seen if stack.comm == "redis-server")
    return stats["bpf_ns"] / stats["bpf_runs"], frames / samples, 100 * redis / samples


def bpf_time(variants, rounds, say):
    """Returns {name: [one tuple per round]}. The kernel's BPF statistics are enabled meanwhile."""
    runs = [("kernel stacks only", ["-K"])] + variants
    figures = {name: [] for name, _ in runs}
    before = samplers.read_text(BPF_STATS).strip()
    try:
        write(BPF_STATS, "1")
        with tempfile.TemporaryDirectory(prefix="stook-bench.") as folder:
            with PinnedRedis(folder) as redis:
                redis.start(redis.client("-n", "100000", "-l"))
                time.sleep(1)
                for number in range(rounds):
                    for name, options in runs:
                        figures[name].append(bpf_time_once(name, options))
                        say(f"round {number + 1} {name}: %.0f ns, %.1f frames, %.0f %% redis"
                            % figures[name][-1])
    finally:
        write(BPF_STATS, before)
    return figures


def warn_if_busy(figures, say):
    """Warns about other work on the machine, which is included in the figures and slows down the
    load."""
    share = statistics.median(run[2] for runs in figures.values() for run in runs)
    if share < LEAST_REDIS_PERCENT:
        say(f"THIS MACHINE IS BUSY: only {share:.0f} % of samples on the server's CPU are the"
            " server's; these figures say little")


def print_bpf_time(figures):
    base = statistics.median(run[0] for run in figures["kernel stacks only"])
    print("\n| BPF time | ns a sample | user frames | ns a frame | samples of redis |"
          "\n|---|---|---|---|---|")
    for name, runs in figures.items():
        ns, frames, redis = (statistics.median(column) for column in zip(*runs))
        frame = f"{(ns - base) / frames:.0f}" if frames else "–"
        print(f"| {name} | {ns:.0f} | {frames:.1f} | {frame} | {redis:.0f} % |")


def write(path, text):
    with open(path, "w", encoding="ascii") as stream:
        stream.write(text)


# --- throughput -------------------------------------------------------------------------------


def build_empty_sampler(folder):
    """Returns the command that runs an empty BPF program at the same rate."""
    program = f"{folder}/empty_sampler"
    subprocess.run(["cc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", f"-I{samplers.ROOT}/src",
                    f"-I{samplers.ROOT}", "-o", program,
                    f"{samplers.ROOT}/tests/tools/empty_sampler.c", "-lbpf", "-lelf", "-lz"],
                   check=True)
    return [program, str(samplers.FREQUENCY)]


def command_of(sampler, folder, empty):
    if sampler == NONE:
        return None
    if sampler == EMPTY:
        return empty
    return sampler.command(loads.UNTIL_KILLED_SECONDS, folder)


def name_of(sampler):
    return sampler if isinstance(sampler, str) else sampler.name


def throughput_once(redis, sampler, empty):
    """Returns (requests per second, server CPU µs per request) while this sampler runs."""
    with tempfile.TemporaryDirectory(prefix="stook-bench.") as folder:
        command, beside = command_of(sampler, folder, empty), None
        if command:
            with open(f"{folder}/err", "wb") as err:
                beside = subprocess.Popen(command, **{**loads.QUIET, "stderr": err})
            time.sleep(SETTLE_SECONDS)
        try:
            figures = serve(redis)
        finally:
            died = beside and beside.poll()
            if beside:
                samplers.stop(beside)
        if died is not None:
            raise RuntimeError(f"ended with status {died} before its time: "
                               + samplers.read_text(f"{folder}/err")[-200:])
    return figures


def serve(redis):
    """Returns (requests per second, server CPU µs per request) of a fixed number of requests."""
    requests = 2 * REQUESTS  # gets and sets
    cpu_before, begin = redis.cpu_ns(), time.monotonic()
    subprocess.run(redis.client("-n", str(REQUESTS)), **loads.QUIET, check=True)
    seconds, cpu_ns = time.monotonic() - begin, redis.cpu_ns() - cpu_before
    return requests / seconds, cpu_ns / 1000 / requests


def throughput(usable, rounds, say):
    """Returns {name: [one tuple per round]}; samplers that fail are removed."""
    order = [NONE, EMPTY, *usable]
    figures = {name_of(sampler): [] for sampler in order}
    with tempfile.TemporaryDirectory(prefix="stook-bench.") as folder:
        empty = build_empty_sampler(folder)
        with PinnedRedis(folder) as redis:
            throughput_once(redis, NONE, empty)  # creates the keys
            for number in range(rounds):
                for name, run in throughput_round(redis, order, empty, say):
                    figures[name].append(run)
                    say(f"round {number + 1} {name}: %.0f/s, %.3f us" % run)
    return {name: runs for name, runs in figures.items() if len(runs) == rounds}


def throughput_round(redis, order, empty, say):
    """Runs every sampler once, in random order, and removes the ones that fail."""
    for sampler in random.sample(order, len(order)):
        try:
            yield name_of(sampler), throughput_once(redis, sampler, empty)
        except RuntimeError as why:
            say(f"NO {name_of(sampler)} from now on: {why}")
            order.remove(sampler)


def mean_and_interval(values):
    """Returns the mean, and half the width of its 95 % confidence interval."""
    if len(values) < 2:
        return values[0], math.inf
    degrees = len(values) - 1
    t = STUDENT[degrees - 1] if degrees <= len(STUDENT) else 1.96
    return statistics.mean(values), t * statistics.stdev(values) / math.sqrt(len(values))


def percent_more(figures, name, column):
    """Returns by how many percent the figures of each round exceed those of the empty program."""
    pairs = zip(figures[name], figures[EMPTY])
    return mean_and_interval([100 * (own[column] / empty[column] - 1) for own, empty in pairs])


def print_throughput(figures):
    rounds = len(figures[EMPTY])
    print(f"\n{rounds} rounds of {2 * REQUESTS} requests; against the empty BPF program at the same"
          " rate, mean of the rounds' differences and 95 % confidence interval.\n")
    print("| beside | requests a second | against empty, % | server CPU a request, µs "
          "| against empty, % |\n|---|---|---|---|---|")
    for name, runs in figures.items():
        rate, cpu = (statistics.median(column) for column in zip(*runs))
        cells = ["–", "–"] if name == EMPTY else [
            "%+.2f ± %.2f" % percent_more(figures, name, column) for column in (0, 1)]
        print(f"| {name} | {rate:.0f} | {cells[0]} | {cpu:.3f} | {cells[1]} |")
