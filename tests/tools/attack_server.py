#!/usr/bin/env python3
"""Attacks a server at a port of 127.0.0.1: attack_server.py PORT TOKEN

10,000 malformed requests, which may contain the token; then 1,000 connections, as many as the server accepts, that send a
request slowly. Prints the status of a request of somebody else meanwhile, and "in time" if it was answered within 50
seconds: the slow ones have only so long.
"""

import random
import socket
import sys
import time

port, token = int(sys.argv[1]), sys.argv[2]
random.seed(1)
parts = [b"GET ", b"POST ", b"/", b"/api/profile?from=", b"%", b"%00", b" HTTP/1.1", b" HTTP/9.9", b"\r\n", b"\n", b"\0",
    b"Host: localhost\r\n", b"Content-Length: -1\r\n", b"Content-Length: 99999999999999999999\r\n",
    b"Transfer-Encoding: chunked\r\n", b"\r\n\r\n", b"ffffffffffffffff\r\n", b"A" * 5000, b": ", b"\xff\xfe",
    b"Authorization: Bearer " + token.encode() + b"\r\n", b"Connection: keep-alive\r\n", b"../", b"where=((", b"&by=,"]
for _ in range(10000):
    with socket.create_connection(("127.0.0.1", port), 30) as s:
        try:
            s.sendall(b"".join(random.choices(parts, k=random.randint(1, 12))))
            if random.random() < 0.05:
                s.settimeout(0.02)
                s.recv(100)
        except OSError:
            pass
# Slow ones, as many as may be; all end when their time is over.
start = time.time()
slow = []
for _ in range(1000):
    s = socket.socket()
    s.setblocking(False)
    s.connect_ex(("127.0.0.1", port))
    slow.append(s)
time.sleep(2)
for s in slow:
    try:
        s.send(b"GET / HT")
    except OSError:
        pass
s = socket.create_connection(("127.0.0.1", port), 60)
s.settimeout(60)
s.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token.encode() + b"\r\n\r\n")
print(s.recv(12).decode(), "in time" if time.time() - start < 50 else "late")
