"""Writes assembly of a program with very many functions: big_file.py FUNCTIONS BYTES-EACH

Names are long, as those of C++ are: three parts, the last one different for each. It runs forever
through a few hundred of its functions.
"""
import sys

WORDS = ("allocator", "buffer", "channel", "dispatcher", "encoder", "factory", "generator",
         "handler", "iterator", "journal", "keeper", "listener")
CALLED = 300


def mangled(number):
    parts = (WORDS[number % 12], WORDS[number // 12 % 12], f"step_{number:06d}")
    return "_ZN" + "".join(f"{len(part)}{part}" for part in parts) + "Ev"


def main(nr, size):
    write = sys.stdout.write
    write(".text\n.globl _start\n.type _start, @function\n_start:\n")
    for number in range(0, nr, max(nr // CALLED, 1)):
        write(f"call {mangled(number)}\n")
    write("jmp _start\n.size _start, . - _start\n")
    for number in range(nr):
        name = mangled(number)
        write(f".p2align 4\n.globl {name}\n.type {name}, @function\n{name}:\n"
              f"mov $5000, %eax\n1: dec %eax\njnz 1b\nret\n.skip {size}, 0xcc\n"
              f".size {name}, . - {name}\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
