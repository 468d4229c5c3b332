#!/usr/bin/env python3
"""hostile_elf.py KIND FILE: writes an ELF file made to harm programs that read it.

Its code is one segment at offset CODE, which tests/live/programs/attacker fills. Everything else
depends on the kind: one function below for each, with a description.
"""
import lzma
import platform
import struct
import sys
import zlib

CODE = 0x10000  # offset and address; at least the largest page size
CODE_BYTES = 0x10000
AFTER = CODE + CODE_BYTES

SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_DYNAMIC, SHT_NOTE = 1, 2, 3, 6, 7
ALLOC, EXEC, COMPRESSED = 2, 4, 0x800
PT_LOAD, PT_NOTE = 1, 4
MACHINE = {"x86_64": 62, "aarch64": 183}[platform.machine()]


class Section:
    def __init__(self, name, kind, data=b"", *, offset=None, size=None, flags=0, address=0,
                 link=0, entry=0):
        self.name, self.kind, self.data, self.flags = name, kind, data, flags
        self.offset, self.size = offset, len(data) if size is None else size
        self.address, self.link, self.entry = address, link, entry


def text():
    return Section(".text", SHT_PROGBITS, offset=CODE, size=CODE_BYTES, flags=ALLOC | EXEC,
                   address=CODE)


def segment(kind, flags, offset, nr):
    return struct.pack("<IIQQQQQQ", kind, flags, offset, offset, offset, nr, nr, 0x1000)


def write(path, sections, segments=None, entry=0):
    """Sections are numbered from 1; section names come last."""
    segments = segments or [segment(PT_LOAD, 5, CODE, CODE_BYTES)]
    names, headers = bytearray(b"\0"), [bytes(64)]
    known = {}
    sections = sections + [Section(".shstrtab", SHT_STRTAB)]
    for section in sections:
        if section.name not in known:
            known[section.name] = len(names)
            names += section.name.encode() + b"\0"
    sections[-1].data, sections[-1].size = bytes(names), len(names)
    with open(path, "wb") as file:
        file.truncate(AFTER)
        file.seek(0 if len(segments) < 1000 else AFTER)
        if len(segments) >= 1000:
            at = AFTER
            file.write(b"".join(segments))
            file.seek(0, 2)
        else:
            at = 64
            file.seek(64)
            file.write(b"".join(segments))
            file.seek(AFTER)
        for section in sections:
            if section.offset is None:
                section.offset = file.tell()
                file.write(section.data)
            headers.append(struct.pack("<IIQQQQIIQQ", known[section.name], section.kind,
                                       section.flags, section.address, section.offset,
                                       section.size, section.link, 0, 8, section.entry))
        file.write(bytes(-file.tell() % 8))
        table = file.tell()
        file.write(b"".join(headers))
        file.seek(0)
        file.write(b"\x7fELF\2\1\1" + bytes(9) +
                   struct.pack("<HHIQQQIHHHHHH", 3, MACHINE, 1, entry, at, table, 0, 64, 56,
                               len(segments), 64, len(headers), len(headers) - 1))


def symbol(name, info=0x12, size=CODE_BYTES):
    return struct.pack("<IBBHQQ", name, info, 0, 1, CODE, size)


def symbols_of(nr, names):
    """A table of nr functions at one address, with `names` different names in turn."""
    few = b"".join(symbol(1 + i % names) for i in range(1024))
    return Section(".symtab", SHT_SYMTAB, few * (nr // 1024), link=3, entry=24)


def same_address(path):
    """8 M functions at one address."""
    strings = b"\0" + b"".join(b"f%05d_" % i for i in range(200)) + b"\0"
    write(path, [text(), symbols_of(8 << 20, 1000), Section(".strtab", SHT_STRTAB, strings)])


def underscores(path):
    """Functions at one address whose names are megabytes of underscores, expensive to compare."""
    strings = b"\0" + b"_" * (32 << 20) + b"x\0"
    write(path, [text(), symbols_of(1 << 20, 1000), Section(".strtab", SHT_STRTAB, strings)])


def control(path):
    """One function with control sequences as its name."""
    strings = b"\0\033]0;owned\a\033[2J\x9b31m\xff;a;\n\r<script>\0"
    write(path, [text(), Section(".symtab", SHT_SYMTAB, symbol(1), link=3, entry=24),
                 Section(".strtab", SHT_STRTAB, strings)])


def dynamic(path):
    """65,000 overlapping dynamic sections, none of them the dynamic loader's."""
    entries = struct.pack("<QQ", 1, 1) * 4096
    write(path, [text(), Section(".dynamic", SHT_DYNAMIC, entries, entry=16)] +
          [Section(".dynamic", SHT_DYNAMIC, offset=AFTER, size=65536, entry=16)
           for _ in range(65000)], entry=CODE)


def sections(path):
    """The maximum number of sections, all of one name and overlapping."""
    write(path, [text()] + [Section(".gnu_debuglink", SHT_PROGBITS, offset=0, size=AFTER)
                            for _ in range(65270)])


def segments(path):
    """The maximum number of segments, all executable and overlapping."""
    write(path, [text()], [segment(PT_LOAD, 5, CODE, CODE_BYTES)] * 65000)


def notes(path):
    """Segments of notes that are empty or have a wrong length."""
    first = struct.pack("<III", 0, 0, 0) * 5000
    lies = struct.pack("<III", 0xfffffff0, 0xfffffff4, 3) * 100
    empty = Section(".note.a", SHT_NOTE, first)
    note = [segment(PT_NOTE, 4, AFTER, len(first))] * 500
    write(path, [text(), empty, Section(".note.b", SHT_NOTE, lies)] +
          [Section(".note.c", SHT_NOTE, offset=AFTER, size=len(first)) for _ in range(60000)],
          [segment(PT_LOAD, 5, CODE, CODE_BYTES)] + note)


def xz(path):
    """.gnu_debugdata of a few hundred KB that decompresses to 2 GB."""
    packer, packed = lzma.LZMACompressor(preset=1), b""
    for _ in range(128):
        packed += packer.compress(bytes(16 << 20))
    write(path, [text(), Section(".gnu_debugdata", SHT_PROGBITS, packed + packer.flush())])


def xz_ratio(path):
    """.gnu_debugdata that reaches the limits on ratio and size."""
    import random
    noise, packer = random.Random(1).randbytes(1 << 15), lzma.LZMACompressor(preset=0)
    packed = b"".join(packer.compress(random.Random(i).randbytes(1 << 14) + bytes(1 << 20))
                      for i in range(300)) + packer.flush()
    write(path, [text(), Section(".gnu_debugdata", SHT_PROGBITS, packed + noise)])


def xz_memory(path):
    """.gnu_debugdata whose header asks for a dictionary of 4 GB."""
    packed = bytearray(lzma.compress(b"x" * 100000, preset=0))
    header_bytes = (packed[12] + 1) * 4
    at = packed.index(b"\x21\x01", 12) + 2
    packed[at] = 40
    packed[12 + header_bytes - 4:12 + header_bytes] = struct.pack(
        "<I", zlib.crc32(packed[12:12 + header_bytes - 4]))
    write(path, [text(), Section(".gnu_debugdata", SHT_PROGBITS, bytes(packed))])


def dwarf(path):
    """Debug sections of 8 KB, each of which decompresses to 8 MB of empty units."""
    packer = zlib.compressobj(9)
    packed = packer.compress(bytes(8 << 20)) + packer.flush()
    bomb = struct.pack("<IIQQ", 1, 0, 8 << 20, 1) + packed
    names = (".debug_info", ".debug_abbrev", ".debug_line", ".debug_ranges", ".debug_aranges",
             ".debug_str")
    write(path, [text()] + [Section(name, SHT_PROGBITS, bomb, flags=COMPRESSED)
                            for name in names])


def frames(nr):
    """.eh_frame with entries for nr addresses of the code in turn."""
    cie = struct.pack("<II", 0, 0) + b"\1zR\0\1\x78\x10\1\x1b\x0c\7\x08\x90\1\0\0\0"
    content = bytearray(struct.pack("<I", len(cie) - 4) + cie[4:])
    for i in range(nr):
        at = AFTER + len(content)
        entry = struct.pack("<Iii", len(content) + 4, CODE + i % CODE_BYTES - (at + 8), 1)
        entry += b"\0\x41\x0e\x10\x41\x0e\x18\x41\x0a\x0b"
        entry += bytes(-len(entry) % 4)
        content += struct.pack("<I", len(entry)) + entry
    return Section(".eh_frame", SHT_PROGBITS, bytes(content) + bytes(4), flags=ALLOC, address=AFTER)


def unwind(path):
    """Call frame information of 16 MB, half a million overlapping entries."""
    write(path, [text(), frames((16 << 20) // 32)])


def everything(path):
    """A valid file with input for each reader; the caller damages its bytes."""
    names = b"".join(b"_ZN4made%dfunction%05dEv\0" % (13, i) for i in range(2000))
    symbols = b"".join(struct.pack("<IBBHQQ", 1 + 25 * i, 0x12, 0, 1, CODE + 32 * i, 32)
                       for i in range(2000))
    units = (struct.pack("<IHIB", 7, 4, 0, 8) * 500, b"\1\x11\0\x11\1\x12\6\0\0\0", bytes(4000))
    write(path, [text(), Section(".symtab", SHT_SYMTAB, symbols, link=3, entry=24),
                 Section(".strtab", SHT_STRTAB, b"\0" + names), frames(2000),
                 Section(".gnu_debugdata", SHT_PROGBITS, lzma.compress(bytes(300000), preset=0)),
                 Section(".gnu_debuglink", SHT_PROGBITS, b"file\0\0\0\0" + bytes(4)),
                 Section(".dynamic", SHT_DYNAMIC, struct.pack("<QQ", 1, 1) * 400, link=3, entry=16),
                 Section(".plt", SHT_PROGBITS, b"\xff\x25\0\1\0\0" * 800, flags=ALLOC | EXEC,
                         address=CODE, entry=16),
                 Section(".note", SHT_NOTE, struct.pack("<III4s", 4, 20, 3, b"GNU") + bytes(20))] +
          [Section(name, SHT_PROGBITS, data)
           for name, data in zip((".debug_info", ".debug_abbrev", ".debug_line"), units)],
          entry=CODE)


KINDS = (same_address, underscores, control, dynamic, sections, segments, notes, xz, xz_ratio,
         xz_memory, dwarf, unwind, everything)

if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: hostile_elf.py KIND FILE")
    {kind.__name__: kind for kind in KINDS}[sys.argv[1]](sys.argv[2])
