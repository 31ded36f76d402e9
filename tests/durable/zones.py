#!/usr/bin/env python3
"""zones.py ZONE_OFFSETS [SEED]: compares the zones of the library with those of Python.

ZONE_OFFSETS is the program of zone_offsets.cpp. For every zone of the tz database with TW_NIGHTLY=1, and otherwise
for some that the seed chooses, the offsets are compared each week from 1970 to 2200, at random times, and around each
change. If there is zic, the same is done with a database that it writes in the short form, in which most changes
follow from the rule at the end of a file.
"""

import os
import random
import subprocess
import sys
import tempfile

END = 7289654400  # of the year 2200
WEEK = 7 * 86400
RANDOM_TIMES = 300
ZONES_PER_PUSH = 20

# What zic of 2024 and 2025 writes about this zone in the short form contradicts itself: at its last change the list
# says one thing, and the rule that goes on from there another.
CONTRADICTIONS = {("America/Ojinaga", 1667116800)}

# Runs for one database, in a process of its own: Python looks for the folder when it starts.
COMPARE = "--compare"


def offset(zone, utc):
    from datetime import datetime, timedelta, timezone

    moment = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=utc)
    return int(moment.astimezone(zone).utcoffset().total_seconds())


def ask(helper, line):
    helper.stdin.write(line + "\n")
    helper.stdin.flush()
    answer = helper.stdout.readline().split()
    if not answer or answer[0] != "refused":
        return [int(word) for word in answer]
    raise SystemExit(f"zones: {line.split()[0]} is refused: {answer[1]}")


def times_of(changes, numbers):
    times = set(range(0, END, WEEK))
    times.update(numbers.randrange(END) for _ in range(RANDOM_TIMES))
    for change in changes:
        times.update((change - 1, change, change + 1))
    times.update((0, END - 1))
    return sorted(times)


def compare(program, seed):
    import zoneinfo

    numbers = random.Random(seed)
    helper = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    names = sorted(zoneinfo.available_timezones() - {"localtime"})
    if "TW_NIGHTLY" not in os.environ:
        names = numbers.sample(names, ZONES_PER_PUSH)
    compared = differences = 0
    for name in names:
        zone = zoneinfo.ZoneInfo(name)
        times = times_of(ask(helper, name), numbers)
        answers = ask(helper, " ".join([name, *map(str, times)]))
        for utc, answer in zip(times, answers, strict=True):
            if answer != offset(zone, utc) and (name, utc) not in CONTRADICTIONS:
                differences += 1
                print(f"zones: {name} at {utc}: {answer}, Python says {offset(zone, utc)}")
        compared += len(times)
    print(f"zones: {len(names)} zones of {zoneinfo.TZPATH[0]}, {compared} offsets, {differences} differences")
    return differences == 0 and len(names) > 0


def run(program, seed, folder):
    environment = dict(os.environ, TZDIR=folder, PYTHONTZPATH=folder)
    command = [sys.executable, __file__, COMPARE, program, str(seed)]
    return subprocess.run(command, env=environment, check=False).returncode == 0


def main():
    program = os.path.abspath(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(2**32)
    system = "/usr/share/zoneinfo"
    source = os.path.join(system, "tzdata.zi")
    print(f"zones: seed {seed}", flush=True)
    if not os.path.isdir(system):
        print("zones: skipped, there is no tz database")
        return 77
    is_good = run(program, seed, system)
    with tempfile.TemporaryDirectory() as short:
        zic = ["/usr/sbin/zic", "-b", "slim", "-d", short, source]
        if os.path.exists(source) and os.path.exists(zic[0]):
            subprocess.run(zic, check=True)
            is_good = run(program, seed, short) and is_good
        else:
            print("zones: short form skipped, as there is no zic or no tzdata.zi")
    return 0 if is_good else 1


if __name__ == "__main__":
    if sys.argv[1] == COMPARE:
        sys.exit(0 if compare(sys.argv[2], int(sys.argv[3])) else 1)
    sys.exit(main())
