"""Starts short-lived programs, two at a time, until it is killed: starter.py LOG GCC_ARG…

Each needs 50 to 200 ms of CPU time. LOG gets a line `pid cpu_us` for
each that has no children of its own.
"""
import os
import sys

AT_A_TIME = 2
WORK = {
    "python": ["/usr/bin/python3", "-c",
               "import json, re\nfor i in range(12): json.loads(json.dumps(list(range(5000))));"
               " re.sub('[0-9]', lambda m: m.group(0), str(i) * 1000)"],
    "perl": ["/usr/bin/perl", "-e",
             "for my $i (1..2) { my %h = map { $_ => \"$_\" } 1..20000;"
             " my @s = sort { $h{$a} cmp $h{$b} } keys %h }"],
    "sqlite": ["/usr/bin/sqlite3", ":memory:",
               "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000)"
               " SELECT count(*) FROM (SELECT printf('%05d', i * 7919 % 50000) t FROM n"
               " ORDER BY t)"],
    "awk": ["/usr/bin/awk", "BEGIN { for (i = 0; i < 150000; i++) a[i % 5000] = a[i % 5000] i % 7;"
            " for (i in a) n += length(a[i]); print n }"],
    "gcc": ["/usr/bin/gcc", "-O2", "-c", "-o", "/dev/null"],
}


def start(command):
    actions = [(os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_RDWR, 0) for fd in (0, 1, 2)]
    return os.posix_spawn(command[0], command, os.environ, file_actions=actions)


def main(log_path, *gcc_args):
    WORK["gcc"] += gcc_args
    turn, running = 0, {}
    with open(log_path, "w", encoding="ascii", buffering=1) as log:
        while True:
            while len(running) < AT_A_TIME:
                name = list(WORK)[turn % len(WORK)]
                running[start(WORK[name])] = name
                turn += 1
            pid, _, usage = os.wait4(-1, 0)
            if running.pop(pid) != "gcc":
                log.write(f"{pid} {int((usage.ru_utime + usage.ru_stime) * 1e6)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
