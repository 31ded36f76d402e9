# Linux on 32-bit ARM: cmake --toolchain toolchains/arm-linux-gnueabihf.cmake ...
# Needs g++-arm-linux-gnueabihf, and qemu-user to run programs on the build machine.
set(triplet arm-linux-gnueabihf)
set(emulator qemu-arm)
string(APPEND CMAKE_CXX_FLAGS_INIT " -Wno-psabi")  # no note on how older compilers passed arguments
include(${CMAKE_CURRENT_LIST_DIR}/linux.cmake)
