#!/bin/sh
# amalgamated.sh PYTHON SOURCE SCRATCH: the output of ./dev amalgamate compiles without a warning, with each
# compiler that is installed and for each engine, with no flag but the standard; a program in C links with the
# object without a C++ library, and runs; files with other settings than the object's do not link. With the
# runtime, the object defines every function of the shared library's map.
set -eu
python=$1 source=$2 scratch=$3
strict="-Wall -Wextra -Wpedantic -Wshadow -Wundef -Wconversion -Werror"
rm -rf "$scratch"
mkdir -p "$scratch"
"$python" -B "$source/packaging/amalgamate/amalgamate.py" "$scratch"
here=$source/tests/packaging/amalgamated
cp "$here"/*.[ch]* "$scratch"
sed -n 's/^ *\(tw_[a-z_]*\);.*/\1/p' "$source/src/tickwheel.map" | sort >"$scratch/map"
test -s "$scratch/map"
cd "$scratch"

# there COMPILER FLAGS...: true if this compiler makes programs of this kind.
there() {
    if command -v "$1" >/dev/null && echo '#include <stdint.h>' | "$@" -x c -c -o there.o - 2>/dev/null; then
        return 0
    fi
    echo "left out, as it is not here: $*"
    return 1
}

# compiles COMPILER FLAGS...: compiles without a warning.
compiles() {
    echo "$*"
    # shellcheck disable=SC2086
    "$@" $strict -c tickwheel.cpp -o tickwheel.o
}

# wheel_compiles COMPILER FLAGS...: the same, and the object needs only two functions of a C library.
wheel_compiles() {
    compiles "$@"
    if nm -u tickwheel.o | grep -vE ' (memcpy|memset|_GLOBAL_OFFSET_TABLE_|__x86\.get_pc_thunk\.[a-z]+)$'; then
        echo "the object needs this"
        exit 1
    fi
}

# wheel_runs C_COMPILER C++_COMPILER STANDARD SETTINGS...: the program in C runs when the C compiler links it.
wheel_runs() {
    cc=$1 cxx=$2 standard=$3
    shift 3
    wheel_compiles "$cxx" "-std=$standard" "$@"
    # shellcheck disable=SC2086
    "$cc" -std=c99 $strict "$@" wheel.c tickwheel.o -o wheel
    ./wheel
}

# runtime_runs C_COMPILER C++_COMPILER FLAGS...: the programs in C and in C++ run with the runtime.
runtime_runs() {
    cc=$1 cxx=$2
    shift 2
    compiles "$cxx" -std=c++20 -fno-exceptions "$@"
    nm --defined-only tickwheel.o | sed -n 's/.* T //p' | sort >defined
    if comm -13 defined map | grep .; then
        echo "the two files lack these functions"
        exit 1
    fi
    # shellcheck disable=SC2086
    "$cc" -std=c99 $strict "$@" runtime.c tickwheel.o -pthread -o runtime
    ./runtime
    "$cxx" -std=c++20 -Wall -Wextra -Werror "$@" runtime.cpp tickwheel.o -pthread -o runtime_cpp
    ./runtime_cpp
}

for pair in "gcc g++" "clang clang++"; do
    cc=${pair% *} cxx=${pair#* }
    there "$cxx" || continue
    runtime_runs "$cc" "$cxx"
    wheel_runs "$cc" "$cxx" c++17 -DTW_RUNTIME=0
    if "$cc" -DTW_TREE=1 wheel.c tickwheel.o -o wheel 2>/dev/null; then
        echo "a program with the tree linked with an object with the wheel"
        exit 1
    fi
    wheel_runs "$cc" "$cxx" c++17 -O2 -DTW_TREE=1
    wheel_runs "$cc" "$cxx" c++20 -Os -DTW_TREE=1 -DTW_TICK_BITS=32 -DTW_SMALL=1 -DTW_VALIDATION=0 -DNDEBUG
done
if there gcc -m32; then
    wheel_runs gcc g++ c++17 -m32 -O2 -DTW_RUNTIME=0
    runtime_runs gcc g++ -m32
fi

# Headers of the repository that are not in the files include others that are; these must not be read again.
echo '#include <tickwheel/senders.hpp>' >senders.cpp
g++ -std=c++20 -Wall -Wextra -Werror -fsyntax-only -include tickwheel.hpp "-I$source/include" \
    "-I$source/tests/support/senders" senders.cpp

# refused HINT FLAGS... FILE: the compiler prints one error, which has the hint.
refused() {
    hint=$1
    shift
    if g++ "$@" -fsyntax-only 2>said || ! grep -q "error:.*$hint" said || [ "$(grep -c error: said)" -ne 1 ]; then
        echo "compiled, or not with one error that names $hint: $*"
        exit 1
    fi
}

# The mistakes that a user makes on Linux.
refused DTW_RUNTIME=0 -std=c++17 -fno-exceptions tickwheel.cpp
refused DTW_RUNTIME=0 -std=c++20 tickwheel.cpp
refused DTW_RUNTIME=0 -std=c++20 -fno-exceptions -DTW_PORT_NONE tickwheel.cpp
refused TW_RUNTIME=0 -std=c++20 -DTW_RUNTIME=0 -x c++ tickwheel.hpp

# A board, whose defaults are the tree, and a lock that masks interrupts.
if there arm-none-eabi-g++ -mcpu=cortex-m0 -mthumb; then
    # shellcheck disable=SC2086
    arm-none-eabi-g++ -std=c++17 -mcpu=cortex-m0 -mthumb -ffreestanding -fno-exceptions -fno-rtti -Os $strict \
        -c tickwheel.cpp -o board.o
    arm-none-eabi-nm board.o | grep -q "tw_init_tree_ticks64"
    arm-none-eabi-objdump -d board.o | grep -q "cpsid"
fi

# The user's own lock.
printf 'extern int locked;\n#define TW_PORT_ONE_THREAD\n' >port.h
for function in lock_init lock unlock; do
    echo "static inline void tw_port_$function(uint32_t *word) { *word = (uint32_t)locked; }" >>port.h
done
g++ -std=c++17 $strict -DTW_RUNTIME=0 '-DTW_PORT_HEADER="port.h"' -c tickwheel.cpp -o ported.o
nm -u ported.o | grep -q locked
