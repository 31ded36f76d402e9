#!/usr/bin/env python3
"""Mutation testing: changes the code in small ways, one at a time, and lists the changes that no test notices. See
docs/MUTATION.md; run it by ./dev mutate."""

import argparse
import hashlib
import json
import os
import random
import sys
import time
from pathlib import Path

from campaign import Campaign, Journal
from equivalent import Equivalents
from failure import Failure
from mutated import MutatedSources
from report import Report, survivors_of, write_matrix
from suite import read_tests, targets_of
from tree import Tree

# Labels of tests that never run here: they build something, search models of the code, or take long.
NEVER = {"build", "protocol", "soak", "docs"}
# The labels or names of the tests for the mutants in a folder.
TESTS_OF = {
    "src/core": {"core"},
    "durable/src": {
        f"durable_{name}"
        for name in ("parts", "jobs", "without_memory", "fork", "waiting", "store", "store_sqlite_memory", "cpp", "sqlite")
    },
    "durable": {"durable"},
    "calendar": {"calendar"},
    "boards": {"boards", "kernels"},
}
TESTS_OF_OTHERS = {"runtime", "timers", "workers", "drivers", "observe", "cpp", "ports"}
SHORT = {"TW_MODEL_OPS": "20000", "TW_MODEL_DEPTH": "3"}  # the random and the exhaustive tests


def arguments():
    root = Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(prog="./dev mutate", description=__doc__)
    add = parser.add_argument
    add("paths", nargs="+", metavar="PATH", help="files or folders to mutate")
    add("--sample", type=int, metavar="N", help="only N mutants, chosen at random: a quick estimate")
    add("--seed", type=int, help="repeats a --sample; each run prints its seed")
    add("--survivors", metavar="FILE", type=Path, help="only mutants that survive in this report of --json")
    add("--tests", metavar="LABEL,...", help="labels or names of the tests; default: those for the mutated folders")
    add("--longest", type=float, default=5, metavar="SECONDS", help="leave out longer tests (5)")
    add("--budget", type=float, default=5, metavar="SECONDS", help="limit of the tests for one mutant (5)")
    add("--orders", action="store_true", help="weaker memory orders alone, under the thread sanitizer")
    add("--matrix", metavar="FILE", type=Path, help="run all tests, and write which catch which mutant")
    add("--json", metavar="FILE", type=Path, help="write the report as JSON, too")
    add("--list", action="store_true", help="list the mutants, and run nothing")
    add("--jobs", type=int, default=2 * os.cpu_count(), help="tests at a time (two for each processor)")
    add("--root", type=Path, default=root, help="of another project")
    add("--equivalent", type=Path, help="mutants that change nothing (tests/mutation/equivalent.txt)")
    add("--work", type=Path, help="the folder of the copy and its build (build/mutate)")
    return parser.parse_args()


def say(text):
    print(f"mutate: {text}", flush=True)


class Progress:
    """Progress: at a terminal one line that is written over, elsewhere a line now and then."""

    def __init__(self):
        self.last = 0.0
        self.is_shown = False

    def __call__(self, text):
        now = time.monotonic()
        if sys.stdout.isatty():
            print(f"\r\033[Kmutate: {text}", end="", flush=True)
            self.is_shown = True
        elif now - self.last >= 20:
            self.last = now
            say(text)

    def end(self):
        if self.is_shown:
            print("\r\033[K", end="", flush=True)
            self.is_shown = False


def run(options):
    progress = Progress()
    root = options.root.resolve()
    work = (options.work or root / "build" / "mutate").resolve()
    tree = Tree(root, work / "orders" if options.orders else work, has_sanitizer=options.orders)
    wanted = [os.path.relpath(Path(path).resolve(), root) for path in options.paths]
    mutated = MutatedSources(tree, wanted, progress)
    tree.write({}, kept=set(mutated.names.values()))
    tree.configure()
    mutated.find(has_orders=options.orders)
    progress.end()
    if options.list:
        for mutant in mutated.mutants:
            print(f"{mutant.file}:{mutant.line}: {mutant.kind}: {mutant.original} => {mutant.changed}")
        return 0

    mutated.drop_what_does_not_compile()
    progress.end()
    mutated.build(targets_of(choose_tests(options, tree, mutated), tree.build_dir), say)
    tests = choose_tests(options, tree, mutated)  # again, because ctest now knows the commands
    campaign = Campaign(tests, journal(tree, mutated, tests, options), tree.work, options, progress)
    campaign.environment.update(SHORT)
    record(campaign, options, progress)
    equivalents = Equivalents(options.equivalent or options.root / "tests" / "mutation" / "equivalent.txt")
    mutants = [mutant for mutant in mutated.mutants if not equivalents.has(mutant)]
    equivalent = len(mutated.mutants) - len(mutants)
    say(f"left out: {equivalent} equivalent mutants, and {mutated.dropped} that do not compile")
    if options.survivors is not None:
        survived = survivors_of(json.loads(options.survivors.read_text()))
        mutants = [mutant for mutant in mutants if mutant.key in survived]
    mutants = sample(mutants, options)
    say(f"{len(mutants)} mutants, {len(campaign.tests)} tests")
    begin = time.monotonic()
    fates = list(campaign.judge(mutants))
    progress.end()
    say(f"ran {len(fates)} mutants in {time.monotonic() - begin:.0f} s")
    while unreliable := campaign.unreliable(fates):
        say(f"left out, as they fail now and then without a mutant: {', '.join(unreliable)}")
        fates = campaign.judge_without(unreliable, fates)
        progress.end()
    report(options, fates, campaign.tests, {"equivalent": equivalent, "did_not_compile": mutated.dropped})
    unused = equivalents.unused(set(mutated.names.values())) if not options.orders else []
    for number, text in unused:
        print(f"{equivalents.path}:{number}: no mutant matches: {text}")
    return 1 if unused else 0


def choose_tests(options, tree, mutated):
    if options.tests:
        labels = set(options.tests.split(","))
    else:
        labels = set()
        for name in mutated.names.values():
            labels |= next((of for folder, of in TESTS_OF.items() if name.startswith(f"{folder}/")), TESTS_OF_OTHERS)
    chosen = [
        test
        for test in read_tests(tree.build_dir)
        if not test.labels or ((test.labels | {test.name}) & labels and not test.labels & NEVER)
    ]
    if options.orders:
        chosen = [test for test in chosen if "race" in test.labels]
    if not chosen:
        raise Failure(f"no test has one of the labels {', '.join(sorted(labels))}")
    return chosen


def journal(tree, mutated, tests, options):
    """The journal of these files, mutants and tests: if any of them changes, the run gets another journal."""
    digest = hashlib.sha256()
    for name in tree.files():
        if Path(name).suffix != ".md" and not name.startswith("tests/mutation/"):
            digest.update(name.encode() + b"\0" + (tree.root / name).read_bytes())
    digest.update(repr([(mutant.number, mutant.key) for mutant in mutated.mutants]).encode())
    digest.update(repr((sorted(test.name for test in tests), options.longest)).encode())
    return Journal(tree.work / "journal" / digest.hexdigest()[:16])


def record(campaign, options, progress):
    """Runs the tests without a mutant, and prints which of them fail here."""
    left_out = campaign.record()
    progress.end()
    if left_out:
        say(f"left out, as they do not pass here without a mutant: {', '.join(left_out)}")
    too_long = [test.name for test in campaign.tests if test.cost > options.longest]
    if too_long:
        say(f"left out, as they take more than {options.longest:g} s: {', '.join(too_long)}")
        campaign.tests = [test for test in campaign.tests if test.cost <= options.longest]


def sample(mutants, options):
    if options.sample is None or options.sample >= len(mutants):
        return mutants
    seed = options.seed if options.seed is not None else random.randrange(1 << 32)
    say(f"a sample of {options.sample} of {len(mutants)} mutants: --seed {seed}")
    chosen = random.Random(seed).sample(mutants, options.sample)
    return sorted(chosen, key=lambda mutant: mutant.number)


def report(options, fates, tests, counts):
    found = Report(fates)
    print(found.text())
    cut = sum(fate["is_cut"] for _, fate in fates)
    if cut > 0:
        say(f"{cut} survivors have more tests that reach them than {options.budget:g} s allow (--budget)")
    if options.json is not None:
        found.write_json(options.json, {"paths": options.paths, **counts, "cut": cut})
    if options.matrix is not None:
        write_matrix(options.matrix, fates, tests)


def main():
    try:
        return run(arguments())
    except Failure as failure:
        print(f"\nmutate: {failure}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nmutate: interrupted; the same command goes on from here", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
