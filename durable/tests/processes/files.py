"""files.py ASK: processes (ASK, ask.cpp) whose SQLite file is replaced or deleted while they handle jobs. They go on
with the file that is there then.
"""
import errno
import os
import subprocess
import sys
from pathlib import Path

import running
from askers import PROMPT_S, Asker
from running import expect, wait_until

SETTINGS = ("runtime=1", "lease_ms=1000", "poll_ms=100")


def put_until_taken(asker, key):
    """The first put of a connection may find out that its file has gone. It must then have put nothing."""
    first = asker.ask("put", "k", key, 0)["result"]
    expect(first in (0, -errno.ENOTCONN), f"the put failed with {first}")
    if first != 0:
        asker.do("put", "k", key, 0)


def ask_sqlite(path, query):
    done = subprocess.run([sys.executable, "-c", "import sqlite3, sys; "
                           "print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone()[0])", path, query],
                          stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


def test(program):
    with running.folder() as folder, running.ended_at_last() as processes:
        def opened(name, *settings):
            asker = Asker(program)
            processes.append(asker.running)
            asker.do("open", f"sqlite:{folder / name}", *settings)
            return asker

        def handler():
            asker = opened("jobs.db", *SETTINGS)
            asker.do("handle", "k")
            wait_until(lambda: asker.events, "it connects")
            return asker

        handlers = [handler(), handler()]
        handlers[0].do("put", "k", "before", 0)
        wait_until(lambda: any(each.fires for each in handlers), "it fires")

        backup = opened("backup.db")
        backup.do("put", "k", "restored", 0)
        backup.end()
        os.rename(folder / "backup.db", folder / "jobs.db")
        wait_until(lambda: any(fire["fire"] == "restored" for each in handlers for fire in each.fires), "it fires", 20)
        for number, each in enumerate(handlers):
            put_until_taken(each, f"put-{number}")
            wait_until(lambda key=f"put-{number}": any(fire["fire"] == key for it in handlers for fire in it.fires),
                       "it fires", 20)
        expect(ask_sqlite(folder / "jobs.db", "pragma integrity_check") == "ok", "the file is damaged")

        for each in folder.glob("jobs.db*"):
            each.unlink()
        handlers[1].end()
        put_until_taken(handlers[0], "after")
        handlers[0].fire("after", 2 * PROMPT_S)
        handlers[0].do("put", "other", "stays", 10**8)
        handlers[0].end()
        expect(ask_sqlite(folder / "jobs.db", "select key from tickwheel_job") == "stays", "the new file lacks a job")


if __name__ == "__main__":
    running.main(lambda: test(Path(sys.argv[1])))
