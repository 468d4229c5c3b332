#!/usr/bin/env python3
"""The judge of simple C++ names: takes lists out of names that have no parameters.

stdin: one name a line, as libiberty prints them with DMGL_NO_OPTS. Works from the inside out, by
patterns, which is another way than that of src/profile/simple_name.c: what is no bracket is masked, then
the innermost lists go until there are none.
"""
import re
import sys

MASKED = "()[]{}<>- ,&*"
MASK = {ord(c): chr(0xE000 + i) for i, c in enumerate(MASKED)}
UNMASK = {0xE000 + i: c for i, c in enumerate(MASKED)}
OF_TYPES = re.compile(r"(vtable|VTT|construction vtable|typeinfo|typeinfo name|typeinfo fn|"
                      r"template parameter object) for ")
OTHERS = re.compile(r"((guard variable|TLS init function|TLS wrapper function|hidden alias|"
                    r"(non-)?transaction clone|reference temporary #\w+) for |"
                    r"(non-virtual thunk|virtual thunk|covariant return thunk) to |"
                    r"global (con|de)structors keyed to )+")
SIGN = re.compile(r"\boperator(<=>|->\*|<<=|>>=|\(\)|\[\]|->|<<|>>|<=|>=|<|>|&&|&=|&|\*=|\*|"
                  r"-=|--|-|,|\"\" \w+| (?:new|delete)(?:\[\])?)")
COMPARE = re.compile(r"(?<=[)}])(<=>|>>|<<|>=|<=|->|<)(?=[({])")  # `>` stands in parentheses
CONVERSION = re.compile(r"\boperator (?=[^\s(])(?:[^()]|\([^()]*\*\)\([^()]*\))*?(?=\(\)|$|\x01)")


def mask(match):
    return match.group(0).translate(MASK)


def without(pattern, name, by):
    while True:
        shorter = pattern.sub(by, name)
        if shorter == name:
            return name
        name = shorter


def simple(name):
    prefix = OF_TYPES.match(name) or OTHERS.match(name)
    head = prefix.group(0) if prefix else ""
    name = name[len(head):]
    name = name.replace("(anonymous namespace)", "(anonymous namespace)".translate(MASK))
    name = SIGN.sub(mask, name)
    name = COMPARE.sub(mask, name).replace("->", "->".translate(MASK))
    name = without(re.compile(r" ?<[^<>]*>" if "operator" in name else r"<[^<>]*>"), name, "")
    if OF_TYPES.match(head):
        return (head + name).translate(UNMASK)
    # The parameters of lambdas stay: `{lambda(int (*)())#1}` from the inside as well.
    inner = re.compile(r"(\{lambda\((?:[^(){}]|\([^(){}]*\))*\)#\d+\})")
    name = without(inner, name, mask)
    name = without(re.compile(r"\{[^{}]*\}"), name, mask)
    name = CONVERSION.sub(mask, name)
    has_parameters = "(" in name
    name = without(re.compile(r"\([^()]*\)"), name, "\x01")
    name = re.sub("\x01+(?: const| volatile| &&| &)*", "\x01", name).replace("\x01", "")
    if has_parameters:
        name = name[name.rfind(" ") + 1:]
    return (head + name).translate(UNMASK)


for line in sys.stdin:
    print(simple(line.rstrip("\n")))
