"""tests/mutation/equivalent.txt: mutants without an observable effect, each with its reason.

An entry is some lines, and an empty line ends it:

    src/core/ring.hpp append_all removal
    if (is_empty(from)) return; =>
    because the lines below do nothing for an empty ring

The first line names the file, the function and the kind; the second has the original and its replacement.
Spaces do not count. These two lines stand for all mutants of the function with this kind and text; a line
with * as the kind, without a second line, stands for all mutants of the function. Several mutants may share a
reason, which follows the last."""

import re
from itertools import takewhile

from failure import Failure


class Equivalents:
    def __init__(self, path):
        self.path = path
        self.entries = {}  # key to its line
        self.used = set()
        lines = path.read_text().splitlines() if path.exists() else []
        number = 0
        while number < len(lines):
            if not lines[number].strip() or lines[number].startswith("#"):
                number += 1
                continue
            begin = number
            while number < len(lines) and lines[number].strip():
                number += 1
            self.add(lines[begin:number], begin + 1)

    def add(self, lines, number):
        mutants = list(takewhile(lambda line: not line.startswith("because "), lines))
        if not mutants or len(mutants) == len(lines):
            raise Failure(f"{self.path}:{number}: not mutants and then 'because ...'")
        at = 0
        while at < len(mutants):
            key = self.key_of(mutants[at : at + 2], number + at)
            if key in self.entries:
                raise Failure(f"{self.path}:{number + at}: is there already, in line {self.entries[key]}")
            self.entries[key] = number + at
            at += 1 if len(key) == 3 else 2

    def key_of(self, lines, number):
        head = tuple(lines[0].split())
        if len(head) == 3 and head[2] == "*":
            return head
        change = re.split(r" => ?", f" {lines[1]} ", maxsplit=1) if len(lines) > 1 else []
        if len(head) != 3 or len(change) != 2:
            raise Failure(f"{self.path}:{number}: not 'file function kind' and then 'original => changed'")
        return (*head, *map(compact, change))

    def has(self, mutant):
        place = (mutant.file, mutant.function or "-")
        keys = {(*place, "*"), (*place, mutant.kind, compact(mutant.original), compact(mutant.changed))}
        self.used |= keys & self.entries.keys()
        return not keys.isdisjoint(self.entries)

    def unused(self, files):
        """Pairs of the line number and the text of each entry of these files that no mutant matches."""
        unused = [key for key in self.entries if key not in self.used and key[0] in files]
        return [(self.entries[key], " ".join(key[:3])) for key in unused]


def entry(mutant):
    """The first two lines of an entry."""
    return f"{mutant.file} {mutant.function or '-'} {mutant.kind}\n{mutant.original} => {mutant.changed}".rstrip()


def compact(text):
    return re.sub(r"\s+", "", text)
