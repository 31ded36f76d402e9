#!/usr/bin/env python3
"""vcpkg.py SCRATCH BUILD: the port of vcpkg has its fields, and its portfile makes a package of what BUILD has made."""
import json

from recipe import ROOT, STUBS, equal, expect, installed, read, run, scratch, version

folder, build = scratch()
port = json.loads(read("packaging", "vcpkg", "vcpkg.json"))
equal(port["version-semver"], version(), "the version in vcpkg.json")
equal(port["name"], "tickwheel", "the name in vcpkg.json")
expect(set(port) <= {"name", "version-semver", "description", "license", "supports", "dependencies", "default-features",
                     "features"}, "vcpkg.json has fields that vcpkg does not know")
for dependency in port["dependencies"]:
    expect(dependency.get("host"), "the dependencies are tools")
for feature in port["default-features"]:
    expect(feature["name"] in port["features"], "a default feature is a feature")

run("cmake", f"-DSOURCE={ROOT}", f"-DBUILD={build}", f"-DCURRENT_PACKAGES_DIR={folder}/package", f"-DVERSION={version()}",
    "-DPORT=tickwheel", "-DFEATURES=core", f"-DPORTFILE={ROOT}/packaging/vcpkg/portfile.cmake",
    "-P", f"{STUBS}/vcpkg/run_portfile.cmake")
package = installed(f"{folder}/package")
expect({"share/tickwheel/usage", "share/tickwheel/copyright", "share/tickwheel/tickwheel-config.cmake",
        "include/tickwheel/tw.h", "include/tickwheel/config.h"} <= package, "the package has its files")

usage = read("packaging", "vcpkg", "usage")
for target in ("tickwheel::tickwheel", "tickwheel::cpp"):
    expect(target in usage and f"add_library({target} ALIAS" in read("CMakeLists.txt"), f"{target} is a target")
