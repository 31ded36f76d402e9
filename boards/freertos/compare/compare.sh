#!/bin/sh
# compare.sh KERNEL [BUILD]: compares timers of FreeRTOS with those of Tickwheel, on the kernel in the folder
# KERNEL (a checkout of FreeRTOS-Kernel) and a Cortex-M3 that QEMU emulates. Prints the bytes of flash and of RAM
# that either kind of timer adds to a program without timers, and the instructions of starts, stops and ticks.
set -eu
case $# in
1 | 2) ;;
*)
    echo "usage: compare.sh KERNEL [BUILD]" >&2
    exit 2
    ;;
esac
case $1 in
/*) kernel=$1 ;;
*) kernel=$PWD/$1 ;;
esac
cd "$(dirname "$0")/../../.."
build=${2:-build/freertos}
board=boards/machines machine=mps2-an385 shift=10
port=$kernel/portable/GCC/ARM_CM3

for file in tasks.c queue.c list.c timers.c include/FreeRTOS.h include/task.h include/timers.h \
    portable/GCC/ARM_CM3/port.c portable/GCC/ARM_CM3/portmacro.h; do
    [ -f "$kernel/$file" ] || {
        echo "compare.sh: $1 is no checkout of FreeRTOS-Kernel: it has no $file" >&2
        exit 1
    }
done
for tool in arm-none-eabi-gcc arm-none-eabi-g++ arm-none-eabi-size qemu-system-arm; do
    command -v $tool >/dev/null || {
        echo "compare.sh: $tool is not installed" >&2
        exit 1
    }
done

mkdir -p "$build/tickwheel"
sed -E 's/@TW_TICK_BITS@/32/; s/@TW_(RUNTIME|SMALL)_01@/0/; s/@TW_[A-Z_]+_01@/1/' \
    include/tickwheel/config.h.in >"$build/tickwheel/config.h"

# compile_all NAME DEFINITIONS...: builds an image, without the functions that it does not call.
compile_all() {
    name=$1
    shift
    set -- "$@" -Os -mcpu=cortex-m3 -mthumb -ffunction-sections -fdata-sections -fno-unwind-tables \
        -fno-asynchronous-unwind-tables -DNDEBUG -DINSTRUCTION_NS=$((1 << shift))u -I"$board" -I"$board/$machine" \
        -Iboards/freertos/compare -I"$kernel/include" -I"$port" -I"$build" -Iinclude -Iboards/include -Isrc -I.
    objects=
    for source in "$kernel/tasks.c" "$kernel/queue.c" "$kernel/list.c" "$kernel/timers.c" "$port/port.c" \
        boards/freertos/compare/compare.c boards/freertos/timers.c $board/begin.c $board/memory.c \
        $board/number.c $board/cortexm/start.c $board/cortexm/host.c $board/$machine/timer.c; do
        object=$build/$name-$(echo "$source" | tr / _).o
        arm-none-eabi-gcc -std=gnu11 "$@" -fno-tree-loop-distribute-patterns -c "$source" -o "$object"
        objects="$objects $object"
    done
    arm-none-eabi-g++ -std=c++17 "$@" -ffreestanding -fno-exceptions -fno-rtti -fno-threadsafe-statics \
        -DTW_PORT_HEADER='"boards/freertos/port.h"' -c src/core/c_api.cpp -o "$build/$name-wheel.o"
    # shellcheck disable=SC2086 # objects is a list
    arm-none-eabi-gcc -mcpu=cortex-m3 -mthumb -nostdlib -static -Wl,--gc-sections -L $board/$machine \
        -T $board/firmware.ld $objects "$build/$name-wheel.o" -lgcc -o "$build/$name.elf"
}

# sizes NAME: prints the bytes of flash, and of RAM without the stack.
sizes() {
    arm-none-eabi-size -A "$build/$1.elf" | awk '
        $1 == ".text" || $1 == ".data" { flash += $2 }
        $1 == ".data" || $1 == ".bss" { ram += $2 }
        END { print flash, ram }'
}

compile_all none
compile_all kernel -DconfigUSE_TIMERS=1
compile_all tickwheel -DTICKWHEEL
compile_all both -DconfigUSE_TIMERS=1 -DTICKWHEEL -DMEASURES

{ sizes none && sizes kernel && sizes tickwheel; } | awk '
    { flash[NR] = $1; ram[NR] = $2 }
    END {
        print "bytes, beside a program without timers (flash, RAM with a stack of 1 KB)"
        printf "  FreeRTOS:  %6d %6d\n  Tickwheel: %6d %6d\n", flash[2] - flash[1], ram[2] - ram[1],
            flash[3] - flash[1], ram[3] - ram[1]
    }'
echo "instructions among 500 timers, least and most, all that follows until the call returns included"
qemu-system-arm -machine $machine -nographic -monitor none -serial none -rtc clock=vm \
    -semihosting-config enable=on,target=native -icount shift=$shift,sleep=off -kernel "$build/both.elf" 2>&1 |
    sed 's/^/  /' >"$build/counts.txt"
cat "$build/counts.txt"
grep -q "bytes of RAM for a timer" "$build/counts.txt"
