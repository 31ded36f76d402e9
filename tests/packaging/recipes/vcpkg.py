#!/usr/bin/env python3
"""vcpkg.py SCRATCH BUILD: the port of vcpkg has its fields, and its portfile names options of the project and files of
the package."""
import json
import re

from recipe import equal, expect, installed, read, run, scratch, version

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

portfile = read("packaging", "vcpkg", "portfile.cmake")
features = dict(re.findall(r"^ {8}(\w+) (TW_\w+)$", portfile, re.M))
equal(set(features), set(port["features"]), "the features of the portfile")
cache = open(f"{build}/CMakeCache.txt", encoding="utf-8").read()
for option in [*features.values(), *re.findall(r"^ {8}-D(\w+)=", portfile, re.M)]:
    expect(re.search(f"^{option}:(BOOL|STRING)=", cache, re.M), f"{option} is an option")
expect('REF "v${VERSION}"' in portfile, "the sources are those of the version")

run("cmake", "--install", build, "--prefix", f"{folder}/package")
config = re.search(r"CONFIG_PATH (\S+)\)", portfile).group(1)
expect({f"{config}/tickwheel-config.cmake", "lib/pkgconfig/tickwheel.pc"} <= installed(f"{folder}/package"),
       "the package has its files")

usage = read("packaging", "vcpkg", "usage")
for target in ("tickwheel::tickwheel", "tickwheel::cpp"):
    expect(target in usage and f"add_library({target} ALIAS" in read("CMakeLists.txt"), f"{target} is a target")
