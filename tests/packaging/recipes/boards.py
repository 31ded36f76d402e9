#!/usr/bin/env python3
"""boards.py SCRATCH BUILD: the folder for boards is a library of Arduino and PlatformIO and a component of
ESP-IDF: its descriptions have their fields and name existing files, and it compiles as these systems would
compile it."""
import json
import os
import re
import sys

from recipe import PROGRAM, ROOT, STUBS, equal, expect, read, run, scratch, version

folder, _ = scratch()
run(sys.executable, "-B", f"{ROOT}/packaging/amalgamate/amalgamate.py", folder)
run("sh", f"{ROOT}/boards/packaging/board_folder.sh", folder)
board = f"{folder}/Tickwheel"
strict = ["-Wall", "-Wextra", "-Werror"]


def there(*names):
    for name in names:
        expect(os.path.exists(f"{board}/{name}"), f"the folder has {name}")


there("LICENSE", "src/tickwheel.h", "src/tickwheel.cpp", "src/tickwheel_esp.h", "src/tickwheel_freertos.c",
      "src/tickwheel/fires.h")
for name in ("tickwheel.h", "tickwheel.cpp"):
    expect(f"Tickwheel {version()}" in open(f"{board}/src/{name}", encoding="utf-8").read(), f"{name} has the version")

# Arduino: https://arduino.github.io/arduino-cli/latest/library-specification/
properties = dict(line.split("=", 1) for line in read("boards/packaging", "arduino", "library.properties").splitlines())
equal(set(properties), {"name", "version", "author", "maintainer", "sentence", "paragraph", "category", "url",
                        "architectures", "includes"}, "the fields of library.properties")
equal(properties["version"], version(), "the version in library.properties")
equal(properties["name"], os.path.basename(board), "the name in library.properties")
expect(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,62}", properties["name"]), "a name that Arduino takes")
expect(not properties["name"].lower().startswith("arduino"), "a name that is not reserved")
expect(re.fullmatch(r"\d+\.\d+\.\d+", properties["version"]), "a version of three numbers")
expect(properties["category"] in ("Display", "Communication", "Signal Input/Output", "Sensors", "Device Control", "Timing",
                                  "Data Storage", "Data Processing", "Other"), "a category of Arduino")
expect(re.fullmatch(r"\w+(,\w+)*", properties["architectures"]), "architectures")
expect(properties["url"].startswith("https://"), "an address")
expect(all(properties[text].endswith(".") for text in ("sentence", "paragraph")), "sentences end")
expect(properties["sentence"] not in properties["paragraph"], "the paragraph goes on where the sentence ends")
there(f"src/{properties['includes']}")


def without_runtime(text):
    """tw.h without the parts for a library with the runtime."""
    kept, depth = [], 0
    for line in text.splitlines():
        if depth or line == "#if TW_RUNTIME":
            depth += line.startswith("#if") - line.startswith("#endif")
        else:
            kept.append(line)
    return re.sub(r"/\*.*?\*/", "", "\n".join(kept), flags=re.S)


# keywords.txt: every name that a sketch can use.
code = without_runtime(read("include", "tickwheel", "tw.h"))
types = set(re.findall(r"^(?:struct|enum) (\w+) \{", code, re.M)) - {"tw_link"}
types |= set(re.findall(r"^typedef [\w ]+? \*?(tw_\w+)[;(]", code, re.M))
functions = set(re.findall(r"^[\w ]*?[ *](tw_\w+)\([^;{]*?\)(?: TW_LINKED_AS\(.*?\))?;", code, re.M | re.S)) - types
constants = {name for body in re.findall(r"^enum(?: \w+)? \{(.*?)\}", code, re.M | re.S)
             for name in re.findall(r"\bTW_\w+", body)}
expected = {name: "KEYWORD1" for name in types} | {name: "KEYWORD2" for name in functions}
expected |= {name: "LITERAL1" for name in constants | {"TW_NEVER", "TW_UNBOUNDED", "TW_FIRES_MAX"}}
expect({"tw_node", "tw_tick"} <= types and "tw_next" in functions and "TW_COALESCE" in constants, "tw.h is read")
lines = [line for line in read("boards/packaging", "arduino", "keywords.txt").splitlines() if line and not line.startswith("#")]
for line in lines:
    expect(re.fullmatch(r"\w+\t(KEYWORD[12]|LITERAL1)", line), f"keywords.txt: {line}")
equal(set(lines), {"\t".join(item) for item in expected.items()}, "the words of keywords.txt")
equal(len(lines), len(set(lines)), "each word once")

# The sketches, on an Arduino whose time the test moves, past the moment at which millis() wraps.
SKETCHES = os.listdir(f"{board}/examples")
equal(set(SKETCHES), {"Blink", "Button"}, "the sketches")


def built(*settings):
    """The sketches as Arduino builds them, with more settings on the command line."""
    flags = ["-DARDUINO=10819", *settings, *strict, f"-I{board}/src"]
    cxx = ["g++", "-std=gnu++17", *flags]
    run("gcc", "-c", "-std=gnu11", *flags, f"{board}/src/tickwheel_freertos.c", "-o", f"{folder}/nothing.o")
    run(*cxx, "-c", f"{board}/src/tickwheel.cpp", "-o", f"{folder}/arduino.o")
    for sketch in SKETCHES:
        run(*cxx, f"-I{STUBS}/arduino", "-x", "c++", "-include", "Arduino.h", f"{board}/examples/{sketch}/{sketch}.ino",
            f"{STUBS}/arduino/main.cpp", "-x", "none", f"{folder}/arduino.o", "-o", f"{folder}/{sketch}")


def events(*lines):
    return "".join(f"{line}\n" for line in lines)


WRAP = 5001  # the millisecond of the test in which millis() is 0
# At 10 s the message comes first: it was armed long before the blink of that tick.
BLINKS = [(10000, "ten seconds have passed")] + [(500 * i, "on" if i % 2 else "off") for i in range(1, 25)]
BOUNCES = ["1000:0", "1001:1", "1004:0", "2900:1", "2903:0", "2910:1",  # pressed and held, released
           f"{WRAP - 5}:0", f"{WRAP - 4}:1", f"{WRAP - 1}:0:millis", f"{WRAP + 700}:1:millis",  # not held, over the wrap
           "6500:0", "6502:1:millis",  # a disturbance
           "7000:0", "7021:1:read", "7023:0",  # an edge while the sketch reads the pin
           "7500:1"]
BUTTON = events("1025 on", "1025 pressed", "2026 held", "2931 off", "2931 released",
                f"{WRAP + 20} on", f"{WRAP + 20} pressed", f"{WRAP + 721} off", f"{WRAP + 721} released",
                "7021 on", "7021 pressed", "7521 off", "7521 released")

for settings in ([], ["-DTW_TICK_BITS=64", "-DTW_TREE=0"]):
    built(*settings)
    equal(run(f"{folder}/Blink", 12000, 2), events(*(f"{at} {what}" for at, what in sorted(BLINKS, key=lambda event: event[0]))),
          f"what Blink did with {settings}")
    equal(run(f"{folder}/Button", 8000, 2, *BOUNCES), BUTTON, f"what Button did with {settings}")


def has(condition, *flags):
    with open(f"{folder}/condition.c", "w", encoding="utf-8") as file:
        file.write(f'#include <tickwheel.h>\n#if !({condition})\n#error\n#endif\n')
    run("gcc", "-fsyntax-only", *flags, f"-I{board}/src", f"{folder}/condition.c")


# A board has other defaults than a PC.
has("TW_TICK_BITS == 32 && TW_TREE == 1", "-DARDUINO=10819")
has("TW_TICK_BITS == 64 && TW_TREE == 0", "-DARDUINO=10819", "-DTW_TREE=0")
has("TW_TICK_BITS == 64 && TW_TREE == 0")

# PlatformIO: https://docs.platformio.org/en/latest/manifests/library-json/
library = json.loads(read("boards/packaging", "platformio", "library.json"))
equal(set(library), {"$schema", "name", "version", "description", "keywords", "repository", "license", "frameworks",
                     "platforms", "headers", "build", "examples"}, "the fields of library.json")
equal(library["name"], properties["name"], "the name in library.json")
expect(re.fullmatch(r"[\w-]{1,50}", library["name"]), "a name that PlatformIO takes")
equal(library["version"], version(), "the version in library.json")
expect(len(library["description"]) <= 255, "the description is short")
for keyword in library["keywords"]:
    expect(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", keyword), f"a keyword: {keyword}")
equal(set(library["repository"]), {"type", "url"}, "the fields of the repository")
equal(library["repository"]["type"], "git", "the kind of repository")
expect(all(isinstance(platform, str) for platform in library["platforms"]), "platforms")
there(library["build"]["srcDir"], f"{library['build']['includeDir']}/{library['headers']}")
equal({example["name"] for example in library["examples"]}, set(SKETCHES), "the examples in library.json")
for example in library["examples"]:
    equal(example["base"], f"examples/{example['name']}", "the folder of an example")
    equal(set(example["files"]), set(os.listdir(f"{board}/{example['base']}")), "the files of an example")
source = f"{board}/{library['build']['srcDir']}"
native = ["-DPLATFORMIO", *strict, f"-I{board}/{library['build']['includeDir']}"]
run("g++", library["build"]["flags"], *native, "-c", f"{source}/tickwheel.cpp", "-o", f"{folder}/native.o")
run("gcc", *native, f"{PROGRAM}/test_package.c", f"{folder}/native.o", "-o", f"{folder}/native")
run(f"{folder}/native")

# ESP-IDF
manifest = dict(re.findall(r'^(\w+): "?(.*?)"?$', read("boards/packaging", "esp-idf", "idf_component.yml"), re.M))
equal(manifest["version"], version(), "the version in idf_component.yml")
for field in ("description", "url", "license"):
    expect(manifest.get(field), f"idf_component.yml has {field}")
run("cmake", "-S", f"{STUBS}/esp-idf", "-B", f"{folder}/esp-idf", f"-DCOMPONENT={board}",
    f"-DKERNELS={ROOT}/boards/tests/kernels", f"-DPROGRAMS={PROGRAM}/test_package.c;{STUBS}/timers.c")
run("cmake", "--build", f"{folder}/esp-idf")
for program in ("test_package", "timers"):
    run(f"{folder}/esp-idf/{program}")
