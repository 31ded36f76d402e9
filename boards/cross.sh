# shellcheck shell=bash
# The boards of ./dev cross; ./dev sources this file. Each line has a board's name, its preset, and more arguments for
# CMake. The boards after the empty line run only with TW_NIGHTLY=1 or by name.

# The boards before the empty line run the essential tests on each push, and more tests with TW_NIGHTLY=1.
images=-DTW_TESTS=essential
programs="-DTW_TESTS=essential -DTW_BUILD=tests"
if [ -n "${TW_NIGHTLY:-}" ]; then
    images=-DTW_TESTS=all
    programs="-DTW_TESTS=built -DTW_BUILD=tests;examples;tools"
fi

boards_table="\
cortex-m0            board        $images -DTW_CPU=cortex-m0
riscv32              board        $images --toolchain toolchains/riscv32-none-elf.cmake
arm-linux-gnueabihf  linux-board  $programs

cortex-m3            board        -DTW_CPU=cortex-m3
cortex-m4f           board        -DTW_CPU=cortex-m4f
aarch64-linux-gnu    linux-board  --toolchain toolchains/aarch64-linux-gnu.cmake
riscv64-linux-gnu    linux-board  --toolchain toolchains/riscv64-linux-gnu.cmake
musl                 linux-board  --toolchain toolchains/musl.cmake"

boards() { awk 'NF {print $1}' <<<"$boards_table"; }
boards_without_system() { awk '$2 == "board" {print $1}' <<<"$boards_table"; }
boards_of_each_push() { awk '!NF {exit} {print $1}' <<<"$boards_table"; }

# board NAME: its preset and CMake's arguments.
board() { awk -v name="$1" '$1 == name {sub(/^[^ ]+ +/, ""); print}' <<<"$boards_table"; }
