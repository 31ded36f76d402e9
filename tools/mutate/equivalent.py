"""tests/mutation/equivalent.txt: mutants that change nothing that can be observed, each with its reason.

An entry is some lines, and an empty line ends it:

    src/core/ring.hpp append_all removal
    if (is_empty(from)) return; =>
    because the lines below do nothing for an empty ring

The first line names the file, the function and the kind; the second has the original and its replacement. Spaces do
not count. An entry stands for all mutants of the function with this kind and text. With * as the kind and without
the second line it stands for all mutants of the function."""

import re

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
        head = tuple(lines[0].split())
        if len(head) == 3 and head[2] == "*":
            key, reason = head, lines[1:]
        else:
            change = re.split(r" => ?", f" {lines[1]} ", maxsplit=1) if len(lines) > 1 else []
            key, reason = (*head, *map(compact, change)), lines[2:]
        if len(key) not in {3, 5} or not reason or not reason[0].startswith("because "):
            raise Failure(f"{self.path}:{number}: not 'file function kind', 'original => changed', 'because ...'")
        if key in self.entries:
            raise Failure(f"{self.path}:{number}: is there already, in line {self.entries[key]}")
        self.entries[key] = number

    def has(self, mutant):
        place = (mutant.file, mutant.function or "-")
        keys = {(*place, "*"), (*place, mutant.kind, compact(mutant.original), compact(mutant.changed))}
        self.used |= keys & self.entries.keys()
        return not keys.isdisjoint(self.entries)

    def unused(self, files):
        """The entries of these files that no mutant matches, each as the line where it is."""
        unused = [key for key in self.entries if key not in self.used and key[0] in files]
        return [(self.entries[key], " ".join(key[:3])) for key in unused]


def entry(mutant):
    """The first two lines of an entry."""
    return f"{mutant.file} {mutant.function or '-'} {mutant.kind}\n{mutant.original} => {mutant.changed}".rstrip()


def compact(text):
    return re.sub(r"\s+", "", text)
