"""Shared by the tests of recipes: a scratch folder, facts about the project, and commands that must
succeed."""
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
STUBS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stubs")
PROGRAM = os.path.join(ROOT, "packaging", "conan", "test_package")  # each package runs this program
CANNOT_RUN = 77


def skip(why):
    print(f"skipped: {why}")
    sys.exit(CANNOT_RUN)


def expect(truth, what):
    if not truth:
        sys.exit(f"FAILED: {what}")


def equal(found, expected, what):
    if isinstance(expected, set):
        expect(found == expected, f"{what}: missing {sorted(expected - found)}, too many {sorted(found - expected)}")
    expect(found == expected, f"{what}: {found!r}, and not {expected!r}")


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def version():
    return ".".join(re.findall(r"define TW_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", read("include", "tickwheel", "version.h")))


def library_sources():
    """All sources of a library with the runtime, as cmake/TickwheelLibrary.cmake has them."""
    text = read("cmake", "TickwheelLibrary.cmake")
    # Recipes have no checking build.
    text = text.replace("$<IF:$<BOOL:${arg_CHECK}>,check/report,ports/linux/tell>", "ports/linux/tell")
    text = re.sub(r"\S*/(check/\w+|runtime/registry)\.cpp", "", text)
    listed = re.search(r"set\(\$\{variable\}\s(.*?) PARENT_SCOPE\)", text, re.S).group(1).split()
    listed += re.findall(r"\$\{tickwheel_root\}/(src/\S+?\.(?:cpp|c))\b", text)
    expect("src/core/c_api.cpp" in listed and len(listed) > 30, "the sources are read from TickwheelLibrary.cmake")
    return set(listed)


def public_headers():
    """All headers that the library installs with the runtime."""
    calls = re.findall(r"tickwheel_headers\(tickwheel(?:_cpp)? \w+\s(.*?)\)", read("cmake", "TickwheelHeaders.cmake"), re.S)
    calls += re.findall(r"board_headers\(tickwheel (.*?)\)", read("boards", "boards.cmake"))
    return {name for call in calls for name in call.split()}


def config_of(path):
    """The settings in a config.h that a recipe has written: {"TW_TREE": "0", ...}."""
    with open(path, encoding="utf-8") as file:
        config = dict(re.findall(r"^#define (TW_\w+) *(\w*)", file.read(), re.M))
    equal(set(config), set(re.findall(r"^#define (TW_\w+)", read("include", "tickwheel", "config.h.in"), re.M)), path)
    for setting, value in config.items():
        expect(value.isdigit(), f"{path} sets {setting}")
    return config


def scratch():
    """The arguments of the test: an empty folder, and the folder of the build that the test belongs to."""
    folder, build = (os.path.abspath(argument) for argument in sys.argv[1:])
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return folder, build


def installed(package):
    """The files of a package, as paths within it."""
    return {os.path.relpath(os.path.join(folder, name), package) for folder, _, names in os.walk(package) for name in names}


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False, **options)
    expect(done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout
