#!/usr/bin/env python3
"""conan.py SCRATCH BUILD: Conan's recipe, run step by step without Conan. CMake configures the project with
the recipe's variables, from the sources that the recipe exports; the package has the results of BUILD, and a
program links with the libraries that the recipe names."""
import fnmatch
import importlib.util
import os
import shutil
import sys
from types import SimpleNamespace
from unittest.mock import Mock

from recipe import PROGRAM, ROOT, equal, expect, installed, read, run, scratch, version

folder, build = scratch()

# --- the part of Conan that the recipes use -------------------------------------------------------


class Values(dict):
    __getattr__, __setattr__, get_safe = dict.__getitem__, dict.__setitem__, dict.get

    def rm_safe(self, name):
        self.pop(name, None)


class ConanFile:
    def __init__(self):
        self.properties, self.required, self.ran = {}, [], []
        self.cpp_info = SimpleNamespace(set_property=self.properties.__setitem__, system_libs=[])
        self.cpp = SimpleNamespace(build=SimpleNamespace(bindir="."))
        self.requires = self.required.append

    def run(self, command, env):
        self.ran.append(command)


def toolchain(recipe):
    recipe.variables = {}
    return SimpleNamespace(cache_variables=recipe.variables, generate=Mock())


def cmake(recipe):
    def configure():
        if isinstance(recipe, kind):
            variables = [f"-D{name}={value}" for name, value in recipe.variables.items()]
            said = run("cmake", "-S", recipe.source_folder, "-B", f"{folder}/build", *variables)
            expect("not used by the project" not in said, f"the variables are the project's\n{said}")

    def install():
        run("cmake", "--install", build, "--prefix", recipe.package_folder)

    return SimpleNamespace(configure=configure, build=Mock(), install=install)


def copy(_, pattern, src, dst):
    found = [name for name in os.listdir(src) if fnmatch.fnmatch(name, pattern.removesuffix("/*"))]
    expect(found, f"there is {pattern}")
    for name in found:
        os.makedirs(dst, exist_ok=True)
        (shutil.copytree if pattern.endswith("/*") else shutil.copy)(f"{src}/{name}", f"{dst}/{name}")


Refused = type("Refused", (Exception,), {})
sys.modules["conan"] = Mock(ConanFile=ConanFile)
sys.modules["conan.errors"] = Mock(ConanInvalidConfiguration=Refused)
sys.modules["conan.tools.build"] = Mock()
sys.modules["conan.tools.cmake"] = Mock(CMake=cmake, CMakeToolchain=toolchain)
sys.modules["conan.tools.files"] = Mock(copy=copy, load=lambda _, path: read(path), rmdir=lambda _, path: shutil.rmtree(path))

# --- the recipe ------------------------------------------------------------------------------------


def recipe_class(path):
    spec = importlib.util.spec_from_file_location("recipe_of_conan", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return next(each for each in vars(module).values() if isinstance(each, type) and each.__module__ == "recipe_of_conan")


def made(system="Linux", **options):
    recipe = kind()
    recipe.recipe_folder = f"{ROOT}/packaging/conan"
    recipe.export_sources_folder = recipe.source_folder = f"{folder}/source"
    recipe.package_folder = f"{folder}/package"
    recipe.settings = Values(os=system, compiler=Values())
    for option, value in options.items():
        expect(value in kind.options[option], f"{option}={value} is possible")
    recipe.options = Values({**kind.default_options, **options})
    return recipe


kind = recipe_class(f"{ROOT}/packaging/conan/conanfile.py")
equal(set(kind.options), set(kind.default_options), "each option has a default")
recipe = made()
recipe.set_version()
equal(recipe.version, version(), "the version of the recipe")
for step in ("export_sources", "config_options", "configure", "layout", "validate", "generate", "build", "package", "package_info"):
    getattr(recipe, step)()
package = installed(recipe.package_folder)
expect({"licenses/LICENSE", "include/tickwheel/tw.h", "lib/libtickwheel.a"} <= package, "the package has its files")
expect(not any(name.startswith(("lib/cmake", "lib/pkgconfig")) for name in package), "Conan writes these itself")

for system, options in (("Windows", {"runtime": False}), ("Macos", {}), ("Linux", {"engine": "tree"}),
                        ("Linux", {"validation": False}), ("Linux", {"runtime": False, "small": True})):
    try:
        made(system, **options).validate()
    except Refused:
        continue
    expect(False, f"refused: {system}, {options}")

equal(recipe.properties["cmake_target_name"], "tickwheel::tickwheel", "the target")
run("cc", f"{PROGRAM}/test_package.c", f"-I{recipe.package_folder}/include", f"-L{recipe.package_folder}/lib",
    *(f"-l{name}" for name in recipe.cpp_info.libs + recipe.cpp_info.system_libs), "-o", f"{folder}/test_package")
run(f"{folder}/test_package")

test = recipe_class(f"{PROGRAM}/conanfile.py")()
test.tested_reference_str = f"tickwheel/{version()}"
for step in ("requirements", "layout", "build", "test"):
    getattr(test, step)()
equal(test.required, [f"tickwheel/{version()}"], "what the test requires")
equal([os.path.basename(command) for command in test.ran], ["test_package"], "what the test runs")
