# Linux on 64-bit ARM: cmake --toolchain toolchains/aarch64-linux-gnu.cmake ...
# Needs g++-aarch64-linux-gnu, and qemu-user to run programs on the build machine.
set(triplet aarch64-linux-gnu)
set(emulator qemu-aarch64)
include(${CMAKE_CURRENT_LIST_DIR}/linux.cmake)
