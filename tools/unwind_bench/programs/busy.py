"""What interpreters do all day: text, trees, sorting, numbers; calls back from C into Python."""
import decimal
import json
import re
import zlib


def tree(depth, seed):
    if depth == 0:
        return {"leaf": seed, "text": f"item {seed:05d}"}
    return {"left": tree(depth - 1, seed * 2), "right": tree(depth - 1, seed * 2 + 1)}


def leaves(node):
    if "leaf" in node:
        yield node
    else:
        yield from leaves(node["left"])
        yield from leaves(node["right"])


def weigh(leaf):
    return zlib.crc32(leaf["text"].encode()) ^ int(decimal.Decimal(leaf["leaf"] + 2).sqrt() * 1000)


def one_round():
    text = json.dumps(tree(9, 1), indent=1)
    found = sorted(leaves(json.loads(text)), key=weigh)
    words = re.sub(r"(\d+)", lambda match: str(int(match.group(1)) % 97), text)
    return len(found) + len(re.findall(r'"item \d+"', words))


while True:
    one_round()
