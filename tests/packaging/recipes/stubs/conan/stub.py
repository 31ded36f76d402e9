"""Conan, as far as the recipe uses it. Its CMake helper calls the real CMake."""
import fnmatch
import os
import shutil
import subprocess


class Refused(Exception):
    pass


class Named(dict):
    def __getattr__(self, name):
        if name not in self:
            raise AttributeError(f"no {name}")
        return self[name]

    def get_safe(self, name):
        return self.get(name)


class Settings(Named):
    @property
    def compiler(self):
        return Named()


class Options(Named):
    def __init__(self, values, possible):
        for name, value in values.items():
            if name not in possible or (possible[name] != ["ANY"] and value not in possible[name]):
                raise Refused(f"{name}={value}")
        super().__init__(values)

    def __setattr__(self, name, value):
        self[name] = value

    def rm_safe(self, name):
        self.pop(name, None)


class ConanFile:
    def __init__(self):
        self.cpp_info = CppInfo()
        self.cpp = Named(build=Named(bindir="."))
        self.cache = {}
        self.required = []
        self.has_run = False

    def requires(self, reference):
        self.required.append(reference)

    def run(self, command, env=None):
        subprocess.run([os.path.join(self.build_folder, command)], check=True)
        self.has_run = True


class CppInfo:
    def __init__(self):
        self.properties, self.libs, self.system_libs = {}, [], []

    def set_property(self, name, value):
        self.properties[name] = value


class CMakeToolchain:
    def __init__(self, recipe):
        self.recipe, self.cache_variables = recipe, {}

    def generate(self):
        self.recipe.cache = self.cache_variables


class CMakeDeps:
    """What Conan writes for find_package: a target with what package_info says."""

    def __init__(self, recipe):
        self.recipe = recipe

    def generate(self):
        pass

    def write(self, folder):
        info, package = self.recipe.cpp_info, self.recipe.package_folder
        os.makedirs(folder, exist_ok=True)
        name = info.properties["cmake_file_name"]
        with open(f"{folder}/{name}-config.cmake", "w", encoding="utf-8") as file:
            target = info.properties["cmake_target_name"]
            file.write(f"add_library({target} INTERFACE IMPORTED)\n"
                       f"target_include_directories({target} INTERFACE {package}/include)\n"
                       f"target_link_directories({target} INTERFACE {package}/lib)\n"
                       f"target_link_libraries({target} INTERFACE {' '.join(info.libs + info.system_libs)})\n")


class CMake:
    def __init__(self, recipe):
        self.recipe = recipe

    def cmake(self, *arguments):
        subprocess.run(["cmake", *arguments], check=True, stdout=subprocess.DEVNULL)

    def configure(self):
        recipe = self.recipe
        values = [f"-D{name}={value}" for name, value in recipe.cache.items()]
        if hasattr(recipe, "dependency"):
            CMakeDeps(recipe.dependency).write(f"{recipe.build_folder}/generators")
            values.append(f"-Dtickwheel_DIR={recipe.build_folder}/generators")
        self.cmake("-S", recipe.source_folder, "-B", recipe.build_folder, "-DCMAKE_INSTALL_LIBDIR=lib",
                   f"-DCMAKE_BUILD_TYPE={recipe.settings.build_type}", *values)

    def build(self):
        self.cmake("--build", self.recipe.build_folder)

    def install(self):
        self.cmake("--install", self.recipe.build_folder, "--prefix", self.recipe.package_folder)


def copy(recipe, pattern, src, dst):
    copied = 0
    for folder, folders, files in os.walk(src):
        folders[:] = [name for name in folders if name not in (".git", "build")]
        for name in files:
            path = os.path.relpath(os.path.join(folder, name), src)
            if fnmatch.fnmatch(path, pattern):
                os.makedirs(os.path.dirname(os.path.join(dst, path)), exist_ok=True)
                shutil.copy(os.path.join(src, path), os.path.join(dst, path))
                copied += 1
    if copied == 0:
        raise FileNotFoundError(f"{src} has no {pattern}")


def load(recipe, path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def rmdir(recipe, path):
    shutil.rmtree(path)  # which must be there
