#!/usr/bin/env python3
"""
Compares docs/api.yaml with the server: check_api.py SOURCE SOCKET QUESTION…

Its paths are those of the table in SOURCE (src/serve/api.c), and its parameters those that are read there. The answer
to each QUESTION, as to two that fail, fits its schema: all members that are required, none that is not described.
Prints what does not agree.
"""
import http.client
import json
import re
import socket
import sys

import yaml

TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool}


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(self.path)


def differences(what, documented, real):
    for name in sorted(documented - real):
        yield f"{what} {name}: is described, and not there"
    for name in sorted(real - documented):
        yield f"{what} {name}: is not described"


def resolve(api, part):
    while "$ref" in part:
        where = api
        for name in part["$ref"].split("/")[1:]:
            where = where[name]
        part = where
    return part


def mismatches(api, schema, value, at):
    schema = resolve(api, schema)
    if value is None:
        if not schema.get("nullable"):
            yield f"{at}: null"
        return
    kind = schema.get("type")
    if not isinstance(value, TYPES[kind]) or (kind != "boolean" and isinstance(value, bool)):
        yield f"{at}: not of type {kind}: {value!r:.60}"
    elif value not in schema.get("enum", [value]):
        yield f"{at}: {value!r}"
    elif kind == "array":
        for number, item in enumerate(value):
            yield from mismatches(api, schema["items"], item, f"{at}[{number}]")
    elif kind == "object":
        properties = schema["properties"]
        for name in schema.get("required", []):
            if name not in value:
                yield f"{at}.{name}: missing"
        for name, member in value.items():
            if name in properties:
                yield from mismatches(api, properties[name], member, f"{at}.{name}")
            else:
                yield f"{at}.{name}: is not described"


def check_answer(api, socket_path, question):
    connection = Connection(socket_path)
    connection.request("GET", question)
    answer = connection.getresponse()
    body = answer.read()
    responses = api["paths"].get(question.split("?")[0], {"get": {"responses": {}}})["get"]["responses"]
    described = resolve(api, responses.get(str(answer.status)) or responses.get("default") or {})
    kind = answer.headers["Content-Type"].split(";")[0]
    content = described.get("content", {})
    if kind not in content:
        yield f"{question}: status {answer.status} as {kind} is not described"
    elif "schema" in content[kind]:
        yield from mismatches(api, content[kind]["schema"], json.loads(body), f"{question} {answer.status}")


def main():
    source, socket_path, *questions = sys.argv[1:]
    api = yaml.safe_load(open("docs/api.yaml"))
    text = open(source).read()
    table = re.search(r"routes\[\] = \{(.*?)\n\};", text, re.S)[1]
    session = re.search(r'API_SESSION "(.*)"', open(source.replace(".c", ".h")).read())[1]
    found = list(differences("path", set(api["paths"]), {*re.findall(r'\{"(/[^"]*)"', table), session}))
    described = {resolve(api, parameter)["name"] for path in api["paths"].values() for parameter in path["get"].get("parameters", [])}
    read = set(re.findall(r'get\(asking, "(\w+)"\)|take_number\(asking, "(\w+)"', text))
    read |= set(re.findall(r'take_range\(asking, "(\w+)", "(\w+)"', text))
    found += differences("parameter", described, {name for names in read for name in names if name})
    for question in [*questions, "/api/series?from=x", "/api/profile?where=(("]:
        found += check_answer(api, socket_path, question)
    print("\n".join(found))


main()
