#!/usr/bin/env python3
"""vcpkg.py SCRATCH: the port of vcpkg has its fields, and its portfile makes a package that programs find."""
import json
import os

from recipe import PROGRAM, ROOT, STUBS, copy_sources, equal, expect, read, run, scratch, version

folder = scratch()
port = json.loads(read("packaging", "vcpkg", "vcpkg.json"))
equal(port["version-semver"], version(), "the version in vcpkg.json")
equal(port["name"], "tickwheel", "the name in vcpkg.json")
expect(set(port) <= {"name", "version-semver", "description", "license", "supports", "dependencies", "default-features",
                     "features"}, "vcpkg.json has fields that vcpkg does not know")
for dependency in port["dependencies"]:
    expect(dependency.get("host"), "the dependencies are tools")
for feature in port["default-features"]:
    expect(feature["name"] in port["features"], "a default feature is a feature")

os.makedirs(f"{folder}/source")
copy_sources(f"{folder}/source")
run("cmake", f"-DSTUB_SOURCE={folder}/source", f"-DCURRENT_PACKAGES_DIR={folder}/package", f"-DSTUB_BUILD={folder}/build",
    f"-DVERSION={version()}", "-DPORT=tickwheel", "-DFEATURES=core", f"-DPORTFILE={ROOT}/packaging/vcpkg/portfile.cmake",
    "-P", f"{STUBS}/vcpkg/run_portfile.cmake")

for installed in ("share/tickwheel/usage", "share/tickwheel/copyright", "share/tickwheel/tickwheel-config.cmake",
                  "include/tickwheel/tw.h", "include/tickwheel/config.h"):
    expect(os.path.exists(f"{folder}/package/{installed}"), f"the package has {installed}")
expect(not os.path.exists(f"{folder}/package/debug/include"), "the package has no headers of the debug build")

run("cmake", "-S", PROGRAM, "-B", f"{folder}/program", f"-DCMAKE_PREFIX_PATH={folder}/package")
run("cmake", "--build", f"{folder}/program")
run(f"{folder}/program/test_package")
usage = read("packaging", "vcpkg", "usage")
for target in ("tickwheel::tickwheel", "tickwheel::cpp"):
    expect(target in usage and f"add_library({target} ALIAS" in read("CMakeLists.txt"), f"{target} is a target")
