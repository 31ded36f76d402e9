#!/bin/sh
# own_port.sh SOURCE SCRATCH GENERATOR CC CXX: builds the library apart from the user's project, for a board
# with a toolchain file and a port header of the user's own, which includes others.
set -eu
source=$1 scratch=$2 generator=$3 cc=$4 cxx=$5
rm -rf "$scratch"
mkdir -p "$scratch/kernel" "$scratch/a board"

cat >"$scratch/toolchain.cmake" <<END
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR of_the_user)
set(CMAKE_C_COMPILER "$cc")
set(CMAKE_CXX_COMPILER "$cxx")
set(CMAKE_C_FLAGS_INIT -DFLAG_OF_TOOLCHAIN)
set(CMAKE_CXX_FLAGS_INIT -DFLAG_OF_TOOLCHAIN)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
END
cat >"$scratch/port.h" <<'END'
#include <critical.h>
#include <registers.h>
#ifndef FLAG_OF_TOOLCHAIN
#error "the flags of the toolchain file are lost"
#endif
#define TW_PORT_ONE_THREAD
static inline void tw_port_lock_init(uint32_t *word) { *word = UNLOCKED; }
static inline void tw_port_lock(uint32_t *word) { *word = enter_critical(); }
static inline void tw_port_unlock(uint32_t *word) { leave_critical(*word); }
END
printf '#define UNLOCKED 0u\n' >"$scratch/a board/registers.h"
printf 'static inline uint32_t enter_critical(void) { return 1; }\nstatic inline void leave_critical(uint32_t) {}\n' \
    >"$scratch/kernel/critical.h"

# configure BUILD ARGUMENT...
configure() {
    build=$scratch/$1
    shift
    cmake -G "$generator" -S "$source" -B "$build" --toolchain "$scratch/toolchain.cmake" -DTW_PORT="$scratch/port.h" \
        -DCMAKE_BUILD_TYPE=MinSizeRel "$@" >"$scratch/log" 2>&1
}

failed() {
    echo "$1"
    cat "$scratch/log"
    exit 1
}

configure with -DTW_PORT_INCLUDES="$scratch/kernel;$scratch/a board" || failed "does not configure"
cmake --build "$scratch/with" >"$scratch/log" 2>&1 || failed "does not build"
test -e "$scratch/with/libtickwheel.a"

configure without || failed "does not configure without the folders"
if cmake --build "$scratch/without" >"$scratch/log" 2>&1; then
    failed "found the port's headers without being told where they are"
fi
if configure wrong -DTW_PORT_INCLUDES="$scratch/kernel;$scratch/no_such_folder"; then
    failed "accepted a folder that is not there"
fi
grep -q "no_such_folder" "$scratch/log" || failed "did not name the folder that is not there"
