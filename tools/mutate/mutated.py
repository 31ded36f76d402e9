"""The sources to mutate, with their mutants: found, woven in, and dropped again if they do not compile."""

import os
import re
from pathlib import Path

from failure import Failure
from finder import Finder
from source import Source
from weave import DECLARED, Weaver

EXTENSIONS = {".c", ".cpp", ".h", ".hpp"}
MOST_MUTANTS = 1 << 16  # as selector.c has it
MOST_ROUNDS = 10  # of compilation, to find the mutants that do not compile
NO_LIBRARY = {"tests", "bench", "examples"}  # folders whose code uses the library
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
IF = re.compile(r"^\s*#\s*if", re.MULTILINE)


class MutatedSources:
    def __init__(self, tree, wanted, progress):
        """`wanted`: names of files and folders in the tree."""
        self.tree = tree
        self.progress = progress
        self.sources = {}  # by path
        self.names = {}  # in the tree, by path
        self.places = {}  # lists, by path
        self.weavers = {}  # by path
        self.units = []  # the translation units in which the mutants were found
        self.dropped = 0
        for name in tree.files():
            is_wanted = any(path in (".", name) or name.startswith(path + "/") for path in wanted)
            if is_wanted and Path(name).suffix in EXTENSIONS:
                path = str(tree.root / name)
                self.sources[path] = Source((tree.root / name).read_bytes())
                self.names[path] = name
        if not self.sources:
            raise Failure(f"there is no source in C or C++: {', '.join(wanted)}")

    @property
    def mutants(self):
        return [mutant for places in self.places.values() for place in places for mutant in place.mutants]

    # --- finding mutants -----------------------------------------------------------------

    def find(self, has_orders):
        """Finds weaker memory orders, or all other mutants."""
        finder = Finder(self.sources, self.names)
        units = self.units_that_differ()
        for count, (file, arguments, compiler) in enumerate(units, 1):
            self.progress(f"reading the code: {count} of {len(units)}")
            if finder.read(self.tree.original(file), [self.tree.original(word) for word in arguments]):
                self.units.append((file, arguments, compiler))
        number = 0
        for path, places in sorted(finder.places.items()):
            self.places[path] = sorted(places.values(), key=lambda place: (place.start, -place.end))
            for place in self.places[path]:
                place.mutants = [mutant for mutant in place.mutants if mutant.is_order == has_orders]
                for mutant in place.mutants:
                    number += 1
                    mutant.number = number
        if number >= MOST_MUTANTS:
            raise Failure(f"{number} mutants are too many for one run: give it fewer files")

    def units_that_differ(self):
        """The units that show a source, or parts of a source, that no other unit shows; the sources' own
        units first."""
        seen = set()
        units = []
        for unit in sorted(self.tree.units(), key=lambda unit: self.tree.original(unit[0]) not in self.sources):
            file, arguments, _ = unit
            original = self.tree.original(file)
            if original not in self.sources and not self.is_library(original):
                continue
            included = self.closure(original, arguments, set()) & self.sources.keys()
            looks = {self.look(path, arguments) for path in included}
            if not looks <= seen:
                seen |= looks
                units.append(unit)
        return units

    def is_library(self, path):
        return NO_LIBRARY.isdisjoint(os.path.relpath(path, self.tree.root).split("/"))

    def closure(self, path, arguments, found):
        """The file and all of the tree that it includes, directly or not."""
        if path in found or not os.path.isfile(path):  # the build has yet to make the file
            return found
        found.add(path)
        folders = [self.tree.original(word[2:]) for word in arguments if word.startswith("-I")]
        for included in INCLUDE.findall(Path(path).read_text("latin-1")):
            for folder in [os.path.dirname(path), *folders]:
                candidate = os.path.normpath(os.path.join(folder, included))
                if candidate.startswith(f"{self.tree.root}/") and os.path.isfile(candidate):
                    self.closure(candidate, arguments, found)
                    break
        return found

    def look(self, path, arguments):
        """A key that is equal for two units in which a source reads the same: because the source has no #if, or because
        the units define the same macros."""
        if not IF.search(self.sources[path].text):
            return path
        settings = [word for word in arguments if word.startswith("-D")]
        for word in arguments:
            if word.startswith(f"-I{self.tree.build_dir}"):
                settings += [header.read_text() for header in sorted(Path(word[2:]).rglob("*.h"))]
        return path, tuple(settings)

    # --- building them -------------------------------------------------------------------

    def weave(self):
        woven = {}
        for path, places in self.places.items():
            weaver = self.weavers[path] = Weaver(self.sources[path])
            woven[self.names[path]] = DECLARED + weaver.weave([place for place in places if place.mutants])
        self.tree.write(woven)

    def drop_what_does_not_compile(self):
        """Drops most mutants that do not compile: those that a syntax check rejects, which is quicker than a
        build."""
        for _ in range(MOST_ROUNDS):
            self.weave()
            errors = self.tree.syntax_errors(self.units, self.progress)
            if not self.drop(errors):
                return

    def build(self, targets, say):
        """Builds the tests with all mutants, and drops further mutants that do not compile in other units."""
        for _ in range(MOST_ROUNDS):
            self.weave()
            say("building the tests with all mutants")
            errors, log = self.tree.build(targets)
            if not log:
                return
            if not self.drop(errors):
                raise Failure(f"the build failed:\n{log[-4000:]}")
        raise Failure(f"there are still mutants that do not compile after {MOST_ROUNDS} builds")

    def drop(self, errors):
        """Drops the mutants at these places. Returns their number."""
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
