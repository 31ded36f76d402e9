"""Shared by the tests of tickwheel-jobs: a database, the tool, and a process that handles jobs."""
import json
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "processes"))
from running import fast_place, folder  # noqa: E402

# Characters that the tool must not send to a terminal: controls, an escape sequence, one with an 8-bit control, and a
# change of the writing direction.
HOSTILE = "a\x1b[2Jb\x07c\u009b31md\u202ee\\f\ng"
SHOWN = r"a\x1b[2Jb\x07c\u{9b}31md\u{202e}e\\f\ng"


def is_safe(text):
    return all(each == "\n" or (each.isprintable() and each not in "\u202e\u2066\u200b") for each in text)


class Tool:
    def __init__(self, program, address):
        self.program, self.address, self.schema = program, address, "tool"
        self.environment = {k: v for k, v in os.environ.items() if k != "TICKWHEEL_DATABASE"}
        self.environment.update(TICKWHEEL_DATABASE=address, TZ="UTC", LC_ALL="C.UTF-8")

    def run(self, *words, stdin=b"", environment=None):
        # --schema comes before the verb, because words like "--" may follow the verb.
        given = "--schema" in words or words[:1] in (("--help",), ("--version",))
        schema = [] if given else ["--schema", self.schema]
        return subprocess.run([self.program, *schema, *words], input=stdin, capture_output=True, timeout=60,
                              env=environment or self.environment)

    def __call__(self, *words, **more):
        """Runs the tool, which must succeed, and returns its output."""
        done = self.run(*words, **more)
        assert done.returncode == 0, (words, done)
        assert done.stderr == b"", (words, done)
        return done.stdout.decode()

    def fails(self, code, reason, *words, **more):
        """Runs the tool, which must end with this code and print this error."""
        done = self.run(*words, **more)
        said = done.stderr.decode()
        assert done.returncode == code, (words, code, done)
        assert reason in said, (words, reason, said)
        assert said.startswith("tickwheel-jobs: ") and is_safe(said), (words, said)
        assert done.stdout == b"", (words, done)
        return said

    def entries(self, *words):
        return json.loads(self("list", "--json", *words))

    def wait_for(self, count, *words):
        until = time.monotonic() + 60
        while self("count", *words) != f"{count}\n":
            assert time.monotonic() < until, (count, words, self("list"))
            time.sleep(0.05)


class Handler:
    """A process (ask.cpp) that handles jobs while this object is open. Its name would clear a terminal."""

    def __init__(self, program, tool, kinds=("slow", "held", "bad"), name="host\x1b[2J_17", settings="horizon_ms=60000"):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.do(f"open {tool.address} runtime=1 name={name} {settings} schema={tool.schema}")
        for kind in kinds:
            self.do(f"handle {kind}")

    def do(self, words):
        print(words, file=self.process.stdin, flush=True)
        while "result" not in (said := json.loads(self.process.stdout.readline())):
            pass
        assert said["result"] == 0, said

    def kill(self):
        self.process.kill()
        self.process.wait(60)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.stdin.close()
            assert self.process.wait(60) == 0
        self.process.stdout.close()


def run(program, tests, address=None):
    """Calls each test(tool), on one database: in a new file, if no address is given."""
    with folder(fast_place()) as home:
        tool = Tool(program, address or f"sqlite:{home}/jobs.db")
        tool("put", "k", "x")  # creates the database
        tool("remove", "k", "x")
        for each in tests:
            each(tool)
            print(each.__name__)
