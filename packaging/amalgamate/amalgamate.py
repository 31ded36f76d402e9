#!/usr/bin/env python3
"""amalgamate.py FOLDER: writes the wheel as FOLDER/tickwheel.h and FOLDER/tickwheel.cpp.

Each is its template beside this script, in which a file of the project stands in place of its first include. Later
includes of that file are dropped, and those of other headers stay."""
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CONFIG = ROOT / "include/tickwheel/config.h"  # which tickwheel.h.in writes out
INCLUDE = re.compile(r'^#include (?:"(.+)"|<(tickwheel/.+)>).*\n', re.M)


def with_includes(path, included):
    """The text of a file with all that it includes, except for the files that are included already."""

    def text_of(include):
        file = ROOT / "include" / include[2] if include[2] else (path.parent / include[1]).resolve()
        if file in included:
            return ""
        if not file.exists():
            return include[0]
        included.add(file)
        return f"/* --- {file.relative_to(ROOT)} --- */\n\n{with_includes(file, included)}\n"

    return INCLUDE.sub(text_of, path.read_text(encoding="utf-8").replace("#pragma once\n", ""))


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    settings = re.findall(r"^#define (TW_\w+)", Path(f"{CONFIG}.in").read_text(encoding="utf-8"), re.M)
    missing = [name for name in settings if f"#define {name} " not in (HERE / "tickwheel.h.in").read_text(encoding="utf-8")]
    if missing:
        raise SystemExit(f"amalgamate: tickwheel.h.in lacks settings of config.h.in: {' '.join(missing)}")
    version = re.findall(r"define TW_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", (ROOT / "include/tickwheel/version.h").read_text(encoding="utf-8"))
    licence = "".join(f" * {line}".rstrip() + "\n" for line in (ROOT / "LICENSE").read_text(encoding="utf-8").splitlines())
    included = {CONFIG}
    for name in ("tickwheel.h", "tickwheel.cpp"):
        text = with_includes(HERE / f"{name}.in", included)
        text = text.replace("@VERSION@", ".".join(version)).replace("@LICENCE@\n", licence)
        (folder / name).write_text(re.sub(r"\n{3,}", "\n\n", text), encoding="utf-8")


main()
