#!/usr/bin/env python3
"""zephyr.py SCRATCH: the module of Zephyr names its files, and builds with functions that stand for Zephyr's."""
import os
import re

from recipe import PROGRAM, ROOT, STUBS, equal, expect, library_sources, read, run, scratch

folder = scratch()
module = dict(re.findall(r"^\s*(\w+): (\S+)$", read("zephyr", "module.yml"), re.M))
equal(module["name"], "tickwheel", "the name of the module")
expect(os.path.isfile(f"{ROOT}/{module['cmake']}/CMakeLists.txt"), "module.yml names the folder of CMakeLists.txt")
expect(os.path.isfile(f"{ROOT}/{module['kconfig']}"), "module.yml names Kconfig")

# The defaults of Kconfig, and each of its options used.
kconfig = read(*module["kconfig"].split("/"))
defaults = {"TICKWHEEL": "y"}
for name, body in re.findall(r"^config (\w+)\n(.*?)(?=^\w)", kconfig, re.M | re.S):
    defaults[name] = re.search(r"^\tdefault (\S+)", body, re.M).group(1)
build = read(*module["cmake"].split("/"), "CMakeLists.txt")
used = set(re.findall(r"CONFIG_(\w+)", build))
equal(used, set(defaults), "the options of Kconfig, and those that CMakeLists.txt uses")
listed = set(re.findall(r"\$\{tickwheel_root\}/(\S+?\.cpp)", build))
wheel = {name for name in library_sources() if name.startswith("src/core/")}
equal(listed, wheel, "the sources of the wheel")

for variant, changes in (("defaults", {}), ("small", {"TICKWHEEL_LOOKAHEAD": "n", "TICKWHEEL_TICK_64": "n"})):
    options = [f"-DCONFIG_{name}={value}" for name, value in {**defaults, **changes}.items() if value != "n"]
    run("cmake", "-S", f"{STUBS}/zephyr", "-B", f"{folder}/{variant}", f"-DMODULE={ROOT}/{module['cmake']}",
        f"-DPROGRAM={PROGRAM}/test_package.c", *options)
    run("cmake", "--build", f"{folder}/{variant}")
    run(f"{folder}/{variant}/program")
