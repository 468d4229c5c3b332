#!/usr/bin/env python3
"""Reference for simple C++ names: removes lists from names without parameters.

stdin: one name per line, as libiberty prints it with DMGL_NO_OPTS. Works from the inside out with
patterns, unlike src/profile/simple_name.c: characters that are not brackets are masked, then the
innermost lists are removed until none is left.
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
COMPARE = re.compile(r"(?<=[)}])(<=>|>>|<<|>=|<=|->|<)(?=[({])")  # `>` between brackets
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
    # Parameters of lambdas are kept: `{lambda(int (*)())#1}`, also nested.
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
