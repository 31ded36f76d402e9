"""check_inputs.py wheel|drivers PROGRAM [ARGUMENT...]: the program's output for ./dev report is complete and
right.

In a recording, every timer fires once, on its tick, and stands in a slot that its tick belongs to. For the
drivers, every fire is counted once, by cause and by how long it ran.
"""
import json
import subprocess
import sys

ARMED, AHEAD, LOWERED, FIRED, CANCELLED, POSTPONED = range(6)


class Broken(Exception):
    pass


def expect(is_so, what):
    if not is_so:
        raise Broken(what)


def states_of(recording):
    """Yields {timer: its slot} after each frame, and checks each event on the way."""
    bits, top, width = recording["bits"], recording["levels"] - 1, 2 << recording["bits"]
    due, placed_by, slot_of, postponed = {}, {}, {}, set()

    def stand(tick, who, slot):
        level = slot // width
        expect(level <= top, f"timer {who} stands in a slot that is not drawn")
        slots = width if level < top else width // 2
        expect((placed_by[who] >> bits * level) % slots == slot % width, f"timer {who} stands in a slot of another tick")
        slot_of[who] = slot

    for tick, frame in enumerate(recording["frames"], recording["begin"]):
        for kind, who, *rest in frame:
            expect((who in slot_of) == (kind != ARMED), f"tick {tick}: timer {who} is not in a state for {recording['kinds'][kind]}")
            if kind == ARMED:
                due[who] = placed_by[who] = rest[0]
                postponed.discard(who)
                stand(tick, who, rest[1])
            elif kind == POSTPONED:
                expect(rest[0] > due[who], f"timer {who} is postponed to an earlier tick")
                due[who] = rest[0]
                postponed.add(who)
            elif kind in (AHEAD, LOWERED):
                expect(who in postponed or rest[0] // width < slot_of[who] // width, f"timer {who} does not come down")
                placed_by[who] = due[who]
                stand(tick, who, rest[0])
            else:
                expect(kind != FIRED or due[who] == tick, f"timer {who}, due at {due[who]}, fires at {tick}")
                del slot_of[who]
        expect(all(due[who] > tick for who in slot_of), f"tick {tick}: a timer is overdue")
        yield dict(slot_of)


def check_wheel(recording):
    states = list(states_of(recording))
    happened = {kind for frame in recording["frames"] for kind, *_ in frame}
    expect(happened == set(range(6)), f"of the kinds of events only {sorted(happened)} happen")
    expect(len(states[-1]) == recording["pending"], "the timers of the last frame are not those that are pending")
    return f"{len(states)} ticks, {sum(map(len, recording['frames']))} events"


def check_drivers(measured):
    ran = [each for each in measured["drivers"] if "not_run" not in each]
    expect(ran, "no driver ran")
    limits = measured["limits_ns"]
    expect(limits[-1] == 0 and limits[:-1] == sorted(limits[:-1]), "the limits of the buckets do not rise")
    for each in ran:
        late = sum(sum(each[cause]["counts"]) for cause in ("waking", "callbacks", "budget"))
        expect(late == sum(each["run"]["counts"]) == each["fires"] > 0,
               f"{each['driver']}: {each['fires']} fires, {late} in the histograms of lateness")
        expect(each["early"] == each["lost"] == each["drift_ns"] == 0, f"{each['driver']}: a timer was early, lost or drifted")
    return f"{len(ran)} drivers, {sum(each['fires'] for each in ran)} fires"


if __name__ == "__main__":
    check = {"wheel": check_wheel, "drivers": check_drivers}[sys.argv[1]]
    ran = subprocess.run(sys.argv[2:], stdout=subprocess.PIPE, check=True)
    try:
        print(check(json.loads(ran.stdout)))
    except Broken as broken:
        sys.exit(str(broken))
