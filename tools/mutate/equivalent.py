"""tests/mutation/equivalent.txt: mutants that change nothing that can be observed, each with its reason.

An entry is three lines or more, and an empty line ends it:

    src/core/ring.hpp append_all removal
    if (is_empty(from)) return; ->
    because the loop below does nothing for an empty ring

The first line names the file, the function and the kind; the second the original and what takes its place. Spaces
do not count. All mutants of the function that read so are meant."""

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
        head = lines[0].split()
        change = re.split(r" -> ?", lines[1] + " ", maxsplit=1) if len(lines) > 1 else []
        if len(head) != 3 or len(change) != 2 or len(lines) < 3 or not lines[2].startswith("because "):
            raise Failure(f"{self.path}:{number}: no entry: 'file function kind', 'original -> changed', 'because ...'")
        key = (*head, compact(change[0]), compact(change[1]))
        if key in self.entries:
            raise Failure(f"{self.path}:{number}: is there already, in line {self.entries[key]}")
        self.entries[key] = number

    def has(self, mutant):
        file, function, kind, original, changed = mutant.key
        key = (file, function or "-", kind, compact(original), compact(changed))
        if key not in self.entries:
            return False
        self.used.add(key)
        return True

    def unused(self, files):
        """The entries of these files that no mutant matches, each as the line where it is."""
        return sorted(
            (number, " ".join(key[:3])) for key, number in self.entries.items() if key not in self.used and key[0] in files
        )


def entry(mutant):
    """The first two lines of an entry."""
    return f"{mutant.file} {mutant.function or '-'} {mutant.kind}\n{mutant.original} -> {mutant.changed}".rstrip()


def compact(text):
    return re.sub(r"\s+", "", text)
