#!/bin/sh
# can_fail.sh SCRIPTS ROOT SCRATCH NM READELF CXX: shows that both checks can fail.
set -u
scripts=$1 root=$2 scratch=$3 nm=$4 readelf=$5 cxx=$6
status=0

# refuses_line FILE LINE: a copy of the tree with this line added to the file must be refused.
refuses_line() {
    rm -rf "$scratch" && mkdir -p "$scratch" || exit 1
    cp -R "$root/src" "$root/drivers" "$root/include" "$root/tools" "$scratch/"
    echo "$2" >>"$scratch/$1"
    if sh "$scripts/include_rules.sh" "$scratch" >"$scratch/said"; then
        echo "accepted in $1: $2"
        status=1
    elif ! grep -q "$1" "$scratch/said"; then
        echo "did not name $1"
        status=1
    fi
}

# An object compiled from this source must be refused, with this text.
refuses_object() {
    rm -rf "$scratch" && mkdir -p "$scratch" || exit 1
    echo "$2" >"$scratch/c_api.cpp"
    "$cxx" -std=c++20 -O1 -c "$scratch/c_api.cpp" -o "$scratch/c_api.o" || exit 1
    if sh "$scripts/core_object.sh" "$nm" "$readelf" none "$scratch/c_api.o" >"$scratch/said"; then
        echo "accepted as a core: $2"
        status=1
    elif ! grep -q "$1" "$scratch/said"; then
        echo "did not say \"$1\" of: $2"
        cat "$scratch/said"
        status=1
    fi
}

refuses_line src/core/wheel.hpp '#include <vector>'
refuses_line src/core/wheel.hpp '#include <string.h>'
refuses_line src/core/ring.hpp '#include "../ports/linux/port.h"'
refuses_line src/core/ring.hpp '#include "ports/linux/port.h"'
refuses_line src/core/ring.hpp '  #  include "missing.hpp"  // no such file'
refuses_line src/core/c_api.cpp '#include <tickwheel/runtime.h>'
refuses_line src/ports/linux/lock.cpp '#include <tickwheel/tw.h>'
refuses_line src/ports/linux/lock.cpp '#include "core/ring.hpp"'
refuses_line src/runtime/turn.cpp '#include "core/wheel.hpp"'
refuses_line src/runtime/turn.cpp '#include "workers/workers.hpp"'
refuses_line src/runtime/turn.cpp '#include "timers/record_set.hpp"'
refuses_line src/runtime/turn.cpp '#include "../../drivers/drivers.hpp"'
refuses_line src/runtime/lifetime.cpp '#include <tickwheel/tickwheel.hpp>'
refuses_line src/workers/pool.cpp '#include "timers/record_set.hpp"'
refuses_line src/workers/pool.cpp '#include "../timers/record_set.hpp"'
refuses_line src/timers/handle.cpp '#include "core/wheel.hpp"'
refuses_line src/timers/handle.cpp '#include "../../drivers/drivers.hpp"'
refuses_line src/durable/clerk.cpp '#include "runtime/runtime.hpp"'
refuses_line src/durable/clerk.cpp '#include <sqlite3.h>'
refuses_line src/durable/stores/sqlite/jobs.cpp '#include <libpq-fe.h>'
refuses_line src/timers/handle.cpp '#include <tickwheel/durable.h>'
refuses_line drivers/clocks/systick.c '#include <tickwheel/tw.h>'
refuses_line drivers/clocks/mtime.c '#include <string.h>'
refuses_line drivers/kernels/freertos.c '#include <tickwheel/cortexm/systick.h>'
refuses_line drivers/kernels/freertos.c '#include <string.h>'
refuses_line drivers/kernels/zephyr.c '#include <zephyr/sys/atomic.h>'
refuses_line drivers/kernels/zephyr.c '#include "core/wheel.hpp"'
refuses_line drivers/epoll.cpp '#include <tickwheel/runtime.h>'
refuses_line drivers/sleep.cpp '#include "../src/runtime/runtime.hpp"'
refuses_line drivers/sleep.cpp '#include "runtime/runtime.hpp"'
refuses_line include/tickwheel/tickwheel.hpp '#include "../../src/runtime/runtime.hpp"'
refuses_line include/tickwheel/tw.h '#include <stdio.h>'
refuses_line include/tickwheel/tw.h '#include "tw_private.h"'
refuses_line include/tickwheel/tw.h '#include <FreeRTOS.h>'
refuses_line include/tickwheel/tw.h '#include <zephyr/kernel.h>'
refuses_line include/tickwheel/freertos/timers.h '#include <task.h>'

refuses_object 'no memory function' 'extern "C" void *malloc(unsigned long); void *tw_a = malloc(1);'
refuses_object 'no memory function' 'void tw_a() { throw 1; }'
refuses_object 'no memory function' 'int *tw_a() { return new int; }'
refuses_object 'writable' 'extern "C" { int tw_a = 1; }'
refuses_object 'writable' 'extern "C" int tw_a() { static int calls; return ++calls; }'
refuses_object 'before main' 'extern "C" int puts(const char *); static int tw_a = puts("");'
refuses_object 'not the API' 'extern "C" void helper() {}'
exit $status
