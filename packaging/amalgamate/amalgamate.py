#!/usr/bin/env python3
"""amalgamate.py FOLDER CLANG++ CLANG-FORMAT: writes the wheel as FOLDER/tickwheel.h and FOLDER/tickwheel.c."""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from meaning import C_NAMES, Meaning, Untranslatable, syntax_tree  # noqa: E402
from source import Source  # noqa: E402
from writer import REPEATED, Writer  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

# Each branch that depends on the settings is in one of these.
FEATURES = ("VALIDATION", "OWNER_CHECK", "WINDOWS", "PERIODIC", "POLICIES", "OVERRUNS", "BUDGET", "CLEAR", "LOCK_CHOICE")
WHEEL = {"TW_BITS": 8, "TW_LEVELS": 3, "TW_LOOKAHEAD": 1, "TW_TREE": 0, **{f"TW_{feature}": 1 for feature in FEATURES}}
SETTINGS = [
    {**WHEEL, "TW_TICK_BITS": 64, "TW_RUNTIME": 1},
    {**WHEEL, "TW_TICK_BITS": 32, "TW_RUNTIME": 0},
    {**WHEEL, "TW_TICK_BITS": 64, "TW_RUNTIME": 0, "TW_TREE": 1},
]


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def sources_of_core():
    """The sources that c_api.cpp is made of, each behind those that it includes."""
    sources, order = {}, []

    def visit(name):
        if name in sources:
            return
        sources[name] = Source(name, read(f"src/core/{name}"))
        for included in sources[name].includes:
            visit(included)
        order.append(name)

    visit("tick.hpp")
    visit("geometry.hpp")
    visit("c_api.cpp")
    return sources, order


def meanings(clang, sources):
    for settings in SETTINGS:
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(f"{folder}/tickwheel")
            with open(f"{folder}/tickwheel/config.h", "w", encoding="utf-8") as config:
                config.writelines(f"#define {name} {value}\n" for name, value in settings.items())
            yield Meaning(syntax_tree(clang, ROOT, folder), sources)


def merged(found, sources):
    edits = {name: found[0].edits[name] for name in sources}
    for other in found[1:]:
        for name in sources:
            edits[name].merge(other.edits[name], name)
    for name in REPEATED:
        edits[name] = found[0].instances[name][0][1]
    return edits


def version():
    numbers = re.findall(r"define TW_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", read("include/tickwheel/version.h"))
    return ".".join(numbers)


def licence():
    return "".join(f" * {line}".rstrip() + "\n" for line in read("LICENSE").strip().split("\n"))


def public_headers():
    """tw.h with what it includes, and fires.h; tickwheel.h.in stands for config.h."""
    included = {"config.h"}

    def whole(name):
        if name in included:
            return ""
        included.add(name)
        return re.sub(r"#include <tickwheel/(\w+\.h)>\n", lambda match: whole(match.group(1)),
                      read(f"include/tickwheel/{name}")) + "\n"

    return whole("tw.h") + whole("fires.h")


def ports():
    """port.h, which includes the chosen one."""
    port = read("include/tickwheel/port.h")
    chosen = []
    for name, folder in (("NONE", "none"), ("CORTEXM", "cortexm"), ("RISCV", "riscv")):
        text = re.sub(r"#include <tickwheel/(.*)>\n", lambda m: read(f"include/tickwheel/{m.group(1)}") + "\n",
                      read(f"src/ports/{folder}/port.h"))
        chosen.append(f"#elif defined(TW_PORT_{name})\n{text}")
    begin, end = port.index("#ifndef TW_PORT_HEADER"), port.index("#include TW_PORT_HEADER\n")
    chosen = "#ifdef TW_PORT_HEADER\n#include TW_PORT_HEADER\n" + "\n".join(chosen) + "#endif\n"
    port = port[:begin] + chosen + port[end + len("#include TW_PORT_HEADER\n") :]
    return re.sub(r"#include <std\w+\.h>\n", "", port)


def prototypes(functions, written_by_hand):
    """Of the functions that are used above their definition, each within its conditions."""
    out, conditions = [], []
    definition = re.compile(r"^((?:TW_\w+ |__attribute__\(\(.*?\)\) )*static [^;{]*?\b(twc_\w+)\([^;{]*\)) \{", re.M)
    found = {m.start(): m for m in definition.finditer(functions)}  # a name may have one for each engine
    for line_start in re.finditer(r"^(.*)$", functions, re.M):
        line = line_start.group(1)
        if re.match(r"#\s*if", line):
            conditions.append(line)
            out.append(line)
        elif re.match(r"#\s*(else|elif|endif)", line):
            out.append(line)
        match = found.get(line_start.start())
        if match:
            used = re.search(rf"\b{match.group(2)}\b", functions)
            if used.start() < match.start(2) or re.search(rf"\b{match.group(2)}\b", written_by_hand):
                out.append(match.group(1) + ";")
    return "\n".join(out) + "\n"


def formatted(text, clang_format):
    made = subprocess.run([clang_format, f"--style=file:{ROOT}/.clang-format", "--assume-filename=tickwheel.c"],
                          input=text, stdout=subprocess.PIPE, text=True, check=True)
    return made.stdout


def main():
    folder, clang, clang_format = sys.argv[1:]
    sources, order = sources_of_core()
    try:
        edits = merged(list(meanings(clang, sources)), sources)
    except Untranslatable as error:
        raise SystemExit(f"amalgamate: {error}")
    writer = Writer(sources, edits, order)
    functions = writer.functions()
    writer.braced = set(re.findall(r"twc_(\w+)_of\(", functions))
    types = "".join(f"struct twc_{name};\n" for name in sorted({C_NAMES.get(name, name) for name in writer.records - {"geometry"}})) + writer.types()
    functions = writer.without_empty_conditions(functions)
    template = read("packaging/amalgamate/tickwheel.c.in")
    body = formatted(functions, clang_format)
    whole = template.replace("@TYPES@", types).replace("@PROTOTYPES@", writer.without_empty_conditions(
        prototypes(body, template))).replace("@FUNCTIONS@", body).replace("@PORTS@", ports())
    header = read("packaging/amalgamate/tickwheel.h.in").replace("@HEADERS@", public_headers())
    os.makedirs(folder, exist_ok=True)
    for name, text in (("tickwheel.h", header), ("tickwheel.c", formatted(whole, clang_format))):
        text = text.replace("@VERSION@", version()).replace("@LICENCE@", licence())
        text = re.sub(r"\n{3,}", "\n\n", text)
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
