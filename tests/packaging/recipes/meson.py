#!/usr/bin/env python3
"""meson.py SCRATCH BUILD: Meson takes the overlay, which has each source and header of the library and the settings of
BUILD, and builds it as a subproject."""
import configparser
import json
import os
import re
import shutil

from recipe import PROGRAM, ROOT, config_of, equal, expect, library_sources, public_headers, read, run, scratch, skip, version

if shutil.which("meson") is None or shutil.which("ninja") is None:
    skip("meson or ninja is missing")

folder, build = scratch()
recipe = read("packaging", "meson", "meson.build")
equal(re.search(r"^  version: '(.*)'", recipe, re.M).group(1), version(), "the version in meson.build")
named = set(re.findall(r"'([\w/]+\.(?:cpp|c))'", recipe)) - {"packaging/conan/test_package/test_package.c"}
equal(named, library_sources(), "the sources in meson.build")

wrap = configparser.ConfigParser()
wrap.read(f"{ROOT}/packaging/meson/tickwheel.wrap")
equal(wrap["wrap-git"]["revision"], f"v{version()}", "the revision in tickwheel.wrap")
equal(wrap["wrap-git"]["directory"], f"tickwheel-{version()}", "the folder in tickwheel.wrap")
provided = wrap["provide"]["tickwheel"]
expect(f"{provided} = declare_dependency" in recipe, f"{provided} is a dependency")

# The sources without CMake's files, and the overlay.
sources = f"{folder}/program/subprojects/{wrap['wrap-git']['directory']}"
os.makedirs(sources)
for name in ("include", "src", "drivers", "boards/include"):
    shutil.copytree(f"{ROOT}/{name}", f"{sources}/{name}")
shutil.copytree(PROGRAM, f"{sources}/packaging/conan/test_package")
shutil.copytree(f"{ROOT}/packaging/meson", sources, dirs_exist_ok=True)

# Configures all of the library. Only the nightly form also compiles it, because that takes as long as the
# build itself.
run("meson", "setup", f"{folder}/build", sources, f"--prefix={folder}/installed", "--libdir=lib", "--buildtype=plain",
    "--werror")
plan = json.loads(run("meson", "introspect", "--installed", f"{folder}/build"))
headers = {os.path.relpath(path, f"{folder}/installed/include/tickwheel") for path in plan.values() if "/include/" in path}
equal(headers, public_headers() | {"config.h", "loops"}, "the installed headers")
equal(config_of(f"{folder}/build/include/tickwheel/config.h"), config_of(f"{build}/tickwheel-config/tickwheel/config.h"),
      "the settings in config.h")
if os.environ.get("TW_NIGHTLY"):
    run("meson", "test", "-C", f"{folder}/build")
    run("meson", "install", "-C", f"{folder}/build")
    environment = {**os.environ, "PKG_CONFIG_PATH": f"{folder}/installed/lib/pkgconfig",
                   "LD_LIBRARY_PATH": f"{folder}/installed/lib"}
    flags = run("pkg-config", "--cflags", "--libs", "tickwheel", env=environment).split()
    run("cc", f"{ROOT}/tests/install/consumer.c", "-o", f"{folder}/consumer", *flags, env=environment)
    run(f"{folder}/consumer", env=environment)

# A user's program with the wheel alone: the wrap, and the folder that the wrap would have fetched.
shutil.copy(f"{ROOT}/packaging/meson/tickwheel.wrap", f"{folder}/program/subprojects")
shutil.copy(f"{PROGRAM}/test_package.c", f"{folder}/program")
with open(f"{folder}/program/meson.build", "w", encoding="utf-8") as file:
    file.write("project('program', 'c')\n"
               "executable('program', 'test_package.c', dependencies: dependency('tickwheel'))\n")
run("meson", "setup", f"{folder}/program/build", f"{folder}/program", "-Dtickwheel:runtime=disabled",
    "-Dtickwheel:engine=tree", "--wrap-mode=forcefallback")
run("meson", "compile", "-C", f"{folder}/program/build")
needed = run("readelf", "-d", f"{folder}/program/build/subprojects/{wrap['wrap-git']['directory']}/libtickwheel.so")
expect("stdc++" not in needed, "the library needs no C++ library")
run(f"{folder}/program/build/program")
