"""Sets and gets without end: ask_memcached.py PORT"""
import socket
import sys

KEYS = 200

with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as connection:
    sets = "".join(f"set key{i} 0 0 {len(str(i)) * 40}\r\n{str(i) * 40}\r\n" for i in range(KEYS))
    gets = "".join(f"get key{i} key{(i * 7) % KEYS}\r\n" for i in range(KEYS))
    answers = connection.makefile("rb")
    while True:
        connection.sendall((sets + gets).encode())
        stored = ended = 0
        while stored < KEYS or ended < KEYS:
            line = answers.readline()
            stored += line == b"STORED\r\n"
            ended += line == b"END\r\n"
