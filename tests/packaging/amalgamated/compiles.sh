#!/bin/sh
# compiles.sh FOLDER: tickwheel.c compiles without a warning, as C and as C++, by each compiler that is
# here, at many settings; and files with other settings than its own do not link with it.
set -eu
folder=$1
scratch=$folder/compiled
strict="-Wall -Wextra -Wpedantic -Wshadow -Werror"
without=
for feature in VALIDATION OWNER_CHECK WINDOWS PERIODIC POLICIES OVERRUNS BUDGET CLEAR LOCK_CHOICE; do
    without="$without -DTW_$feature=0"
done
compiled=0
rm -rf "$scratch"
mkdir -p "$scratch"

# compile COMPILER FLAGS...
compile() {
    if ! "$@" -c "$folder/tickwheel.c" -o "$scratch/tickwheel.o" 2>"$scratch/log"; then
        echo "does not compile: $*"
        cat "$scratch/log"
        exit 1
    fi
    compiled=$((compiled + 1))
}

# at_settings COMPILER FLAGS...: each branch that a setting chooses
at_settings() {
    compile "$@" $strict
    compile "$@" $strict -DTW_RUNTIME=1 -DNDEBUG
    compile "$@" $strict -DTW_TREE=1 -DNDEBUG
    compile "$@" $strict $without -DTW_TREE=1 -DTW_TICK_BITS=32
    compile "$@" $strict $without
    compile "$@" $strict -DTW_BITS=5 -DTW_LOOKAHEAD=0
    compile "$@" $strict -DTW_TICK_BITS=32 -DTW_LEVELS=1
    compile "$@" $strict -DTW_TICK_BITS=32 -DTW_BITS=6 -DTW_LEVELS=5 -DTW_LOOKAHEAD=0 -DTW_PORT_HEADER="\"$scratch/port.h\""
}

# there COMPILER FLAGS...: true if this compiler makes programs of this kind
there() {
    if command -v "$1" >/dev/null && echo '#include <stdint.h>' | "$@" -x c -c -o "$scratch/there.o" - 2>/dev/null; then
        return 0
    fi
    echo "left out, as it is not here: $*"
    return 1
}

cat >"$scratch/port.h" <<'END'
#define TW_PORT_ONE_THREAD
static inline void tw_port_lock_init(uint32_t *word) { *word = 0; }
static inline void tw_port_lock(uint32_t *word) { *word = 1; }
static inline void tw_port_unlock(uint32_t *word) { *word = 0; }
END

if there gcc; then
    at_settings gcc -std=c99 -O1
    at_settings gcc -std=c11 -Os
    at_settings g++ -x c++ -std=c++11
    at_settings g++ -x c++ -std=c++20 -Os
fi
if there clang; then
    at_settings clang -std=c99 -Os
    at_settings clang++ -x c++ -std=c++17
fi
if there gcc -m32; then at_settings gcc -m32 -std=c99; fi
if there arm-none-eabi-gcc -mcpu=cortex-m0 -mthumb; then
    at_settings arm-none-eabi-gcc -mcpu=cortex-m0 -mthumb -ffreestanding -Os -std=c99
fi

# Every combination of look-ahead and a few geometries, for the sizes that are checked as it compiles.
for lookahead in 0 1; do
    for bits in 1 3 8; do
        for levels in 1 2 6; do
            compile gcc -std=c11 -fsyntax-only -DTW_BITS=$bits -DTW_LEVELS=$levels -DTW_LOOKAHEAD=$lookahead
        done
    done
done

# does_not_link SETTINGS OTHERS: a program whose files disagree does not link; nor if its wheel is declared, and
# nothing initialises it.
does_not_link() {
    gcc -std=c99 -c "$1" "$folder/tickwheel.c" -o "$scratch/tickwheel.o"
    gcc -std=c99 -I"$folder" "$1" "$scratch/main.c" "$scratch/tickwheel.o" -o "$scratch/main"
    "$scratch/main"
    # shellcheck disable=SC2086
    if gcc -std=c99 -I"$folder" $2 "$scratch/main.c" "$scratch/tickwheel.o" -o "$scratch/main" 2>/dev/null; then
        echo "linked with $2 and a tickwheel.c with $1"
        exit 1
    fi
}
printf '#include "tickwheel.h"\nint main(void) { struct tw wheel; return tw_init(&wheel, 0, 0); }\n' >"$scratch/main.c"
does_not_link -DTW_BITS=8 -DTW_BITS=5
does_not_link -DTW_BITS=8 -DTW_TREE=1
printf '#include "tickwheel.h"\nstatic struct tw wheel = TW_WHEEL(wheel);\nint main(void) { return %s; }\n' \
    'tw_advance(&wheel, 1, TW_UNBOUNDED)' >"$scratch/main.c"
does_not_link -DTW_TREE=1 "-DTW_TREE=1 -DTW_TICK_BITS=32"
sed -i 's/tw_advance(.*BOUNDED)/tw_update(\&wheel)/' "$scratch/main.c"
does_not_link -DTW_TREE=1 "-DTW_TREE=1 -DTW_TICK_BITS=32"
echo "compiled $compiled times"
