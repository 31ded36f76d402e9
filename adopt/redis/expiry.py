#!/usr/bin/env python3
"""expiry.py SOURCE: measures a Redis that holds a million volatile keys; SOURCE is the folder in which it was built.

Prints, separated by tabs: how late the notifications of expired keys come, how much memory a volatile key takes, how
much processor time requests take, and how many instructions, counted under valgrind in a server with few keys.
"""
import os
import random
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time

OTHERS = 1000000  # volatile keys that live for a day
KEYS = 1000       # keys whose expiry is observed
PATIENCE = 180    # seconds after the last deadline
REQUESTS = 100000
ROUNDS = 7        # of requests; other work on the machine lengthens most of them
COUNTED = 20000   # requests under valgrind
KEY = b"key:__rand_int__"  # redis-benchmark replaces the second half


def command(*words):
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in (
        word if isinstance(word, bytes) else str(word).encode() for word in words))


class Connection:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.input = self.socket.makefile("rb")

    def reply(self):
        line = self.input.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b"$":
            return None if rest == b"-1" else self.input.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return [self.reply() for _ in range(int(rest))]
        if kind not in b"+:" or not kind:
            sys.exit(f"expiry: Redis answers {line!r}")
        return rest

    def ask(self, *words):
        self.socket.sendall(command(*words))
        return self.reply()

    def ask_all(self, commands):
        """Sends all commands in batches, and reads their replies."""
        for at in range(0, len(commands), 1000):
            batch = commands[at:at + 1000]
            self.socket.sendall(b"".join(batch))
            for _ in batch:
                self.reply()

    def memory(self):
        info = dict(line.split(b":", 1) for line in self.ask("INFO", "memory").split(b"\r\n") if b":" in line)
        return int(info[b"used_memory"])


def lateness(redis, path):
    """How many milliseconds after their deadlines the notifications of KEYS keys come, or PATIENCE, and how many do."""
    events = Connection(path)
    events.ask("SUBSCRIBE", "__keyevent@0__:expired")
    begin = time.time() * 1000 + 1000
    due = {b"observed:%d" % i: int(begin + random.uniform(0, 9000)) for i in range(KEYS)}
    redis.ask_all([command("SET", key, "v", "PXAT", at) for key, at in due.items()])
    late, end = {}, begin / 1000 + 9 + PATIENCE
    while len(late) < KEYS and time.time() < end:
        events.socket.settimeout(max(end - time.time(), 0.001))
        try:
            _, _, key = events.reply()
        except TimeoutError:
            break
        if key in due:
            late[key] = time.time() * 1000 - due[key]
    return [late.get(key, PATIENCE * 1000.0) for key in due], len(late)


def processor_ms(pid):
    """How much processor time the server's main thread has taken."""
    with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0]) / 1e6


WORKLOADS = {
    "GET": [b"GET", KEY],
    "SET": [b"SET", KEY, b"value"],
    "SET with an hour to live": [b"SET", KEY, b"value", b"EX", b"3600"],
    "SET with ten seconds to live": [b"SET", KEY, b"value", b"EX", b"10"],
}


def requests(source, path, pid):
    """Prints the server's processor time per request of redis-benchmark, and while there are no requests."""
    time.sleep(5)
    begin = processor_ms(pid)
    time.sleep(10)
    print(f"a second without requests, processor time\t{(processor_ms(pid) - begin) / 10:.2f}\tms")
    for name, words in WORKLOADS.items():
        taken = []
        for _ in range(ROUNDS):
            begin = processor_ms(pid)
            subprocess.run([f"{source}/src/redis-benchmark", "-s", path, "-q", "-n", str(REQUESTS), "-r", "100000",
                            *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
            taken.append(processor_ms(pid) - begin)
        print(f"{name}, processor time, the least of {ROUNDS}\t{min(taken) * 1000 / REQUESTS:.2f}\tus")


def counted(source, words):
    """The instructions of a server that answers COUNTED requests, one after the other."""
    keys = random.Random(1)
    valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    with Server(source, "--hz", "1", under=valgrind) as server:
        for _ in range(COUNTED if words else 0):
            server.redis.ask(*(word.replace(KEY, b"key:%012d" % keys.randrange(100000)) for word in words))
        server.redis.socket.sendall(command("SHUTDOWN", "NOSAVE"))
        _, log = server.process.communicate()
    return int(re.search(r"I +refs: +([0-9,]+)", log)[1].replace(",", ""))


class Server:
    """A server with a socket in a folder of its own."""

    def __init__(self, source, *options, under=()):
        self.folder = tempfile.TemporaryDirectory()
        self.path = f"{self.folder.name}/socket"
        self.process = subprocess.Popen(
            [*under, f"{source}/src/redis-server", "--port", "0", "--unixsocket", self.path, "--save", "", "--dir",
             self.folder.name, "--logfile", f"{self.folder.name}/log", *options], stderr=subprocess.PIPE, text=True)

    def __enter__(self):
        while True:
            try:
                self.redis = Connection(self.path)
                return self
            except (FileNotFoundError, ConnectionRefusedError):  # the server does not listen yet
                if self.process.poll() is not None:
                    sys.exit("expiry: redis-server has ended")
                time.sleep(0.01)

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()


def main():
    source = os.path.abspath(sys.argv[1])
    with Server(source, "--notify-keyspace-events", "Ex") as server:
        redis = server.redis
        empty = redis.memory()
        in_a_day = int(time.time()) + 86400
        redis.ask_all([command("SET", f"other:{i}", "v", "EXAT", in_a_day + i % 3600) for i in range(OTHERS)])
        print(f"memory of a volatile key, one of a million\t{(redis.memory() - empty) / OTHERS:.1f}\tbytes")
        late, delivered = lateness(redis, server.path)
        print(f"\"expired\" late, median\t{statistics.median(late):.1f}\tms")
        print(f"\"expired\" late, 99 %\t{sorted(late)[KEYS * 99 // 100]:.1f}\tms")
        print(f"\"expired\" of 1000 keys that do not come within {PATIENCE} s\t{KEYS - delivered}\tkeys")
        requests(source, server.path, server.process.pid)
    idle = counted(source, None)
    for name, words in WORKLOADS.items():
        print(f"{name}\t{(counted(source, words) - idle) / COUNTED:.0f}\tinstructions")


main()
