from ..stub import CMake, CMakeDeps, CMakeToolchain  # noqa: F401


def cmake_layout(recipe):
    pass
