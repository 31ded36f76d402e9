"""A copy of the tree with mutated sources, and its build."""

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

from failure import Failure

FLAGS = "-O1 -DNDEBUG -w"  # as users have it: assertions catch nothing
SANITIZER_FLAGS = " -g -fsanitize=thread"
# An error, or the use of a macro of weave.py in whose expansion the error is.
ERROR = re.compile(
    r"^(?P<file>/[^:\n]+):(?P<line>\d+):(?P<column>\d+): (?:(?:fatal )?error: |note: in expansion of macro .tw_mutant)",
    re.MULTILINE,
)
SELECTOR = Path(__file__).resolve().parent / "selector.c"


class Tree:
    def __init__(self, root, work, has_sanitizer):
        self.root = root
        self.work = work
        self.copy = work / "source"
        self.build_dir = work / "build"
        self.flags = FLAGS + (SANITIZER_FLAGS if has_sanitizer else "")
        settings = SELECTOR.read_bytes() + self.flags.encode()  # makes configure() begin afresh
        self.selector = work / f"selector-{hashlib.sha256(settings).hexdigest()[:8]}.o"
        work.mkdir(parents=True, exist_ok=True)

    # --- the copy ------------------------------------------------------------------------

    def files(self):
        """The files of the project, by their paths in it."""
        listed = run(["git", "-C", str(self.root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        names = listed.split("\0")
        return [name for name in names if name and (self.root / name).is_file()]

    def write(self, woven, kept=()):
        """Updates the copy. `woven` has texts that replace files, by name; files in `kept` stay as an earlier run wrote
        them. Unchanged files keep their modification time, so that ninja compiles only the others."""
        names = self.files()
        present = set(names)
        for name in names:
            source, target = self.root / name, self.copy / name
            if name in kept and target.exists():
                continue
            content = woven[name].encode("latin-1") if name in woven else source.read_bytes()
            if not target.exists() or target.read_bytes() != content:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
                shutil.copymode(source, target)
        for folder, _, leaves in os.walk(self.copy):
            for leaf in leaves:
                path = Path(folder) / leaf
                if str(path.relative_to(self.copy)) not in present:
                    path.unlink()

    # --- the build -----------------------------------------------------------------------

    def configure(self):
        if self.selector.exists() and (self.build_dir / "build.ninja").exists():
            run(["ninja", "-C", str(self.build_dir), "build.ninja"])  # which configures if a CMake file has changed
            return
        run(["cc", "-O2", "-c", str(SELECTOR), "-o", str(self.selector)])
        launcher = shutil.which("ccache")
        launchers = [f"-DCMAKE_{language}_COMPILER_LAUNCHER={launcher}" for language in ("C", "CXX") if launcher]
        run(
            ["cmake", "-G", "Ninja", "-S", str(self.copy), "-B", str(self.build_dir)]
            + ["-DCMAKE_BUILD_TYPE=Release", "-DTW_BUILD=tests;examples;tools", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]
            + [f"-DCMAKE_{language}_FLAGS_RELEASE={self.flags}" for language in ("C", "CXX")]
            + [f"-DCMAKE_EXE_LINKER_FLAGS={self.selector}"]
            + launchers
        )

    def units(self):
        """Pairs of a source and its compiler's arguments, each pair once."""
        commands = json.loads((self.build_dir / "compile_commands.json").read_text())
        units = {}
        for each in commands:
            words = shlex.split(each["command"])
            begin = next(i for i, word in enumerate(words) if word.startswith("-"))
            arguments = tuple(words[begin : words.index("-o")])
            units[(each["file"], arguments)] = words[begin - 1]
        return [(file, list(arguments), compiler) for (file, arguments), compiler in units.items()]

    def original(self, word):
        """A word of a command, with paths of the original tree instead of the copy."""
        return word.replace(str(self.copy), str(self.root))

    def syntax_errors(self, units, progress):
        """The places of errors that a syntax check of the units finds. The check is quicker than a build and
        finds most errors."""
        errors = set()
        for number, (file, arguments, compiler) in enumerate(units, 1):
            progress(f"compiling {number} of {len(units)}")
            command = [compiler, *arguments, "-fsyntax-only", "-fmax-errors=0", file]
            errors |= set(places(subprocess.run(command, capture_output=True, text=True, check=False).stderr))
        return errors

    def build(self, targets):
        """Builds targets. Returns the places of errors, and the log of a build that fails."""
        command = ["ninja", "-C", str(self.build_dir), "-k", "0", "-j", str(os.cpu_count()), *targets]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        return set(places(done.stdout)), (done.stdout if done.returncode != 0 else "")


def places(log):
    """The errors in a compiler's output: file, line, column."""
    for match in ERROR.finditer(log):
        yield match["file"], int(match["line"]), int(match["column"])


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise Failure(f"{shlex.join(command)} failed:\n{done.stdout[-4000:]}")
    return done.stdout
