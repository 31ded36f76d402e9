"""The results of a run: scores, and the mutants that no test catches."""

import json
import os
from collections import Counter, defaultdict

from campaign import CAUGHT, UNREACHED
from equivalent import entry


class Score:
    def __init__(self):
        self.caught = 0
        self.all = 0

    def add(self, is_caught):
        self.all += 1
        self.caught += is_caught

    @property
    def percent(self):
        return 100 * self.caught / self.all if self.all else 100.0


class Report:
    """`fates`: pairs of a mutant and its fate."""

    def __init__(self, fates):
        self.fates = sorted(fates, key=lambda pair: pair[0].number)
        self.survivors = [(mutant, fate) for mutant, fate in self.fates if fate["result"] != CAUGHT]

    def scores(self, of):
        """Scores by the result of `of` for a mutant."""
        scores = defaultdict(Score)
        for mutant, fate in self.fates:
            scores[of(mutant)].add(fate["result"] == CAUGHT)
        return dict(sorted(scores.items()))

    def text(self):
        lines = []
        for mutant, fate in self.survivors:
            note = ", which no test reaches" if fate["result"] == UNREACHED else ""
            lines += [f"{mutant.file}:{mutant.line}: survives{note}"]
            lines += ["    " + line for line in entry(mutant).splitlines()] + [""]
        lines += table("file", self.scores(lambda mutant: mutant.file)) + [""]
        lines += table("room", self.scores(lambda mutant: os.path.dirname(mutant.file) or ".")) + [""]
        lines += table("kind", self.scores(lambda mutant: mutant.kind)) + [""]
        counts = ", ".join(f"{number} by a test that {verdict}" for verdict, number in self.catches().items())
        return "\n".join([*lines, f"caught: {counts or 'none'}"])

    def catches(self):
        """The number of caught mutants by how the first test caught them."""
        counts = Counter(fate["killers"][0][1] for _, fate in self.fates if fate["killers"])
        return dict(sorted(counts.items()))

    def data(self, extra):
        def scores(of):
            return {
                name: {"caught": score.caught, "mutants": score.all, "score": round(score.percent, 1)}
                for name, score in self.scores(of).items()
            }

        return {
            **extra,
            "files": scores(lambda mutant: mutant.file),
            "rooms": scores(lambda mutant: os.path.dirname(mutant.file) or "."),
            "kinds": scores(lambda mutant: mutant.kind),
            "catches": self.catches(),
            "mutants": [
                {
                    "file": mutant.file,
                    "line": mutant.line,
                    "function": mutant.function,
                    "kind": mutant.kind,
                    "original": mutant.original,
                    "changed": mutant.changed,
                    "result": fate["result"],
                    "killers": fate["killers"],
                }
                for mutant, fate in self.fates
            ],
        }

    def write_json(self, path, extra):
        path.write_text(json.dumps(self.data(extra), indent=1) + "\n")


def survivors_of(data):
    """The keys of the surviving mutants in a file that write_json wrote."""
    return {
        tuple(each[name] for name in ("file", "function", "kind", "original", "changed"))
        for each in data["mutants"]
        if each["result"] != CAUGHT
    }


def table(title, scores):
    width = max([len(title), *(len(name) for name in scores)])
    lines = [f"{title:{width}}  caught  mutants   score"]
    for name, score in scores.items():
        lines.append(f"{name:{width}}  {score.caught:6}  {score.all:7}  {score.percent:5.1f} %")
    return lines


def write_matrix(path, fates, tests):
    """Writes which tests catch which mutants, and a list of tests that together catch all of them (`needed`)."""
    killed = defaultdict(list)
    alone = defaultdict(int)
    for mutant, fate in fates:
        names = [name for name, _ in fate["killers"]]
        for name in names:
            killed[name].append(mutant.number)
        if len(names) == 1:
            alone[names[0]] += 1
    rows = [
        {
            "test": test.name,
            "seconds": round(test.seconds, 3),
            "caught": len(killed[test.name]),
            "alone": alone[test.name],
        }
        for test in sorted(tests, key=lambda test: (len(killed[test.name]), test.name))
    ]
    mutants = [
        {
            "file": mutant.file,
            "line": mutant.line,
            "kind": mutant.kind,
            "original": mutant.original,
            "changed": mutant.changed,
            "killers": fate["killers"],
        }
        for mutant, fate in fates
    ]
    path.write_text(json.dumps({"tests": rows, "needed": cover(killed), "mutants": mutants}, indent=1) + "\n")


def cover(killed):
    """A small set of tests that together catch all caught mutants. Each step adds the test that catches most of the
    rest."""
    left = {name: set(numbers) for name, numbers in killed.items()}
    chosen = []
    while any(left.values()):
        best = max(sorted(left), key=lambda name: len(left[name]))
        gained = left.pop(best)
        chosen.append({"test": best, "adds": len(gained)})
        for numbers in left.values():
            numbers -= gained
    return chosen
