#!/usr/bin/env python3
"""zephyr.py SCRATCH BUILD: the module of Zephyr names its files, each of its options reaches the build, and it builds
on a simulated Zephyr."""
import os
import re

from recipe import PROGRAM, ROOT, STUBS, config_of, equal, expect, library_sources, read, run, scratch

folder, _ = scratch()
module = dict(re.findall(r"^\s*(\w+): (\S+)$", read("zephyr", "module.yml"), re.M))
equal(module["name"], "tickwheel", "the name of the module")
expect(os.path.isfile(f"{ROOT}/{module['cmake']}/CMakeLists.txt"), "module.yml names the folder of CMakeLists.txt")
expect(os.path.isfile(f"{ROOT}/{module['kconfig']}"), "module.yml names Kconfig")

# The defaults of Kconfig: an option is n unless it has a default, and the choice between engines has one,
# too.
kconfig = read(*module["kconfig"].split("/"))
ENGINES = {f"TICKWHEEL_ENGINE_{engine}" for engine in ("TREE", "TREE32", "WHEEL")}
defaults = {"TICKWHEEL": "y"}
for name, body in re.findall(r"^config (\w+)\n((?:\t.*\n|\n)*)", kconfig, re.M):
    found = re.search(r"^\tdefault (\S+)$", body, re.M)
    defaults[name] = found.group(1) if found else "n"
    expect(re.search(r"^\thelp\n\t  \S", body, re.M), f"{name} has a help text")
chosen = re.search(r"^choice TICKWHEEL_ENGINE\n\tprompt .*\n\tdefault (\w+)$", kconfig, re.M).group(1)
expect(chosen in ENGINES, "the default of the choice is an engine")
defaults[chosen] = "y"
equal({name for name in defaults if "_ENGINE_" in name}, ENGINES, "the engines")

# Each option is used in CMakeLists.txt, where the default engine needs no mention.
build = read(*module["cmake"].split("/"), "CMakeLists.txt")
used = set(re.findall(r"CONFIG_(\w+)(?![\w{$])", build))
equal(used, set(defaults) - {chosen}, "the options that CMakeLists.txt uses")
listed = set(re.findall(r"\$\{tickwheel_root\}/(\S+?\.cpp)", build))
equal(listed, {name for name in library_sources() if name.startswith("src/core/")}, "the sources of the wheel")

VARIANTS = {"defaults": {}, "wheel": {"TICKWHEEL_ENGINE_WHEEL": "y"},
            "smallest": {"TICKWHEEL_ENGINE_TREE32": "y", "TICKWHEEL_SMALL": "y", "TICKWHEEL_VALIDATION": "n",
                         "TICKWHEEL_TIMERS": "n"}}
SETTINGS = {"defaults": {"TW_TREE": "1", "TW_TICK_BITS": "64", "TW_SMALL": "0", "TW_VALIDATION": "1"},
            "wheel": {"TW_TREE": "0", "TW_TICK_BITS": "64", "TW_SMALL": "0", "TW_VALIDATION": "1"},
            "smallest": {"TW_TREE": "1", "TW_TICK_BITS": "32", "TW_SMALL": "1", "TW_VALIDATION": "0"}}

for variant, changes in VARIANTS.items():
    options = {**defaults, **(dict.fromkeys(ENGINES, "n") if ENGINES & set(changes) else {}), **changes}
    programs = [f"{PROGRAM}/test_package.c"]
    if options["TICKWHEEL_TIMERS"] == "y":
        programs.append(f"{STUBS}/timers.c")
    run("cmake", "-S", f"{STUBS}/zephyr", "-B", f"{folder}/{variant}", f"-DMODULE={ROOT}/{module['cmake']}",
        f"-DKERNELS={ROOT}/boards/tests/kernels", f"-DPROGRAMS={';'.join(programs)}",
        *(f"-DCONFIG_{name}={value}" for name, value in options.items() if value != "n"))
    config = config_of(f"{folder}/{variant}/module/config/tickwheel/config.h")
    equal(config, {**SETTINGS[variant], "TW_RUNTIME": "0"}, f"the settings of {variant}")
    run("cmake", "--build", f"{folder}/{variant}")
    for program in programs:
        run(f"{folder}/{variant}/{os.path.splitext(os.path.basename(program))[0]}")
