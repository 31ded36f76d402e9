"""Combines the logs of all processes, and checks the promises of durable.h.

Times are nanoseconds of CLOCK_BOOTTIME, which all processes of a machine share, except `real` and `due`.
"""
import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from running import Failed

DONE, AGAIN, RETRY = range(3)
CONNECTED, DISCONNECTED, LEASE_LOST = range(3)
ENOENT = -2
S = 10**9
FOREVER = 2**63

# How long a started job may wait for a worker, and how long a process may take to notice a change.
QUEUE = 2 * S


@dataclass
class Fire:
    process: str
    begun: int
    real: int
    key: str
    version: int
    due: int
    overruns: int
    token: int
    lease: int
    now: int
    unconfirmed: int
    ended: int = FOREVER
    lease_at_end: int = 0
    answer: int | None = None

    def alone_until(self):
        """The time until which no other process can hold the job, and so start it."""
        if self.lease == 0:
            return self.begun
        return self.ended if self.lease_at_end > 0 else min(self.ended, self.begun + self.lease)


@dataclass
class Act:
    """A put, a put that keeps, or a remove."""
    what: str
    begun: int
    real: int
    version: int = 0
    delay: int = 0
    period: int = 0
    ended: int = FOREVER
    result: int | None = None


@dataclass
class Trouble:
    """Trouble of one process, or of all. Their jobs may fire twice."""
    what: str
    begun: int
    ended: int
    process: str | None = None


@dataclass
class History:
    fires: dict = field(default_factory=lambda: defaultdict(list))  # by key
    acts: dict = field(default_factory=lambda: defaultdict(list))   # by key
    unconfirmed: dict = field(default_factory=lambda: defaultdict(list))  # by process: time and count
    troubles: list = field(default_factory=list)
    results: Counter = field(default_factory=Counter)

    def read(self, process, lines):
        running, acting, away = {}, {}, None
        for line in lines:
            it = json.loads(line)
            what = it["what"]
            if what == "fire":
                fire = Fire(process, it["boot"], it["real"], it["key"], it["version"], it["due"], it["overruns"],
                            it["token"], it["lease"], it["now"], it["unconfirmed"])
                self.fires[fire.key].append(fire)
                self.unconfirmed[process].append((fire.begun, fire.unconfirmed))
                running[fire.token] = fire
            elif what == "answer":
                fire = running.pop(it["token"])
                fire.ended, fire.lease_at_end, fire.answer = it["boot"], it["lease"], it["answer"]
            elif what in ("puts", "keeps", "removes"):
                act = Act(what, it["boot"], it["real"], it.get("version", 0), it.get("delay", 0), it.get("period", 0))
                self.acts[it["key"]].append(act)
                acting[it["key"]] = act
            elif what in ("put", "kept", "removed"):
                act = acting.pop(it["key"])
                act.ended, act.result = it["boot"], it["result"]
                self.results[f"{what} {it['result']}"] += 1
            elif what == "event" and it["event"] == DISCONNECTED:
                away = Trouble("disconnected", it["boot"] - QUEUE, FOREVER, process)
                self.troubles.append(away)
            elif what == "event" and it["event"] == CONNECTED and away:
                away.ended, away = it["boot"], None
            elif what == "event" and it["event"] == LEASE_LOST:
                self.troubles.append(Trouble("lease lost", it["boot"] - QUEUE, it["boot"], process))

    # --- promises ---

    def check(self, lossy=frozenset()):
        """Of the `lossy` keys a database may have lost something, so they may be lost or fire on."""
        for key in self.acts:
            self.acts[key].sort(key=lambda act: act.begun)
        for key, fires in self.fires.items():
            fires.sort(key=lambda fire: fire.begun)
        repeats = Counter()
        for key in self.acts.keys() | self.fires.keys():
            acts, fires = self.acts[key], self.fires[key]
            try:
                check_times(acts, fires)
                if key not in lossy:
                    check_complete(acts, fires)
                    check_alone(fires)
                    self.check_removed(acts, fires)
                    check_periods(acts, fires)
                    check_kept(acts, fires)
                repeats += self.explain_repeats(fires)
            except Failed as failed:
                raise Failed(f"{key}: {failed}\n" + self.story_of(acts, fires)) from failed
        return repeats

    def story_of(self, acts, fires):
        events = sorted([*acts, *fires], key=lambda it: it.begun)
        close = [each for each in self.troubles
                 if each.ended >= events[0].begun - 2 * S and each.begun <= events[-1].begun + 2 * S]
        return "\n".join(map(str, sorted([*events, *close], key=lambda it: it.begun)))

    def check_removed(self, acts, fires):
        for act in acts:
            if act.what != "removes" or act.result not in (0, 1):
                continue
            later = [fire for fire in fires if fire.begun > act.ended and fire.lease > 0 and
                     was_put_before(acts, fire.version, act) and not self.may_be_unconfirmed(fire)]
            if act.result == 1 and later:
                raise Failed(f"fired after it was removed, at {later[0].begun}")
            if len(later) > 1:
                raise Failed("fired twice after it was removed")

    def may_be_unconfirmed(self, fire):
        """True if the process may have been unable to ask the database. Then it starts its jobs, removed or not."""
        before = [count for when, count in self.unconfirmed[fire.process] if when < fire.begun - QUEUE]
        return fire.unconfirmed > max(before, default=0)

    def explain_repeats(self, fires):
        """Returns how often each cause made a job fire once more for a due time."""
        causes = Counter()
        last = {}  # by version and due time
        for fire in fires:
            former = last.get((fire.version, fire.due))
            if former is not None and former.answer not in (AGAIN, RETRY):
                causes[self.cause_of(former, fire)] += 1
            last[fire.version, fire.due] = fire
        return causes

    def cause_of(self, former, fire):
        for it in self.troubles:
            if it.process in (None, former.process) and it.begun <= fire.begun and it.ended >= former.begun:
                return it.what
        raise Failed(f"fired again at {fire.begun}, and nothing had happened")


def was_put_before(acts, version, removal):
    return any(act.version == version and act.begun < removal.begun for act in acts if act.what != "removes")


def check_complete(acts, fires):
    """A job whose put has returned fires. If it was removed or replaced instead, that call has found the job."""
    for act, after in zip(acts, [*acts[1:], None]):
        if act.what != "puts" or act.result is None or act.result < 0:
            continue
        its = [fire for fire in fires if fire.version == act.version]
        if after is None:
            if not any(fire.answer == DONE for fire in its):
                raise Failed("it never fired to its end")
        elif after.result == (ENOENT if after.what == "removes" else 0) and not its:
            raise Failed(f"it was lost before {after.begun}")


def check_times(acts, fires):
    puts = {act.version: act for act in acts if act.what != "removes"}
    for fire in fires:
        if fire.real < fire.due:
            raise Failed(f"fired {fire.due - fire.real} ns early")
        if fire.now > fire.real:
            raise Failed(f"tw_durable_now was {fire.now - fire.real} ns ahead of the database's clock")
        if fire.version not in puts:
            raise Failed("nobody has put it")
        if fire.due < puts[fire.version].real + puts[fire.version].delay:
            raise Failed("it is due earlier than it was put for")


def check_alone(fires):
    """While one process fires a job under its lease, no other begins to."""
    holds = {}  # by version: the fire of the highest token
    for fire in fires:
        if fire.lease == 0:
            continue  # this process knows that another may have taken over
        former = holds.get(fire.version)
        if former is not None:
            if fire.begun < former.alone_until():
                raise Failed(f"fired at {fire.begun}, while token {former.token} held it")
            if fire.token <= former.token:
                raise Failed(f"fired at {fire.begun} with a token that was not higher")
        holds[fire.version] = fire


def check_periods(acts, fires):
    """The due times form a grid, and each is covered by a fire: as its due time or as one of its overruns."""
    for act in acts:
        if act.what == "removes" or act.period == 0:
            continue
        period, reached = act.period, None
        # The database stores times in whole microseconds.
        its = sorted((fire for fire in fires if fire.version == act.version), key=lambda fire: fire.token)
        for fire in its:
            if (fire.due - its[0].due) % period != 0:
                raise Failed(f"the due time at {fire.begun} is not on the grid")
            if reached is not None and fire.due - fire.overruns * period > reached + period:
                raise Failed(f"due times before the fire at {fire.begun} are missing")
            reached = max(fire.due, reached or 0)


def check_kept(acts, fires):
    """Until the job is removed, the first of the puts that keep is the one whose job fires."""
    if not any(act.what == "keeps" for act in acts):
        return
    if not fires and any(act.result == 0 for act in acts if act.what == "keeps"):
        raise Failed("it was kept, and never fired")
    removals = [act for act in acts if act.what == "removes"]
    for former, fire in zip(fires, fires[1:]):
        if fire.version != former.version and not any(act.begun < fire.begun for act in removals):
            raise Failed(f"version {former.version} was not kept: version {fire.version} fired at {fire.begun}")
