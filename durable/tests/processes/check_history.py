"""check_history.py: tests that history.py finds each broken promise, in a history that is otherwise correct."""
import copy
import json
import sys

from history import AGAIN, DONE, S, History, Trouble
from running import Failed

OFFSET = 1000 * S  # from boot time to the wall clock
PERIOD = S


def line(what, at, **fields):
    return {"what": what, "boot": at, "real": at + OFFSET, **fields}


def put(key, at, result=0, **fields):
    return [line("puts", at, key=key, **{"version": 1, "delay": S, "period": 0, **fields}),
            line("put", at + 1000, key=key, version=fields.get("version", 1), result=result)]


def remove(key, at, result):
    return [line("removes", at, key=key), line("removed", at + 1000, key=key, result=result)]


def keep(key, at, version):
    return [line("keeps", at, key=key, version=version, delay=S, period=PERIOD),
            line("kept", at + 1000, key=key, result=0)]


def fire(key, at, token, answer=DONE, **fields):
    due = fields.pop("due", at) + OFFSET
    begun = line("fire", at, key=key, token=token, now=at + OFFSET,
                 **{"version": 1, "due": due, "overruns": 0, "attempt": 1, "lease": S, "unconfirmed": 0, **fields})
    return [begun, line("answer", at + S // 10, key=key, token=token, lease=S, answer=answer)]


def good():
    """The log of each process."""
    return {
        "putter-1": [*put("once", S), *put("again", S), *put("twice", S), *put("gone", S), *remove("gone", 2 * S, 1),
                     *put("replaced", S), *put("replaced", 2 * S, 1, version=2), *put("periodic", S, period=PERIOD),
                     *remove("periodic", 6 * S, 1), *keep("kept", S, 1)],
        "worker-1": [*fire("once", 2 * S + 2000, 1), *fire("again", 2 * S + 3000, 2, AGAIN), *fire("twice", 3 * S, 4),
                     *fire("periodic", 2 * S + 4000, 10), *fire("periodic", 5 * S + 4000, 11, overruns=2),
                     *keep("kept", S + 5000, 2), *fire("kept", 2 * S + 5000, 12), *fire("kept", 4 * S + 5000, 14),
                     *remove("kept", 6 * S, 1)],
        "worker-2": [*fire("again", 3 * S, 3, due=2 * S + 3000), *fire("twice", 5 * S, 5, due=3 * S),
                     *fire("replaced", 4 * S, 6, version=2), *fire("kept", 3 * S + 5000, 13)],
    }


TROUBLES = [Trouble("killed", 3 * S + 1, 3 * S + 2, "worker-1")]


def repeats_in(written, troubles):
    history = History(troubles=list(troubles))
    for process, lines in written.items():
        history.read(process, map(json.dumps, lines))
    return history.check()


def first(lines, what, key, number=0):
    return [each for each in lines if each["what"] == what and each["key"] == key][number]


def drop(written, process, key):
    written[process] = [each for each in written[process] if each["key"] != key]


# Each breaks a good history in one way.
FAULTS = {
    "a job never fires": lambda it: drop(it, "worker-1", "once"),
    "its handler never ends": lambda it: it["worker-1"].remove(first(it["worker-1"], "answer", "once")),
    "a job that was put is missing": lambda it: it["putter-1"].extend([*put("lost", S), *remove("lost", 5 * S, -2)]),
    "a replaced job is missing": lambda it: first(it["putter-1"], "put", "replaced", 1).update(result=0),
    "a fire is early": lambda it: first(it["worker-1"], "fire", "once").update(due=2 * S + 3000 + OFFSET),
    "a due time is early": lambda it: first(it["worker-1"], "fire", "once").update(due=2 * S - 1 + OFFSET),
    "the clock is ahead": lambda it: first(it["worker-1"], "fire", "once").update(now=2 * S + 3000 + OFFSET),
    "nobody has put it": lambda it: it["worker-1"].extend(fire("unknown", 3 * S, 20)),
    "two hold a job": lambda it: first(it["worker-2"], "fire", "again").update(boot=2 * S + 4000),
    "a dead one's lease lasts": lambda it: (it["worker-1"].remove(first(it["worker-1"], "answer", "twice")),
                                            first(it["worker-1"], "fire", "twice").update(lease=3 * S)),
    "a token falls": lambda it: [each.update(token=0) for each in it["worker-2"] if each["key"] == "twice"],
    "a removed job fires": lambda it: it["worker-1"].extend(fire("gone", 4 * S, 20)),
    "a due time is missing": lambda it: first(it["worker-1"], "fire", "periodic", 1).update(overruns=1),
    "a due time is off the grid": lambda it: first(it["worker-1"], "fire", "periodic", 1).update(due=5 * S + OFFSET),
    "a job is not kept": lambda it: first(it["worker-1"], "fire", "kept", 1).update(version=2),
    "a due time of a kept job is missing": lambda it: drop(it, "worker-2", "kept"),
    "a job fires twice for nothing": lambda it: it["worker-2"].extend(fire("once", 5 * S // 2, 20, due=2 * S + 2000)),
}


def main():
    repeats = repeats_in(good(), TROUBLES)
    if repeats != {"killed": 1}:
        sys.exit(f"of one repeat: {repeats}")
    for name, spoil in FAULTS.items():
        written = copy.deepcopy(good())
        spoil(written)
        # The trouble here explains all repeats, except in the case whose fault is a repeat without a cause.
        troubles = TROUBLES if "for nothing" in name else [Trouble("killed", 0, 10 * S)]
        try:
            repeats_in(written, troubles)
        except Failed:
            continue
        sys.exit(f"not found: {name}")
    print(f"{len(FAULTS)} faults found")


if __name__ == "__main__":
    main()
