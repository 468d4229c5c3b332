#!/usr/bin/env python3
"""Runs a command as in a kernel without seccomp: without_seccomp.py COMMAND ARG…

A filter lets seccomp() and prctl(PR_SET_SECCOMP) fail as they do there.
"""
import ctypes
import errno
import os
import platform
import struct
import sys

SECCOMP, PRCTL = {"x86_64": (317, 157), "aarch64": (277, 167)}[platform.machine()]
PR_SET_SECCOMP, MODE_FILTER = 22, 2
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06  # instructions of classic BPF
NUMBER, FIRST_ARGUMENT = 0, 16  # offsets in struct seccomp_data
FAIL, ALLOW = 0x50000, 0x7FFF0000

LINES = (
    (LOAD, 0, 0, NUMBER),
    (EQUAL, 0, 1, SECCOMP),
    (RETURN, 0, 0, FAIL | errno.ENOSYS),
    (EQUAL, 0, 3, PRCTL),
    (LOAD, 0, 0, FIRST_ARGUMENT),
    (EQUAL, 0, 1, PR_SET_SECCOMP),
    (RETURN, 0, 0, FAIL | errno.EINVAL),
    (RETURN, 0, 0, ALLOW),
)

code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in LINES))
program = struct.pack("HL", len(LINES), ctypes.addressof(code))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.c_char_p(program), 0, 0) != 0:
    sys.exit("without_seccomp.py: " + os.strerror(ctypes.get_errno()))
os.execvp(sys.argv[1], sys.argv[1:])
