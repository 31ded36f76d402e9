# Linux on 64-bit RISC-V: cmake --toolchain toolchains/riscv64-linux-gnu.cmake ...
# Needs g++-riscv64-linux-gnu, and qemu-user to run programs on the build machine.
set(triplet riscv64-linux-gnu)
set(emulator qemu-riscv64)
include(${CMAKE_CURRENT_LIST_DIR}/linux.cmake)
