"""bench.py [--rounds N] [--seconds S] [--pending N ...] [--json FILE]: how many timers a second Python schedules,
cancels, fires and moves: on a TimerWheel, on our event loop, asyncio's, and uvloop's if it is installed.

An operation is one call: a schedule and its cancel are two, so are a schedule and its fire. A move is one; the
event loops have no move, so it is a cancel and a schedule there, and still counts as one. The loops run
meanwhile, and the time includes the rounds in which they clear away cancelled timers: one after each batch.

Implementations take turns, each with a new wheel or loop, so what slows the machine slows all of them. The figures
are the median of the rounds, and the least and the greatest.
"""

import argparse
import asyncio
import gc
import json
import platform
import random
import statistics
import sys
import time

import tickwheel.asyncio

try:
    import uvloop
except ImportError:
    uvloop = None

BATCH = 1000
DELAY = 30.0


def nothing():
    pass


def schedule_and_cancel(timers):
    call_later = timers.call_later
    for _ in range(BATCH):
        call_later(DELAY, nothing).cancel()
    return 2 * BATCH


def schedule_and_fire(timers):
    call_later = timers.call_later
    for _ in range(BATCH):
        call_later(0, nothing)
    return 2 * BATCH


def move(timers):
    timer = timers.call_later(DELAY, nothing)
    move = timer.move
    for _ in range(BATCH):
        move(DELAY)
    timer.cancel()
    return BATCH


def cancel_and_schedule(timers):
    call_later = timers.call_later
    timer = call_later(DELAY, nothing)
    for _ in range(BATCH):
        timer.cancel()
        timer = call_later(DELAY, nothing)
    timer.cancel()
    return BATCH


def fill(timers, count):
    chance = random.Random(1)
    for _ in range(count):
        timers.call_later(3600 + 3600 * chance.random(), nothing)
    gc.collect()


def measure_wheel(workload, pending, seconds):
    with tickwheel.TimerWheel("loop") as wheel:  # whose dispatch() is the round of a loop
        fill(wheel, pending)
        operations, begin = 0, time.perf_counter()
        while (spent := time.perf_counter() - begin) < seconds:
            operations += workload(wheel)
            wheel.dispatch()
            while len(wheel) > pending:
                wheel.dispatch()
    return operations / spent


def loop_measurer(make_loop):
    async def main(workload, pending, seconds):
        loop, over = asyncio.get_running_loop(), asyncio.Event()
        fill(loop, pending)
        operations, begin = 0, time.perf_counter()
        while (spent := time.perf_counter() - begin) < seconds:
            operations += workload(loop)
            if workload is schedule_and_fire:
                loop.call_later(0, over.set)
                await over.wait()
                over.clear()
            else:
                await asyncio.sleep(0)
        return operations / spent

    def measure(workload, pending, seconds):
        loop = make_loop()
        try:
            return loop.run_until_complete(main(workload, pending, seconds))
        finally:
            loop.close()

    return measure


def implementations():
    found = {
        "TimerWheel": measure_wheel,
        "tickwheel.asyncio": loop_measurer(tickwheel.asyncio.EventLoop),
        "asyncio": loop_measurer(asyncio.SelectorEventLoop),
    }
    if uvloop is not None:
        found["uvloop"] = loop_measurer(uvloop.new_event_loop)
    return found


def workloads_of(name):
    return {
        "schedule+cancel": schedule_and_cancel,
        "schedule+fire": schedule_and_fire,
        "move": move if name == "TimerWheel" else cancel_and_schedule,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.3, help="for each measurement")
    parser.add_argument("--pending", type=int, nargs="*", default=[0, 1_000_000], help="timers pending meanwhile")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    results = []
    print(f"million operations a second: median (least to greatest of {options.rounds} rounds); "
          f"{platform.python_implementation()} {platform.python_version()}, "
          f"uvloop {uvloop.__version__ if uvloop else 'is not installed'}")
    for pending in options.pending:
        for workload in workloads_of(""):
            rates = {name: [] for name in implementations()}
            for _ in range(options.rounds):
                for name, measure in implementations().items():
                    rates[name].append(measure(workloads_of(name)[workload], pending, options.seconds) / 1e6)
                    gc.collect()
            print(f"\n{workload}, {pending:,} timers pending")
            for name, each in rates.items():
                median = statistics.median(each)
                print(f"    {name:18} {median:6.2f} ({min(each):.2f} to {max(each):.2f})", flush=True)
                results.append({"workload": workload, "pending": pending, "implementation": name, "median": median,
                                "least": min(each), "greatest": max(each)})
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            head = {"unit": "million operations a second", "python": sys.version}
            json.dump({**head, "results": results}, file, indent=1)


if __name__ == "__main__":
    main()
