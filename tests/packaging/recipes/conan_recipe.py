#!/usr/bin/env python3
"""conan_recipe.py SCRATCH: Conan's recipe, run step by step without Conan, makes a package that its own test takes."""
import importlib.util
import os
import sys

from recipe import ROOT, STUBS, equal, expect, run, scratch, version

sys.path.insert(0, STUBS)
from conan.stub import Options, Refused, Settings  # noqa: E402

folder = scratch()


def recipe_class(path):
    spec = importlib.util.spec_from_file_location("recipe_of_conan", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return next(each for each in vars(module).values() if isinstance(each, type) and each.__module__ == "recipe_of_conan")


def made(kind, settings, options):
    recipe = kind()
    recipe.recipe_folder = os.path.join(ROOT, "packaging", "conan")
    recipe.export_sources_folder = recipe.source_folder = f"{folder}/source"
    recipe.build_folder, recipe.package_folder = f"{folder}/build", f"{folder}/package"
    recipe.settings = Settings(settings)
    recipe.options = Options({**kind.default_options, **options}, kind.options)
    return recipe


linux = {"os": "Linux", "arch": "x86_64", "compiler": "gcc", "build_type": "Debug"}
kind = recipe_class(f"{ROOT}/packaging/conan/conanfile.py")
equal(set(kind.options), set(kind.default_options), "each option has a default")

recipe = made(kind, linux, {"runtime": False, "bits": "5"})
recipe.set_version()
equal(recipe.version, version(), "the version of the recipe")
recipe.export_sources()
for step in ("config_options", "configure", "layout", "validate", "generate", "build", "package", "package_info"):
    getattr(recipe, step)()
expect(os.path.exists(f"{folder}/package/licenses/LICENSE"), "the package has the licence")
expect("#define TW_BITS 5" in open(f"{folder}/package/include/tickwheel/config.h", encoding="utf-8").read(),
       "an option reaches the build")
for own in ("lib/cmake", "lib/pkgconfig"):
    expect(not os.path.exists(f"{folder}/package/{own}"), f"Conan writes {own} itself")

for settings, options in (({**linux, "os": "Windows"}, {"runtime": False}), (linux, {"tick_bits": 32}),
                          ({**linux, "os": "Macos"}, {})):
    try:
        made(kind, settings, options).validate()
    except Refused:
        continue
    expect(False, f"refused: {settings['os']}, {options}")

test = recipe_class(f"{ROOT}/packaging/conan/test_package/conanfile.py")()
test.recipe_folder = test.source_folder = f"{ROOT}/packaging/conan/test_package"
test.build_folder = f"{folder}/test_build"
test.settings, test.tested_reference_str = Settings(linux), f"tickwheel/{version()}"
test.dependency = recipe
for step in ("requirements", "layout", "build", "test"):
    getattr(test, step)()
equal(test.required, [f"tickwheel/{version()}"], "what the test requires")
expect(test.has_run, "the test ran its program")
