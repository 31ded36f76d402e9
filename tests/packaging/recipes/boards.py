#!/usr/bin/env python3
"""boards.py SCRATCH AMALGAMATED: the folder for boards is a library of Arduino and PlatformIO and a component of
ESP-IDF: its descriptions have their fields, name files that are there, and it compiles as each would do it."""
import json
import os
import re
import sys

from recipe import PROGRAM, ROOT, STUBS, equal, expect, read, run, scratch, version

folder = scratch()
for name in ("tickwheel.h", "tickwheel.c"):
    os.symlink(os.path.join(os.path.abspath(sys.argv[2]), name), f"{folder}/{name}")
run("sh", f"{ROOT}/packaging/amalgamate/board_folder.sh", folder)
board = f"{folder}/Tickwheel"
strict = ["-Wall", "-Wextra", "-Werror"]


def there(*names):
    for name in names:
        expect(os.path.exists(f"{board}/{name}"), f"the folder has {name}")


there("LICENSE", "src/tickwheel.h", "src/tickwheel.c", "src/tickwheel_esp.h")
expect(f"Tickwheel {version()}" in open(f"{board}/src/tickwheel.c", encoding="utf-8").read(), "the head has the version")

# Arduino: https://arduino.github.io/arduino-cli/latest/library-specification/
properties = dict(line.split("=", 1) for line in read("packaging", "arduino", "library.properties").splitlines())
equal(set(properties), {"name", "version", "author", "maintainer", "sentence", "paragraph", "category", "url",
                        "architectures", "includes"}, "the fields of library.properties")
equal(properties["version"], version(), "the version in library.properties")
equal(properties["name"], os.path.basename(board), "the name in library.properties")
expect(properties["category"] in ("Timing", "Data Processing", "Device Control", "Other"), "a category of Arduino")
expect(properties["sentence"].endswith("."), "the sentence is one")
there(f"src/{properties['includes']}", "examples/Blink/Blink.ino")
for line in read("packaging", "arduino", "keywords.txt").splitlines():
    word = re.fullmatch(r"(\w+)\t(KEYWORD[12]|LITERAL1)", line)
    expect(word, f"keywords.txt: {line}")
    expect(re.search(rf"\b{word.group(1)}\b", read("include", "tickwheel", "tw.h")), f"{word.group(1)} is in tw.h")
run("gcc", "-c", "-std=gnu11", *strict, f"{board}/src/tickwheel.c", "-o", f"{folder}/arduino.o")
run("g++", "-std=gnu++17", *strict, f"-I{STUBS}/arduino", f"-I{board}/src", "-x", "c++", "-include", "Arduino.h",
    f"{board}/examples/Blink/Blink.ino", f"{STUBS}/arduino/main.cpp", "-x", "none", f"{folder}/arduino.o",
    "-o", f"{folder}/blink")
equal(run(f"{folder}/blink"), "ten seconds have passed\n24 blinks in 12 s\n", "what the sketch did")

# PlatformIO
library = json.loads(read("packaging", "platformio", "library.json"))
expect({"name", "version", "description", "keywords", "repository", "license", "frameworks", "platforms", "headers",
        "build", "examples"} <= set(library), "the fields of library.json")
equal(library["version"], version(), "the version in library.json")
there(library["build"]["srcDir"], f"{library['build']['includeDir']}/{library['headers']}")
for example in library["examples"]:
    there(*(f"{example['base']}/{name}" for name in example["files"]))
run("gcc", *strict, f"-I{board}/{library['build']['includeDir']}", f"-I{folder}", f"-I{STUBS}/one_header",
    f"{PROGRAM}/test_package.c", f"{board}/{library['build']['srcDir']}/tickwheel.c", "-o", f"{folder}/native")
run(f"{folder}/native")

# ESP-IDF
manifest = dict(re.findall(r'^(\w+): "?(.*?)"?$', read("packaging", "esp-idf", "idf_component.yml"), re.M))
equal(manifest["version"], version(), "the version in idf_component.yml")
for field in ("description", "url", "license"):
    expect(manifest.get(field), f"idf_component.yml has {field}")
run("cmake", "-S", f"{STUBS}/esp-idf", "-B", f"{folder}/idf", f"-DCOMPONENT={board}", f"-DPROGRAM={PROGRAM}/test_package.c",
    f"-DONE_HEADER={STUBS}/one_header")
run("cmake", "--build", f"{folder}/idf")
run(f"{folder}/idf/program")
