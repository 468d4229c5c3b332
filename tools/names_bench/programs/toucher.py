"""Starts a new program again and again: toucher.py TEMPLATE FOLDER FIRST NUMBER STEP PROGRESS

Each is a copy of the template with a name and a build id of its own, in a file of its own, which is
deleted when so many others came after it. PROGRESS is a file that holds how many there were.
"""
import hashlib
import os
import sys

NAME = b"spin_00000000"
TOLD_EVERY = 100
KEPT = 2000


def patched(template, id_at, number):
    image = bytearray(template)
    image[id_at:id_at + 20] = hashlib.sha1(str(number).encode()).digest()
    return bytes(image).replace(NAME, b"spin_%08d" % number)


def touch(path, image):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o755)
    os.write(fd, image)
    os.close(fd)
    os.waitpid(os.posix_spawn(path, [path], {}), 0)


def main(template_path, folder, first, nr, step, progress):
    with open(template_path, "rb") as stream:
        template = stream.read()
    id_at = template.index(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0") + 16
    for i in range(int(nr)):
        number = int(first) + i * int(step)
        touch(f"{folder}/program-{number}", patched(template, id_at, number))
        if i >= KEPT:
            os.unlink(f"{folder}/program-{number - KEPT * int(step)}")
        if (i + 1) % TOLD_EVERY == 0:
            with open(progress, "w", encoding="ascii") as stream:
                stream.write(str(i + 1))


if __name__ == "__main__":
    main(*sys.argv[1:])
