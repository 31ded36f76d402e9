import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir

required_conan_version = ">=2.0"


class TickwheelConan(ConanFile):
    name = "tickwheel"
    description = "A hierarchical timer wheel for C and C++, and a timer runtime for Linux"
    license = "MIT"
    url = "https://github.com/tickwheel/tickwheel"
    topics = ("timer", "timer-wheel", "timeout", "embedded", "scheduler")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {
        "shared": [True, False],
        "fPIC": [True, False],
        "runtime": [True, False],
        "engine": ["wheel", "tree", "tree32"],
        "small": [True, False],
        "validation": [True, False],
    }
    default_options = {
        "shared": False,
        "fPIC": True,
        "runtime": True,
        "engine": "wheel",
        "small": False,
        "validation": True,
    }

    @property
    def _root(self):
        return os.path.join(self.recipe_folder, os.pardir, os.pardir)

    def set_version(self):
        header = load(self, os.path.join(self._root, "include", "tickwheel", "version.h"))
        self.version = ".".join(re.findall(r"define TW_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*", "drivers/*", "calendar/*", "boards/*"):
            copy(self, pattern, src=self._root, dst=self.export_sources_folder)

    def config_options(self):
        if self.settings.os != "Linux":
            self.options.runtime = False

    def configure(self):
        if self.options.shared:
            self.options.rm_safe("fPIC")

    def layout(self):
        cmake_layout(self)

    def validate(self):
        if self.settings.compiler.get_safe("cppstd"):
            check_min_cppstd(self, 20)
        if self.settings.os == "Windows":
            raise ConanInvalidConfiguration("tickwheel is for gcc and clang on systems other than Windows")
        if self.options.runtime and self.settings.os != "Linux":
            raise ConanInvalidConfiguration("the runtime is for Linux")
        if self.options.runtime and (self.options.engine != "wheel" or not self.options.validation):
            raise ConanInvalidConfiguration("the runtime needs engine=wheel and validation=True")
        if self.options.small and self.options.engine == "wheel":
            raise ConanInvalidConfiguration("small=True needs engine=tree or tree32")

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["TW_BUILD"] = ""
        toolchain.cache_variables["TW_DURABLE"] = False
        toolchain.cache_variables["TW_INSTALL"] = True
        toolchain.cache_variables["TW_RUNTIME"] = bool(self.options.runtime)
        toolchain.cache_variables["TW_ENGINE"] = str(self.options.engine)
        toolchain.cache_variables["TW_SMALL"] = bool(self.options.small)
        toolchain.cache_variables["TW_VALIDATION"] = bool(self.options.validation)
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", src=self.source_folder, dst=os.path.join(self.package_folder, "licenses"))
        CMake(self).install()
        rmdir(self, os.path.join(self.package_folder, "lib", "cmake"))
        rmdir(self, os.path.join(self.package_folder, "lib", "pkgconfig"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "tickwheel")
        self.cpp_info.set_property("cmake_target_name", "tickwheel::tickwheel")
        self.cpp_info.set_property("cmake_target_aliases", ["tickwheel::cpp"] if self.options.runtime else [])
        self.cpp_info.set_property("pkg_config_name", "tickwheel")
        self.cpp_info.libs = ["tickwheel"]
        if self.options.runtime:
            self.cpp_info.system_libs = ["pthread"]
