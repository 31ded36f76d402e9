"""Processes that carry out the commands of a test (ASK, ask.cpp), and the server that they share."""
import itertools
import json
import queue
import re
import subprocess
import threading
import time
from pathlib import Path

import running
from running import expect, wait_until

CONNECTED, DISCONNECTED, LEASE_LOST, REFUSED = range(4)

# How long any action may take on a busy machine. Less than the poll of 10 s, which would start a job, too.
PROMPT_S = 5


class Asker:
    """A process that carries out commands. Its fires and events come at any time."""

    def __init__(self, program):
        pipe = subprocess.PIPE
        self.running = subprocess.Popen([program], stdin=pipe, stdout=pipe, stderr=pipe, text=True,
                                        preexec_fn=running.die_with_parent)
        self.answers, self.fires, self.ends, self.events, self.errors = queue.Queue(), [], [], [], ""
        for work in (self.read, self.read_errors):
            threading.Thread(target=work, daemon=True).start()

    def read(self):
        for line in self.running.stdout:
            self.sort(json.loads(line))

    def sort(self, said):
        if "fire" in said:
            self.fires.append(said)
        elif "ended" in said:
            self.ends.append(said)
        elif "event" in said:
            self.events.append(said)
        else:
            self.answers.put(said)

    def read_errors(self):
        self.errors += self.running.stderr.read()

    def say(self, *words):
        print(*words, file=self.running.stdin, flush=True)

    def answer(self):
        return self.answers.get(timeout=120)

    def ask(self, *words):
        self.say(*words)
        return self.answer()

    def do(self, *words, result=0):
        said = self.ask(*words)
        expect(said["result"] == result, f"{words}: {said['result']} instead of {result}, {said['why']}")
        return said

    def fire(self, key, seconds=60):
        return wait_until(lambda: next((it for it in self.fires if it["fire"] == key), None), f"{key} fires", seconds)

    def memory(self):
        return int(re.search(r"VmRSS:\s*(\d+)", Path(f"/proc/{self.running.pid}/status").read_text())[1]) * 1024

    def end(self):
        self.running.stdin.close()
        code = self.running.wait(timeout=60)
        expect(code == 0, f"a process ended with {code}")


class Bench:
    """The server of a test, and its processes."""

    numbers = itertools.count()

    def __init__(self, options, server, processes):
        self.options, self.server, self.processes = options, server, processes

    def asker(self):
        made = Asker(self.options.ask)
        self.processes.append(made.running)
        return made

    def opened(self, *settings, address=None):
        made = self.asker()
        made.do("open", address or self.server.address(), *settings)
        return made

    def handler(self, *settings, kind="k", address=None):
        made = self.opened("runtime=1", *settings, address=address)
        made.do("handle", kind)
        wait_until(lambda: made.events, "it connects")
        return made

    def schema(self):
        return f"schema=test_{next(self.numbers)}"

    def sql(self, text):
        done = self.server.psql(text)
        expect(done is not None, f"refused: {text}")
        return done


def run(tests, options, bench=Bench):
    failures = 0
    with running.server("fsync=off", "max_connections=200", "max_prepared_transactions=1") as server:
        for each in tests:
            began = time.monotonic()
            try:
                with running.ended_at_last() as processes:
                    each(bench(options, server, processes))
                print(f"{each.__name__}: {time.monotonic() - began:.1f} s", flush=True)
            except (running.Failed, queue.Empty) as failed:
                failures += 1
                print(f"{each.__name__}: failed: {failed}", flush=True)
                if not server.is_running():
                    server.start()
    expect(failures == 0, f"{failures} tests")
