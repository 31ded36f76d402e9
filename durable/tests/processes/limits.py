"""limits.py ASK ADDRESS: processes (ASK, ask.cpp) that share the limits of a kind, on a database of any kind."""
import sys
import time

import running
from running import expect, wait_until
from askers import Asker

MS = 10**6

# How long any action may take on a busy machine: less than the poll of 20 s.
PROMPT_S = 8


class Bench:
    def __init__(self, ask, address, processes):
        self.program, self.address, self.processes = ask, address, processes

    def opened(self, *settings):
        made = Asker(self.program)
        self.processes.append(made.running)
        made.do("open", self.address, *settings)
        return made

    def handler(self, *settings, handles):
        made = self.opened("runtime=1", *settings)
        for kind in handles:
            made.do("handle", *kind.split())
        wait_until(lambda: made.events, "it connects")
        return made


def most_at_a_time(*handlers):
    """How many naps overlapped at most, by the machine's clock."""
    steps = sorted([(each["real"], 1) for handler in handlers for each in handler.fires if each["kind"] == "nap"] +
                   [(each["real"], -1) for handler in handlers for each in handler.ends])
    at_a_time, most = 0, 0
    for _, step in steps:
        at_a_time += step
        most = max(most, at_a_time)
    return most


def two_at_a_time_in_three_processes(bench):
    handlers = [bench.handler("threads=1", handles=["nap running=2"]) for _ in range(3)]
    putter = bench.opened()
    for i in range(60):
        putter.do("put", "nap", f"{i}-30", 0)
    wait_until(lambda: sum(len(each.ends) for each in handlers) == 60, "all have run")
    shares = [len(each.fires) for each in handlers]
    print(f"  {shares} of 60 jobs")
    expect(max(shares) < 60, "one process ran all, although it has one thread")
    expect(most_at_a_time(*handlers) == 2, f"{most_at_a_time(*handlers)} at a time")
    for each in handlers:
        each.end()


def a_busy_process_tells_an_idle_one(bench):
    """The process has room for two jobs, and has as many when its job with the limit has ended."""
    idle = bench.handler(handles=["other"])
    busy = bench.handler("hold=2", "threads=2", handles=["nap running=1", "slow"])
    busy.do("put", "nap", "first-2000", 0)
    busy.fire("first-2000")
    for key in "one", "another":
        busy.do("put", "slow", key, 0)
    busy.fire("one")
    busy.do("put", "nap", "second-0", 0)
    idle.do("handle", "nap", "running=1")
    fired, ended = idle.fire("second-0", PROMPT_S), busy.ends[0]
    print(f"  {(fired['real'] - ended['real']) / MS:.0f} ms after the other")
    expect(fired["real"] > ended["real"], "it ran too early")
    for each in busy, idle:
        each.end()


def a_process_that_closes_tells_another_before_its_last_handler_has_ended(bench):
    idle = bench.handler(handles=["other"])
    closing = bench.handler(handles=["nap running=2"])
    for key in "first-2000", "long-12000":
        closing.do("put", "nap", key, 0)
        closing.fire(key)
    idle.do("handle", "nap", "running=2")
    closing.do("put", "nap", "second-0", 0)
    expect(not closing.ends, "this machine is too slow for the test")
    closing.say("close")
    idle.fire("second-0", PROMPT_S)
    expect(len(closing.ends) == 1, "it has waited for the last handler")
    expect(closing.answer()["result"] == 0, "the close has failed")
    idle.end()


def the_jobs_of_a_killed_process_count_until_its_lease_has_ended(bench):
    dying = bench.handler("lease_ms=3000", handles=["nap running=1"])
    dying.do("put", "nap", "first-60000", 0)
    dying.fire("first-60000")
    idle = bench.handler("lease_ms=3000", handles=["nap running=1"])
    idle.do("put", "nap", "second-0", 0)
    dying.running.kill()
    died = time.time_ns()
    idle.fire("first-60000", 60)
    expect(idle.fires[0]["real"] - died > 1500 * MS, "the killed process's lease had not ended")
    time.sleep(0.5)
    expect(len(idle.fires) == 1, "two run at a time")
    idle.running.kill()
    cleaner = bench.opened()
    for key in "first-60000", "second-0":
        cleaner.ask("remove", "nap", key)
    cleaner.end()


def twenty_a_second_in_two_processes(bench):
    handlers = [bench.handler(handles=["nap rate=20"]) for _ in range(2)]
    putter = bench.opened()
    for i in range(80):
        putter.do("put", "nap", f"{i}-0", 0)
    wait_until(lambda: sum(len(each.fires) for each in handlers) == 80, "all have run")
    times = sorted(each["real"] for handler in handlers for each in handler.fires)
    took = (times[-1] - times[0]) / 10**9
    shares = [len(each.fires) for each in handlers]
    print(f"  {shares} of 80 jobs in {took:.2f} s")
    expect(took > 3.9, f"80 jobs started in {took} s")
    expect(took < 30, f"80 jobs took {took} s")
    for each in handlers:
        each.end()


TESTS = [two_at_a_time_in_three_processes, a_busy_process_tells_an_idle_one,
         a_process_that_closes_tells_another_before_its_last_handler_has_ended,
         the_jobs_of_a_killed_process_count_until_its_lease_has_ended, twenty_a_second_in_two_processes]


def run(ask, address):
    for test in TESTS:
        print(test.__name__, flush=True)
        with running.ended_at_last() as processes:
            test(Bench(ask, address, processes))


if __name__ == "__main__":
    running.main(lambda: run(*sys.argv[1:]))
