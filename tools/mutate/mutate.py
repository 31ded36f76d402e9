#!/usr/bin/env python3
"""Mutation testing: changes the code in small ways, one at a time, and lists the changes that no test notices. See
docs/MUTATION.md; run it by ./dev mutate."""

import argparse
import hashlib
import os
import random
import re
import sys
import time
from pathlib import Path

from campaign import MOST_MUTANTS, Campaign, Journal
from equivalent import Equivalents
from failure import Failure
from finder import Finder
from report import Report, write_matrix
from source import Source
from suite import read_tests, targets_of
from tree import FLAGS, Tree
from weave import DECLARED, Weaver

MOST_ROUNDS = 10  # of compiling, to find the mutants that do not compile
SOURCES = {".c", ".cpp", ".h", ".hpp"}
# Tests that build something, search models of the code, or only take long.
NEVER = {"build", "protocol", "soak", "docs"}
# By the room that is mutated: labels of the tests that are for it.
TESTS_OF = {"src/core": {"core"}, "src/durable": {"durable"}}
TESTS_OF_OTHERS = {"runtime", "timers", "workers", "drivers", "observe", "cpp", "ports"}
SHORT = {"TW_MODEL_OPS": "20000", "TW_MODEL_DEPTH": "3"}  # the random and the exhaustive tests
RACE_FLAGS = "-O1 -DNDEBUG -w -g -fsanitize=thread"


def arguments():
    parser = argparse.ArgumentParser(prog="./dev mutate", description=__doc__)
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files or folders to mutate")
    parser.add_argument("--sample", type=int, metavar="N", help="only N mutants, chosen at random: a quick estimate")
    parser.add_argument("--seed", type=int, help="of --sample; the run prints it")
    parser.add_argument("--tests", metavar="LABEL,...", help="labels of the tests to run; default: those of the rooms")
    parser.add_argument("--longest", type=float, default=5, metavar="SECONDS", help="leave out longer tests (5)")
    parser.add_argument("--orders", action="store_true", help="weaker memory orders alone, under the thread sanitizer")
    parser.add_argument("--matrix", metavar="FILE", type=Path, help="run all tests, and write which catch which mutant")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the report as JSON, too")
    parser.add_argument("--list", action="store_true", help="list the mutants, and run nothing")
    parser.add_argument("--jobs", type=int, default=2 * os.cpu_count(), help="tests at a time (two for each processor)")
    parser.add_argument("--budget", type=float, default=10, metavar="SECONDS", help="of tests for one mutant (10)")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2], help="of another project")
    parser.add_argument("--equivalent", type=Path, help="mutants that change nothing (tests/mutation/equivalent.txt)")
    parser.add_argument("--work", type=Path, help="the folder of the copy and its build (build/mutate)")
    return parser.parse_args()


def say(text):
    print(f"mutate: {text}", flush=True)


class Progress:
    """One line that is written over, at a terminal; else a line now and then."""

    def __init__(self):
        self.last = 0.0

    def __call__(self, text):
        now = time.monotonic()
        if sys.stdout.isatty():
            print(f"\r\033[Kmutate: {text}", end="", flush=True)
        elif now - self.last >= 20:
            self.last = now
            say(text)

    def end(self):
        if sys.stdout.isatty():
            print("\r\033[K", end="", flush=True)


class Mutation:
    """A run of the tool."""

    def __init__(self, options):
        self.options = options
        self.root = options.root.resolve()
        work = options.work or self.root / "build" / "mutate"
        self.work = (work / "orders" if options.orders else work).resolve()
        self.progress = Progress()
        self.tree = Tree(self.root, self.work, RACE_FLAGS if options.orders else FLAGS)
        self.sources = {}  # by path
        self.names = {}  # of those, in the tree
        self.weavers = {}
        self.places = {}
        self.dropped = 0

    def run(self):
        options = self.options
        self.choose_files()
        self.tree.write({}, kept=set(self.names.values()))
        self.tree.configure()
        units = self.find()
        if options.list:
            self.list()
            return 0
        self.drop_what_does_not_compile(units)
        tests = self.choose_tests()
        self.build(targets_of(tests, self.tree.build_dir))
        tests = self.choose_tests()
        mutants = self.mutants()
        campaign = Campaign(tests, self.journal(tests), self.work, options.jobs, options.budget, self.progress)
        campaign.environment.update(SHORT)
        left_out = campaign.record()
        self.progress.end()
        if left_out:
            say(f"left out, as they do not pass here without a mutant: {', '.join(left_out)}")
        too_long = [test.name for test in campaign.tests if test.seconds > options.longest]
        if too_long:
            say(f"left out, as they take more than {options.longest:g} s: {', '.join(too_long)}")
            campaign.tests = [test for test in campaign.tests if test.seconds <= options.longest]
        say(f"{len(mutants)} mutants, {len(campaign.tests)} tests; {self.dropped} mutants did not compile")
        chosen = self.sample(mutants)
        begin = time.monotonic()
        fates = list(campaign.judge(chosen, is_matrix=options.matrix is not None))
        self.progress.end()
        say(f"ran {len(fates)} mutants in {time.monotonic() - begin:.0f} s")
        cut = sum(fate["is_cut"] for _, fate in fates)
        if cut > 0:
            say(f"{cut} of them survived tests of {options.budget:g} s, and were not run by all that reach them: --budget")
        return self.report(fates, campaign.tests)

    # --- what to mutate ------------------------------------------------------------------

    def choose_files(self):
        wanted = [os.path.relpath(Path(path).resolve(), self.root) for path in self.options.paths]
        for name in self.tree.files():
            if Path(name).suffix in SOURCES and any(path in (".", name) or name.startswith(path + "/") for path in wanted):
                path = str(self.root / name)
                self.sources[path] = Source((self.root / name).read_bytes())
                self.names[path] = name
        if not self.sources:
            raise Failure(f"there is no source of C or C++ in {', '.join(wanted)}")

    def find(self):
        """Finds the mutants. Returns the units that the compiler has to see."""
        finder = Finder()
        units = []
        candidates = self.units_with_sources()
        for count, (file, arguments, compiler) in enumerate(candidates, 1):
            self.progress(f"reading the code: {count} of {len(candidates)}")
            original = [self.tree.original(word) for word in arguments if not word.startswith(("-O", "-fno-tree"))]
            if finder.read(self.tree.original(file), original, self.sources, self.names):
                units.append((file, arguments, compiler))
        self.progress.end()
        self.places = {path: sorted(found.values(), key=lambda place: (place.start, -place.end)) for path, found in
                       sorted(finder.places.items())}
        number = 0
        for places in self.places.values():
            for place in places:
                place.mutants = [mutant for mutant in place.mutants if mutant.is_order == self.options.orders]
                for mutant in place.mutants:
                    number += 1
                    mutant.number = number
        if number >= MOST_MUTANTS:
            raise Failure(f"{number} mutants are too many for one run: give fewer files")
        return units

    def units_with_sources(self):
        """Units of the library that show a source, or parts of one, that no other does; first those of the sources."""
        seen = set()
        units = []
        for unit in sorted(self.tree.units(), key=lambda unit: self.tree.original(unit[0]) not in self.sources):
            file, arguments, _ = unit
            original = self.tree.original(file)
            if self.is_test(original) and original not in self.sources:
                continue
            shown = {self.look(path, arguments) for path in self.closure(original, arguments) & set(self.sources)}
            if not shown <= seen:
                seen |= shown
                units.append(unit)
        return units

    def look(self, path, arguments):
        """Equal for two units that show the same parts of a source: it has no conditions, or their macros are the
        same."""
        if not re.search(r"(?m)^\s*#\s*if", self.sources[path].text):
            return path
        settings = [word for word in arguments if word.startswith("-D")]
        for word in arguments:
            if word.startswith("-I" + str(self.tree.build_dir)):
                settings += [header.read_text() for header in sorted(Path(word[2:]).rglob("*.h"))]
        return path, tuple(settings)

    def is_test(self, path):
        return os.path.relpath(path, self.root).split("/")[0] in {"tests", "bench", "examples", "..", "build"}

    def closure(self, path, arguments, found=None):
        """The file and all that it includes, directly or not, in the tree."""
        found = set() if found is None else found
        if path in found or not os.path.exists(path):
            return found
        found.add(path)
        folders = [os.path.dirname(path)] + [self.tree.original(word[2:]) for word in arguments if word.startswith("-I")]
        for included in re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', Path(path).read_text("latin-1"), re.MULTILINE):
            for folder in folders:
                candidate = os.path.normpath(os.path.join(folder, included))
                if candidate.startswith(str(self.root)) and os.path.exists(candidate):
                    self.closure(candidate, arguments, found)
                    break
        return found

    def mutants(self):
        return [mutant for places in self.places.values() for place in places for mutant in place.mutants]

    def list(self):
        for mutant in self.mutants():
            print(f"{mutant.file}:{mutant.line}: {mutant.kind}: {mutant.original} => {mutant.changed}")

    def sample(self, mutants):
        if self.options.sample is None or self.options.sample >= len(mutants):
            return mutants
        seed = self.options.seed if self.options.seed is not None else random.randrange(1 << 32)
        say(f"a sample of {self.options.sample}, with --seed {seed}")
        return sorted(random.Random(seed).sample(mutants, self.options.sample), key=lambda mutant: mutant.number)

    # --- the build -----------------------------------------------------------------------

    def weave(self):
        woven = {}
        for path, places in self.places.items():
            weaver = self.weavers[path] = Weaver(self.sources[path])
            woven[self.names[path]] = DECLARED + weaver.weave([place for place in places if place.mutants])
        self.tree.write(woven)

    def drop_what_does_not_compile(self, units):
        for _ in range(MOST_ROUNDS):
            self.weave()
            errors = self.tree.syntax_errors(units, self.progress)
            self.progress.end()
            if not errors or not self.drop(errors):
                return

    def drop(self, errors):
        """Drops the mutants at these places. Returns how many."""
        bad = set()
        for file, line, column in errors:
            weaver = self.weavers.get(self.tree.original(os.path.normpath(file)))
            if weaver is not None:
                bad |= {mutant.number for mutant in weaver.mutants_at(line, column)}
        for places in self.places.values():
            for place in places:
                place.mutants = [mutant for mutant in place.mutants if mutant.number not in bad]
        self.dropped += len(bad)
        return len(bad)

    def build(self, targets):
        for _ in range(MOST_ROUNDS):
            self.weave()
            say("building the tests with all mutants")
            errors, log = self.tree.build(targets, os.cpu_count())
            if not log:
                return
            if not self.drop(errors):
                raise Failure(f"the build failed:\n{log[-4000:]}")
        raise Failure(f"mutants that do not compile are still found after {MOST_ROUNDS} builds")

    # --- tests ---------------------------------------------------------------------------

    def choose_tests(self):
        if self.options.tests:
            labels = set(self.options.tests.split(","))
        else:
            rooms = {os.path.dirname(name) for name in self.names.values()}
            labels = set()
            for room in rooms:
                known = [found for folder, found in TESTS_OF.items() if (room + "/").startswith(folder + "/")]
                labels |= known[0] if known else TESTS_OF_OTHERS
        tests = read_tests(self.tree.build_dir)
        chosen = [test for test in tests if not test.labels or (test.labels & labels and not test.labels & NEVER)]
        if self.options.orders:
            chosen = [test for test in chosen if "race" in test.labels]
        if not chosen:
            raise Failure(f"no test has one of the labels {', '.join(sorted(labels))}")
        return chosen

    def journal(self, tests):
        """Facts hold as long as all sources, the mutants and the choice of tests stay as they are."""
        digest = hashlib.sha256()
        for name in self.tree.files():
            if Path(name).suffix not in {".md", ".txt"} or name.endswith("CMakeLists.txt"):
                digest.update(name.encode() + b"\0" + (self.root / name).read_bytes())
        for mutant in self.mutants():
            digest.update(repr((mutant.number, mutant.key)).encode())
        digest.update(repr(sorted(test.name for test in tests)).encode())
        return Journal(self.work / "journal" / digest.hexdigest()[:16])

    # --- the report ----------------------------------------------------------------------

    def report(self, fates, tests):
        options = self.options
        equivalents = Equivalents(options.equivalent or self.root / "tests" / "mutation" / "equivalent.txt")
        report = Report(fates, equivalents)
        print(report.text())
        unused = equivalents.unused(set(self.names.values())) if options.sample is None and not options.orders else []
        for number, text in unused:
            print(f"{equivalents.path}:{number}: no mutant matches: {text}")
        if options.json is not None:
            report.write_json(options.json, {"paths": options.paths, "did_not_compile": self.dropped})
        if options.matrix is not None:
            write_matrix(options.matrix, fates, tests)
        return 1 if unused else 0


def main():
    try:
        return Mutation(arguments()).run()
    except Failure as failure:
        print(f"\nmutate: {failure}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nmutate: interrupted; the same command goes on from here", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
