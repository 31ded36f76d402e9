#!/bin/sh
# can_fail.sh SCRIPTS ROOT SCRATCH NM READELF CXX: shows that the checks can fail.
set -u
scripts=$1 root=$2 scratch=$3 nm=$4 readelf=$5 cxx=$6
status=0

# Reads lines "FILE LINE", and appends each LINE to FILE in a copy of the tree. The checks must refuse all of
# them.
refuses_lines() {
    rm -rf "$scratch" && mkdir -p "$scratch" || exit 1
    for folder in src drivers boards include tools calendar durable python; do
        cp -R "$root/$folder" "$scratch/" || exit 1
    done
    while IFS= read -r text; do
        file=${text%% *} line=${text#* }
        echo "$line" >>"$scratch/$file"
        echo "/$file:$(wc -l <"$scratch/$file"): $line"
    done >"$scratch/added"
    sh "$scripts/include_rules.sh" "$scratch" >"$scratch/said" && exit 1
    while read -r place line; do
        grep -qF "$place" "$scratch/said" && continue
        echo "accepted in $place $line"
        status=1
    done <"$scratch/added"
}

# The check must refuse an object that is compiled from this source, with this text.
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

refuses_lines <<'END'
src/core/wheel.hpp #include <vector>
src/core/wheel.hpp #include <string.h>
src/core/ring.hpp #include "../ports/linux/port.h"
src/core/ring.hpp #include "ports/linux/port.h"
src/core/ring.hpp   #  include "missing.hpp"  // no such file
src/core/c_api.cpp #include <tickwheel/runtime.h>
src/ports/linux/lock.cpp #include <tickwheel/tw.h>
src/ports/linux/lock.cpp #include "core/ring.hpp"
src/ports/linux/lock.cpp #include "check/node_table.hpp"
src/base/numbers.hpp #include <limits>
src/base/thread_safety.hpp #include <pthread.h>
src/base/utf8.hpp #include <tickwheel/tw.h>
src/check/report.cpp #include "runtime/state.hpp"
src/core/tick.hpp #include "base/mutex.hpp"
src/runtime/turn.cpp #include "core/wheel.hpp"
src/runtime/turn.cpp #include "workers/runnable.hpp"
src/runtime/turn.cpp #include "timers/record_set.hpp"
src/runtime/turn.cpp #include "../../drivers/drivers.hpp"
src/runtime/lifetime.cpp #include <tickwheel/tickwheel.hpp>
src/workers/pool.cpp #include "timers/record_set.hpp"
src/workers/pool.cpp #include "../timers/record_set.hpp"
src/timers/timers.cpp #include "core/wheel.hpp"
src/timers/timers.cpp #include "../../drivers/drivers.hpp"
durable/src/membership.cpp #include "runtime/state.hpp"
durable/src/membership.cpp #include <sqlite3.h>
durable/stores/sqlite/claims.cpp #include <libpq-fe.h>
src/timers/timers.cpp #include <tickwheel/durable.h>
boards/cortexm/port.h #include <tickwheel/tw.h>
boards/freertos/port.h #include "core/ring.hpp"
boards/common/lptimer.c #include <tickwheel/tw.h>
boards/cortexm/systick.c #include <tickwheel/tw.h>
boards/riscv/mtime.c #include <string.h>
boards/freertos/timers.c #include <tickwheel/cortexm/systick.h>
boards/freertos/timers.c #include <string.h>
boards/zephyr/timers.c #include <zephyr/sys/atomic.h>
boards/zephyr/timers.c #include "core/wheel.hpp"
src/timers/timers.cpp #include <tickwheel/calendar.h>
durable/src/membership.cpp #include "calendar/src/zone.hpp"
calendar/src/zone.cpp #include <tickwheel/durable.h>
calendar/src/zone.cpp #include <tickwheel/runtime.h>
calendar/src/zone.cpp #include "durable/src/utf8_text.hpp"
calendar/include/tickwheel/calendar.h #include <stdio.h>
drivers/epoll.cpp #include <tickwheel/runtime.h>
drivers/sleep.cpp #include "../src/runtime/state.hpp"
drivers/sleep.cpp #include "runtime/state.hpp"
include/tickwheel/tickwheel.hpp #include "../../src/runtime/state.hpp"
include/tickwheel/tw.h #include <stdio.h>
include/tickwheel/tw.h #include "tw_private.h"
include/tickwheel/loops/uv.h #include <tickwheel/tw.h>
include/tickwheel/runtime.hpp #include <stdexec/execution.hpp>
python/src/timer.hpp #include <tickwheel/tw.h>
python/src/timer.hpp #include "core/wheel.hpp"
python/src/loop.hpp #include "tickwheel.h"
include/tickwheel/tw.h #include <FreeRTOS.h>
include/tickwheel/tw.h #include <zephyr/kernel.h>
boards/include/tickwheel/freertos/timers.h #include <task.h>
boards/include/tickwheel/board/lptimer.h #include <string.h>
END

# Uses the copy of the tree that refuses_lines has left.
echo 'namespace tickwheel::core {' >>"$scratch/src/timers/timers.cpp"
: >"$scratch/durable/src/turn.cpp" # src/runtime has a file of this name
sh "$scripts/names.sh" "$scratch" >"$scratch/said" && status=1
for text in 'not in tickwheel::timers' 'durable/src/turn.cpp'; do
    grep -qF "$text" "$scratch/said" && continue
    echo "names.sh did not say: $text"
    status=1
done

refuses_object 'no memory function' 'extern "C" void *malloc(unsigned long); void *tw_a = malloc(1);'
refuses_object 'no memory function' 'void tw_a() { throw 1; }'
refuses_object 'no memory function' 'int *tw_a() { return new int; }'
refuses_object 'writable' 'extern "C" { int tw_a = 1; }'
refuses_object 'writable' 'extern "C" int tw_a() { static int calls; return ++calls; }'
refuses_object 'before main' 'extern "C" int puts(const char *); static int tw_a = puts("");'
refuses_object 'not the API' 'extern "C" void helper() {}'
exit $status
