#!/usr/bin/env python3
"""Types into an interactive shell on a terminal of its own: type_keys.py SHELL SETUP KEYS…

SETUP defines a function `stook` that prints `GOT:` and its arguments in <>. Each KEYS ends in a
newline; what it made stook get is printed, one line each, `nothing` after five seconds of silence.
"""
import os
import pty
import re
import select
import sys
import time

ARGUMENTS = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"]}
LIMIT_S = 5


def read_until(fd, pattern):
    text, end = "", time.monotonic() + LIMIT_S
    while not (found := re.search(pattern, text)) and time.monotonic() < end:
        if select.select([fd], [], [], 0.1)[0]:
            text += os.read(fd, 65536).decode(errors="replace")
    return found.group(1) if found else "nothing"


def main():
    shell, setup, *all_keys = sys.argv[1:]
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.update(TERM="dumb", LC_ALL="C.UTF-8", PS1="> ")
        os.execvp(shell, ARGUMENTS[shell])
    os.write(fd, (setup + "; stook re''ady\n").encode())
    read_until(fd, r"GOT:(<ready>)")
    for keys in all_keys:
        os.write(fd, keys.encode().decode("unicode_escape").encode())
        print(read_until(fd, r"GOT:(<.*>)"))
    os.write(fd, b"exit\n")
    os.close(fd)
    os.waitpid(pid, 0)


main()
