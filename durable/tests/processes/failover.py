"""failover.py WORKER synchronous|asynchronous|split [--seed N] [--rate N]: a standby takes over while processes run.

- synchronous: the standby falls behind, and the primary is killed. Nothing that was acknowledged is lost. Then the
  former primary comes back as a standby, and is still first in the address.
- asynchronous: the same, but the primary does not wait for the standby. The test counts what is lost: no more than
  DURABLE.md says, and only of this time.
- split: the standby is promoted although the primary still answers some of the processes. Each side keeps the promises
  by itself. When the former primary is shut down, its processes go on with the new one.

Workers, logs and checks are those of crash.py.
"""
import json
import signal
import sys
import time
from collections import Counter

import crash
import running
from history import CONNECTED, S, check_alone, check_complete
from proxy import HOLE, Proxy
from running import Failed, boot_now, expect, wait_until

# How long after the failover a process may still act on what it knew before: a lease, and a reconnection.
AFTERWARDS = 3 * S


class World(crash.World):
    def __init__(self, options, home, processes, primary, standby):
        super().__init__(options, home, processes, primary)
        self.primary, self.standby = primary, standby
        self.address = address(primary, standby)

    def proxy(self):
        return None

    def begin(self, seconds=1.0):
        for each in self.members:
            each.begin()
        time.sleep(seconds)

    def wait_for_standby(self):
        """Returns a time: the standby has everything that was committed before it."""
        now = boot_now()
        at = self.primary.psql("select pg_current_wal_lsn()")
        wait_until(lambda: self.standby.psql(f"select pg_last_wal_receive_lsn() >= '{at}'") == "t", "it is received")
        return now

    def promote(self):
        expect(self.standby.psql("select pg_promote()") == "t", "the standby does not take over")

    def wait_until_back(self, since, those=None):
        """Until each process has connected since, or has put a job."""
        def is_back(each):
            lines = [it for it in map(json.loads, each.lines()) if it["boot"] > since]
            return any(it["what"] == "put" and it["result"] >= 0 for it in lines) or \
                [it["event"] for it in lines if it["what"] == "event"][-1:] == [CONNECTED]

        for each in those or self.members:
            wait_until(lambda: is_back(each), f"{each.title()} is back")

    def judge(self, strict=lambda key, acts, fires: True):
        """Checks the keys for which strict(key, puts and removals, fires), and counts what is lost of the others."""
        for path in self.home.glob("*.log"):
            self.history.read(path.stem, path.read_text().splitlines())
        history = self.history
        lossy = {key for key in history.acts.keys() | history.fires.keys()
                 if not strict(key, history.acts[key], history.fires[key])}
        repeats = history.check(lossy)
        crash.print_table("fired again because of", repeats)
        print(f"{len(history.acts)} jobs, {len(lossy)} of them may have lost something")
        return self.losses(lossy)

    def losses(self, lossy):
        counts = Counter()
        for key in lossy:
            acts, fires = self.history.acts[key], self.history.fires[key]
            for what, check in {"jobs were lost": lambda: check_complete(acts, fires),
                                "fired by two at a time or with a lower token": lambda: check_alone(fires),
                                "fired after a removal": lambda: self.history.check_removed(acts, fires)}.items():
                try:
                    check()
                except Failed:
                    counts[what] += 1
        uses = Counter(fire.token for fires in self.history.fires.values() for fire in fires)
        counts["tokens came again"] = sum(1 for count in uses.values() if count > 1)
        crash.print_table("lost", counts)
        return counts


def address(*servers):
    hosts = ",".join(str(each.folder) for each in servers)
    return f"postgresql:///postgres?host={hosts}&user=postgres&target_session_attrs=read-write"


def pass_until(when):
    time.sleep(max(0, (when - boot_now()) / S))


def times(acts, fires):
    return [(it.begun, it.ended) for it in [*acts, *fires]]


def is_outside(begin, end):
    """True for the keys of which nothing happened between these times."""
    return lambda _, acts, fires: all(to < begin or since > end for since, to in times(acts, fires))


# --- the tests ------------------------------------------------------------------------------------

def fail_over(world, between):
    """Kills the primary when the standby has fallen behind. Returns since when that was behind, and when all processes
    were back."""
    behind = world.wait_for_standby()
    between.mode = HOLE
    time.sleep(0.7)
    killed = boot_now()
    world.primary.kill()
    between.end()
    world.promote()
    print(f"the standby was {(killed - behind) / S:.1f} s behind")
    world.wait_until_back(killed)
    return behind, boot_now()


def synchronous(world, between):
    primary = world.primary
    primary.psql("alter system set synchronous_standby_names = '*'")
    primary.psql("select pg_reload_conf()")
    wait_until(lambda: primary.psql("select sync_state from pg_stat_replication") == "sync", "it is synchronous")
    world.begin()
    world.note("failed over", *fail_over(world, between))
    time.sleep(0.5)

    (primary.folder / "data/standby.signal").touch()
    primary.start("primary_conninfo=")
    expect(primary.psql("select pg_is_in_recovery()") == "t", "the former primary is no standby")
    killed = boot_now()
    world.members[0].kill()
    world.members[0].begin()
    world.wait_until_back(killed, world.members[:1])
    world.drain()
    expect(world.judge()["tokens came again"] == 0, "tokens came again")


def asynchronous(world, between):
    world.begin()
    behind, back = fail_over(world, between)
    world.note("failed over", behind, back + AFTERWARDS)
    pass_until(back + AFTERWARDS + S)
    world.drain()
    losses = world.judge(is_outside(behind, back + AFTERWARDS))
    expect(losses["jobs were lost"], "nothing was lost: the test did not test anything")


def split(world, between):
    primary, standby = world.primary, world.standby
    world.begin()
    split_at = world.wait_for_standby()
    between.end()
    world.promote()
    world.address = address(standby, primary)
    mover, new_putter = world.members[1], crash.Process(world, "late", {"put": 100})
    mover.kill()
    mover.begin()
    world.members.insert(0, new_putter)
    new_putter.begin()
    world.wait_until_back(split_at, [mover, new_putter])
    time.sleep(1.5)
    shut = boot_now()
    primary.stop()
    joined = boot_now()
    world.note("split", split_at, joined + AFTERWARDS)
    world.wait_until_back(shut, [each for each in world.members if each not in (mover, new_putter)])
    pass_until(joined + AFTERWARDS + S)
    new_putter.signal(signal.SIGUSR1)
    wait_until(lambda: '"quiet"' in new_putter.log().read_text(), "the new putter ends")
    world.drain()

    is_before_or_after = is_outside(split_at, joined + AFTERWARDS)
    losses = world.judge(lambda key, *rest: key.startswith("late") or is_before_or_after(key, *rest))
    new_side = {mover.title()}
    both = 0
    for key, fires in world.history.fires.items():
        sides = [[fire for fire in fires if (fire.process in new_side) == is_new and fire.begun < shut]
                 for is_new in (True, False)]
        for side in sides:
            check_alone(side)
        both += len({(fire.version, fire.due) for fire in sides[0]} & {(fire.version, fire.due) for fire in sides[1]})
    print(f"{both} due times fired on both sides")
    expect(both, "no job fired on both sides: the test did not test anything")
    expect(losses["jobs were lost"], "nothing was lost: the test did not test anything")


def test(options):
    print(f"seed {options.seed}", flush=True)
    settings = "fsync=off", "log_min_messages=fatal"
    with running.folder() as home, running.ended_at_last() as processes, \
            running.running_server(home / "old", *settings, options=["--wal-segsize=1"]) as primary:
        between = Proxy(primary.socket())
        with running.running_server(home / "new", *settings, follows=primary.address(),
                                    by=between.address()) as standby:
            wait_until(lambda: primary.psql("select state from pg_stat_replication") == "streaming", "it follows")
            world = World(options, home, processes, primary, standby)
            globals()[options.how](world, between)


if __name__ == "__main__":
    given = running.parse_arguments("worker", how=dict(choices=["synchronous", "asynchronous", "split"]),
                                    seed=running.any_seed(), rate=dict(type=int, default=200))
    running.main(lambda: test(given))
    sys.exit(0)
