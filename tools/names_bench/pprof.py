"""Reads a pprof file: samples with their frames, each with its place in the code and its names.

The schema is profile.proto of the pprof project; only the needed fields are read.
"""
import gzip
from dataclasses import dataclass, field

PROFILE_SAMPLE, PROFILE_MAPPING, PROFILE_LOCATION, PROFILE_FUNCTION, PROFILE_STRING = 2, 3, 4, 5, 6
SAMPLE_LOCATION, SAMPLE_VALUE, SAMPLE_LABEL = 1, 2, 3
LABEL_KEY, LABEL_STR, LABEL_NUM = 1, 2, 3
MAPPING_ID, MAPPING_FILENAME = 1, 5
LOCATION_ID, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE = 1, 2, 3, 4
LINE_FUNCTION = 1
FUNCTION_ID, FUNCTION_NAME = 1, 2

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


@dataclass(frozen=True)
class Frame:
    """names: the innermost inlined function first; empty without a symbol."""

    file: str  # "" if unknown
    address: int  # link-time address; return address - 1
    names: tuple


@dataclass
class Sample:
    frames: tuple  # leaf first
    count: int
    labels: dict


@dataclass
class Message:
    """Fields by number: lists of their values, numbers or bytes."""

    fields: dict = field(default_factory=dict)

    def one(self, number, otherwise=0):
        return self.fields.get(number, [otherwise])[-1]

    def all(self, number):
        return self.fields.get(number, [])

    def numbers(self, number):
        """Returns the numbers of a repeated field, packed or not."""
        found = []
        for value in self.all(number):
            found += [value] if isinstance(value, int) else varints(value)
        return found


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def varints(data):
    found, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        found.append(value)
    return found


def parse(data):
    message, at = Message(), 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == VARINT:
            value, at = varint(data, at)
        elif kind == BYTES:
            nr, at = varint(data, at)
            value, at = data[at:at + nr], at + nr
        elif kind in (FIXED64, FIXED32):
            nr = 8 if kind == FIXED64 else 4
            value, at = int.from_bytes(data[at:at + nr], "little"), at + nr
        else:
            raise ValueError(f"pprof: wire type {kind}")
        message.fields.setdefault(key >> 3, []).append(value)
    return message


def read(path):
    """Returns all samples of the file."""
    with gzip.open(path, "rb") as stream:
        profile = parse(stream.read())
    strings = [text.decode(errors="replace") for text in profile.all(PROFILE_STRING)]
    frames = read_frames(profile, strings)
    samples = []
    for data in profile.all(PROFILE_SAMPLE):
        sample = parse(data)
        samples.append(Sample(tuple(frames[n] for n in sample.numbers(SAMPLE_LOCATION)),
                              sample.numbers(SAMPLE_VALUE)[0],
                              dict(read_label(parse(label), strings)
                                   for label in sample.all(SAMPLE_LABEL))))
    return samples


def read_label(label, strings):
    text = label.one(LABEL_STR)
    return strings[label.one(LABEL_KEY)], strings[text] if text else label.one(LABEL_NUM)


def read_frames(profile, strings):
    """Returns {location id: Frame}."""
    files = {0: ""}
    for mapping in map(parse, profile.all(PROFILE_MAPPING)):
        files[mapping.one(MAPPING_ID)] = strings[mapping.one(MAPPING_FILENAME)]
    functions = {function.one(FUNCTION_ID): strings[function.one(FUNCTION_NAME)]
                 for function in map(parse, profile.all(PROFILE_FUNCTION))}
    frames = {}
    for location in map(parse, profile.all(PROFILE_LOCATION)):
        names = tuple(functions[parse(line).one(LINE_FUNCTION)]
                      for line in location.all(LOCATION_LINE))
        frames[location.one(LOCATION_ID)] = Frame(files[location.one(LOCATION_MAPPING)],
                                                  location.one(LOCATION_ADDRESS), names)
    return frames
