#!/usr/bin/env python3
"""amalgamate.py FOLDER: writes the library as FOLDER/tickwheel.h and FOLDER/tickwheel.cpp, and the C++ interface as
FOLDER/tickwheel.hpp.

Each is its template beside this script, in which a file of the project stands in place of its first include. Later
includes of that file are dropped, and those of other headers stay."""
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CONFIG = ROOT / "include/tickwheel/config.h"  # tickwheel.h.in has its settings
SOURCES = re.compile(r"function\(tickwheel_get_runtime_sources .*?\n +set\(\S+(.*?)PARENT_SCOPE", re.S)
INCLUDE = re.compile(r'^#include (?:"(.+)"|<(tickwheel/.+)>).*\n', re.M)
EITHER = re.compile(r"^#if .*\n((?:#include .*\n)+)#else\n((?:#include .*\n)+)#endif\n", re.M)


def read(path):
    return path.read_text(encoding="utf-8")


def template(name):
    """The text of a template, with the sources of the runtime as CMake lists them."""
    sources = SOURCES.search(read(ROOT / "cmake/TickwheelLibrary.cmake"))[1].split()
    includes = "".join(f'#include "../../{each}"\n' for each in sources)
    return read(HERE / f"{name}.in").replace("@RUNTIME_SOURCES@\n", includes)


def file_of(include, folder):
    if include[1]:
        beside = folder / include[1]  # a file of the same folder, or of another one in src
        return (beside if beside.exists() else ROOT / "src" / include[1]).resolve()
    of_boards = ROOT / "boards/include" / include[2]
    return of_boards if of_boards.exists() else ROOT / "include" / include[2]


def reached(text, folder, files):
    """Adds to `files` what the text includes, and what that includes."""
    for include in INCLUDE.finditer(text):
        file = file_of(include, folder)
        if file.exists() and file not in files:
            files.append(file)
            reached(read(file), file.parent, files)
    return files


def with_includes(text, folder, included):
    """A text with all that it includes, except for files that are included already."""

    def shared_first(either):
        """A choice between two groups of includes, after the files that both need."""
        branches = [reached(branch, folder, []) for branch in either.groups()]
        return "".join(f'#include "{file}"\n' for file in branches[0] if file in branches[1]) + either[0]

    def text_of(include):
        file = file_of(include, folder)
        if file in included:
            return ""
        if not file.exists():
            return include[0]
        included.add(file)
        return f"/* --- {file.relative_to(ROOT)} --- */\n\n{with_includes(read(file), file.parent, included)}\n"

    return INCLUDE.sub(text_of, EITHER.sub(shared_first, text.replace("#pragma once\n", "")))


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for setting in re.findall(r"^#define (TW_\w+)", read(Path(f"{CONFIG}.in")), re.M):
        if f"#define {setting} " not in read(HERE / "tickwheel.h.in"):
            raise SystemExit(f"amalgamate: tickwheel.h.in lacks {setting} of config.h.in")
    numbers = re.findall(r"define TW_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", read(ROOT / "include/tickwheel/version.h"))
    licence = "".join(f" * {line}".rstrip() + "\n" for line in read(ROOT / "LICENSE").splitlines())
    included = {CONFIG}
    for name in ("tickwheel.h", "tickwheel.cpp", "tickwheel.hpp"):
        text = with_includes(template(name), HERE, included)
        text = text.replace("@VERSION@", ".".join(numbers)).replace("@LICENCE@\n", licence)
        (folder / name).write_text(re.sub(r"\n{3,}", "\n\n", text), encoding="utf-8")


main()
