#!/usr/bin/env python3
"""meson.py SCRATCH: Meson builds the library from the overlay, with each source and header, and as a subproject."""
import configparser
import os
import re
import shutil

from recipe import (PROGRAM, ROOT, config_of, equal, expect, features, library_sources, public_headers, read, run,
                    scratch, skip, version)

if shutil.which("meson") is None or shutil.which("ninja") is None:
    skip("meson or ninja is missing")

folder = scratch()
build = read("packaging", "meson", "meson.build")
equal(re.search(r"^  version: '(.*)'", build, re.M).group(1), version(), "the version in meson.build")
named = set(re.findall(r"'([\w/]+\.(?:cpp|c))'", build)) - {"packaging/conan/test_package/test_package.c"}
equal(named, library_sources(), "the sources in meson.build")
headers = {name.removeprefix("include/tickwheel/") for name in re.findall(r"'([\w/]+\.(?:h|hpp))'", build)} - {"port.h"}
equal(headers, public_headers(), "the headers in meson.build")

wrap = configparser.ConfigParser()
wrap.read(f"{ROOT}/packaging/meson/tickwheel.wrap")
equal(wrap["wrap-git"]["revision"], f"v{version()}", "the revision in tickwheel.wrap")
equal(wrap["wrap-git"]["directory"], f"tickwheel-{version()}", "the folder in tickwheel.wrap")
provided = wrap["provide"]["tickwheel"]
expect(f"{provided} = declare_dependency" in build, f"{provided} is a dependency")

# The sources alone, and the overlay.
sources = f"{folder}/program/subprojects/{wrap['wrap-git']['directory']}"
os.makedirs(sources)
for name in ("include", "src", "drivers"):
    shutil.copytree(f"{ROOT}/{name}", f"{sources}/{name}")
shutil.copytree(PROGRAM, f"{sources}/packaging/conan/test_package")
shutil.copytree(f"{ROOT}/packaging/meson", sources, dirs_exist_ok=True)

run("meson", "setup", f"{folder}/build", sources, f"--prefix={folder}/installed", "--libdir=lib", "--buildtype=plain",
    "--werror")
run("meson", "test", "-C", f"{folder}/build")
run("meson", "install", "-C", f"{folder}/build")
for name in public_headers() | {"config.h"}:
    expect(os.path.exists(f"{folder}/installed/include/tickwheel/{name}"), f"{name} is installed")
config = config_of(f"{folder}/installed/include/tickwheel/config.h")
equal(config, {"TW_BITS": "8", "TW_LEVELS": "3", "TW_LOOKAHEAD": "1", "TW_TREE": "0", "TW_TICK_BITS": "64",
               "TW_RUNTIME": "1", **{f"TW_{feature}": "1" for feature in features()}}, "the settings in config.h")
needed = run("readelf", "-d", f"{folder}/installed/lib/libtickwheel.so")
expect("stdc++" not in needed, "the library needs no C++ library")
environment = {**os.environ, "PKG_CONFIG_PATH": f"{folder}/installed/lib/pkgconfig",
               "LD_LIBRARY_PATH": f"{folder}/installed/lib"}
flags = run("pkg-config", "--cflags", "--libs", "tickwheel", env=environment).split()
run("cc", f"{ROOT}/tests/install/consumer.c", "-o", f"{folder}/consumer", *flags, env=environment)
run(f"{folder}/consumer", env=environment)

# A user's program: the wrap, and the folder that it would have fetched.
shutil.copy(f"{ROOT}/packaging/meson/tickwheel.wrap", f"{folder}/program/subprojects")
shutil.copy(f"{PROGRAM}/test_package.c", f"{folder}/program")
with open(f"{folder}/program/meson.build", "w", encoding="utf-8") as file:
    file.write("project('program', 'c')\n"
               "executable('program', 'test_package.c', dependencies: dependency('tickwheel'))\n")
run("meson", "setup", f"{folder}/program/build", f"{folder}/program", "-Dtickwheel:runtime=disabled",
    "-Dtickwheel:bits=5", "--wrap-mode=forcefallback")
run("meson", "compile", "-C", f"{folder}/program/build")
run(f"{folder}/program/build/program")
