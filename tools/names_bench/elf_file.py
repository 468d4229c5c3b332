"""Reads segments, sections and symbols of an ELF file (64 bits, little-endian).

It is the reference where two tools disagree, so it has none of their rules: it returns all symbols of
an address, of any kind.
"""
import bisect
import functools
import os
import struct

DEBUG_FOLDER = "/usr/lib/debug/.build-id"
SHT_SYMTAB, SHT_NOTE, SHT_DYNSYM = 2, 7, 11
SHF_EXECINSTR = 4
SYMBOL_KINDS = {0: "NOTYPE", 1: "OBJECT", 2: "FUNC", 10: "IFUNC"}


class ElfFile:
    def __init__(self, path):
        self.path = path
        with open(path, "rb") as stream:
            self.data = stream.read()
        if self.data[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path}: no 64-bit ELF file")
        (self.entry, phoff, shoff, _, _, phentsize, phnum, shentsize, shnum,
         names) = struct.unpack_from("<QQQIHHHHHH", self.data, 24)
        self.segments = []  # (offset, address, bytes)
        for number in range(phnum):
            kind, _, offset, address, _, size = struct.unpack_from(
                "<IIQQQQ", self.data, phoff + number * phentsize)
            if kind == 1:  # PT_LOAD
                self.segments.append((offset, address, size))
        self.sections = [Section(self.data, shoff + number * shentsize) for number in range(shnum)]
        for section in self.sections:
            section.name = self.text(self.sections[names].offset + section.name_at)

    def text(self, at):
        return self.data[at:self.data.index(b"\0", at)].decode(errors="replace")

    def address_of(self, offset):
        """Returns the link-time address of a file offset; None if it is in no segment."""
        for start, address, size in self.segments:
            if start <= offset < start + size:
                return address + offset - start
        return None

    def is_behind_call(self, address):
        """Returns True if a call instruction (E8 or FF /2 of x86-64) ends at the address."""
        before = b""
        for offset, start, size in self.segments:
            if start <= address - 7 and address <= start + size:
                before = self.data[address - 7 - start + offset:address - start + offset]
        return len(before) == 7 and (before[2] == 0xE8 or any(
            before[7 - nr] == 0xFF and before[8 - nr] >> 3 & 7 == 2 for nr in (2, 3, 4, 6, 7)))

    def section_at(self, address):
        """Returns the name of the section, or None."""
        for section in self.sections:
            if section.address and section.address <= address < section.address + section.size:
                return section.name
        return None

    def code_sections(self):
        return [s for s in self.sections if s.flags & SHF_EXECINSTR and s.size]

    def table_bytes(self):
        """Returns the size of the symbol tables and their strings."""
        tables = [s for s in self.sections if s.kind in (SHT_SYMTAB, SHT_DYNSYM)]
        return sum(s.size + self.sections[s.link].size for s in tables)

    def build_id(self):
        for section in self.sections:
            if section.kind == SHT_NOTE and section.name == ".note.gnu.build-id":
                return self.data[section.offset + 16:section.offset + section.size].hex()
        return None

    def symbols(self):
        """Yields (address, size, kind, name) of all defined symbols."""
        for section in self.sections:
            if section.kind not in (SHT_SYMTAB, SHT_DYNSYM):
                continue
            strings = self.sections[section.link].offset
            table = self.data[section.offset:section.offset + section.size // 24 * 24]
            for name, info, _, index, address, size in struct.iter_unpack("<IBBHQQ", table):
                if index and name and info & 15 in SYMBOL_KINDS:
                    yield (address, size, SYMBOL_KINDS[info & 15],
                           self.text(strings + name).partition("@")[0])


class Section:
    def __init__(self, data, at):
        (self.name_at, self.kind, self.flags, self.address, self.offset, self.size,
         self.link) = struct.unpack_from("<IIQQQQI", data, at)
        self.name = ""


class Symbols:
    """The symbols of a file and its debug file, by address and by name."""

    def __init__(self, elf):
        self.elf = elf
        self.has_debug_file = False
        found = set(elf.symbols())
        debug = debug_file(elf)
        if debug:
            found |= set(debug.symbols())
            self.has_debug_file = True
        self.sorted = sorted(found)
        self.starts = [symbol[0] for symbol in self.sorted]
        self.by_name = {}
        for symbol in self.sorted:
            self.by_name.setdefault(symbol[3], []).append(symbol)

    def starting_at(self, address):
        first = bisect.bisect_left(self.starts, address)
        return self.sorted[first:bisect.bisect_right(self.starts, address)]

    def covers(self, name, address):
        """Returns True if a symbol of that name, with its size, contains the address."""
        return any(start <= address < start + size
                   for start, size, _, _ in self.by_name.get(name, []))

    def are_aliases(self, one, other):
        """Returns True if symbols of both names start at the same address."""
        starts = {symbol[0] for symbol in self.by_name.get(one, [])}
        return any(symbol[0] in starts for symbol in self.by_name.get(other, []))


def debug_file(elf):
    build_id = elf.build_id()
    path = f"{DEBUG_FOLDER}/{build_id[:2]}/{build_id[2:]}.debug" if build_id else ""
    return ElfFile(path) if os.path.exists(path) else None


@functools.lru_cache(maxsize=None)
def elf_file(path):
    """Returns None if the file does not exist or is not an ELF file."""
    try:
        return ElfFile(path)
    except (OSError, ValueError, struct.error, IndexError):
        return None


@functools.lru_cache(maxsize=None)
def symbols_of(path):
    elf = elf_file(path)
    return Symbols(elf) if elf else None
