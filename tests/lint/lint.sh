#!/usr/bin/env bash
# lint.sh BUILD [--fix]: formatting, static analysis, contracts of locks, MISRA C, and each header on its own
# in every language that it promises. BUILD is configured by ./dev lint, and has the
# compile commands and config.h. --fix formats the sources first. Run it by ./dev lint.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

build=$1
fix=${2:-}
deviations=tests/lint/deviations.txt
config=$build/tickwheel-config
simulated=boards/tests/kernels # the headers of kernels
kernels=("-I$simulated/freertos/kernel/include" "-I$simulated/freertos/host" "-I$simulated/zephyr/include")
failures=()

# A config.h for code that needs ticks of 32 bits.
short=$build/short-config
mkdir -p "$short/tickwheel"
sed -E 's/(TW_TICK_BITS) 64/\1 32/; s/(TW_RUNTIME) 1/\1 0/' "$config/tickwheel/config.h" >"$short/tickwheel/config.h"

# A config.h for the core with the tree.
tree=$build/tree-config
mkdir -p "$tree/tickwheel"
sed -E 's/(TW_TREE) 0/\1 1/; s/(TW_RUNTIME) 1/\1 0/' "$config/tickwheel/config.h" >"$tree/tickwheel/config.h"

# check NAME COMMAND [ARGUMENT...]: runs one check and records its failure.
check() {
    local name=$1
    shift
    echo "lint: $name"
    "$@" || failures+=("$name")
}

# sources EXTENSION... in PLACE...: the files, separated by null bytes.
sources() {
    local extensions=()
    while [ "$1" != in ]; do
        extensions+=(-o -name "*.$1")
        shift
    done
    shift
    find "$@" -type f \( "${extensions[@]:1}" \) -print0 | sort -z
}

all_sources() {
    sources c h cpp hpp in include src drivers calendar durable boards tests bench examples adopt toolchains tools
    sources cpp hpp in python/src | grep -zv '/tickwheel\.' # the library in two files, where setup.py has written them
}

formatting() {
    [ "$fix" != --fix ] || all_sources | xargs -0 clang-format -i
    all_sources | xargs -0 clang-format --dry-run -Werror
}

prose() { sh tests/lint/prose.sh; }

# without_counts COMMAND...: runs clang-tidy without its "123 warnings generated" lines.
without_counts() { "$@" 2> >(grep -v 'generated\.$' >&2); }

# Sources for this machine: clang-tidy takes the flags from the compile commands. We leave out the README's
# C++ program, which is too short to catch exceptions.
tidy() {
    sources c cpp in src drivers calendar/src durable/{src,stores,tools,examples} examples tools | grep -zvE '/first\.cpp$' |
        without_counts xargs -0 -n 1 -P "$(nproc)" clang-tidy -p "$build" --quiet
}

# The core with the tree: the compile commands are those of slots.
tidy_tree() {
    without_counts clang-tidy --quiet src/core/c_api.cpp -- -std=c++17 -ffreestanding -fno-exceptions \
        -Iinclude -Isrc "-I$tree" "-DTW_PORT_HEADER=\"$PWD/src/ports/none/port.h\""
}

# Sources for boards only, as a compiler for a board of each family sees them.
tidy_boards() {
    local machines=boards/machines arm riscv
    local flags=(-std=c11 -ffreestanding -DTW_OWN_WAIT -DTW_SLEEP_HOOKS -Iinclude -Iboards/include "-I$config" "-I$machines")
    mapfile -d '' arm < <(sources c in boards/{common,cortexm,examples} $machines | grep -zvE '/riscv/|tiny')
    mapfile -d '' riscv < <(sources c in boards/riscv $machines/riscv)
    without_counts clang-tidy --quiet "${arm[@]}" -- --target=thumbv7m-none-eabi "${flags[@]}" -I$machines/mps2-an385 &&
        without_counts clang-tidy --quiet boards/examples/tiny.c -- --target=thumbv7m-none-eabi "-I$tree" "${flags[@]}" \
            -I$machines/mps2-an385 &&
        without_counts clang-tidy --quiet "${riscv[@]}" -- --target=riscv32 -march=rv32imac "${flags[@]}" -I$machines/virt
}

# Adapters to kernels, with the headers of the kernels that the tests simulate.
tidy_kernels() {
    local flags=(-std=c99 -Iinclude -Iboards/include "${kernels[@]}")
    without_counts clang-tidy --quiet boards/{freertos,zephyr}/timers.c -- "${flags[@]}" "-I$short" &&
        without_counts clang-tidy --quiet boards/zephyr/timers.c -- "${flags[@]}" "-I$config"
}

# Contracts of locks (src/base/thread_safety.hpp): clang finds all breaches in a sample, and none in the sources.
# The compile commands are those of the checking build, which has all code that takes locks, except the core
# with the tree.
lock_contracts() {
    local sample=tests/lint/lock_breaches.cpp
    local clang=(clang++ -std=c++20 -fsyntax-only -Werror=thread-safety -Iinclude -Isrc -DTW_CHECK
        "-DTW_PORT_HEADER=\"$PWD/src/ports/linux/port.h\"")
    diff -U 0 --label "lines of $sample to refuse" --label "lines refused" \
        <(grep -n '// refused$' $sample | cut -d : -f 1) \
        <("${clang[@]}" "-I$config" $sample 2>&1 | sed -nE "s|^$sample:([0-9]+):.* error: .*|\1|p" | sort -nu) >&2 &&
        sources cpp in src drivers |
        xargs -0 -n 1 -P "$(nproc)" "${clang[@]}" "-I$config" &&
        "${clang[@]}" "-I$tree" src/core/c_api.cpp
}

# uninitMemberVar is off in the core: cppcheck does not follow the calls that set rings and lock.
bugs() {
    cppcheck --quiet -j "$(nproc)" --error-exitcode=1 --inline-suppr --enable=warning,performance,portability \
        --suppress=missingIncludeSystem "--suppress=uninitMemberVar:src/core/*" \
        -Iinclude -Icalendar/include -Idurable -Idurable/include -Iboards/include -Isrc "-I$config" "-DTW_PORT_HEADER=\"$PWD/src/ports/linux/port.h\"" \
        src drivers calendar/src durable/{src,stores,tools,examples} boards/{common,cortexm,riscv} examples tools &&
        cppcheck --quiet --error-exitcode=1 --enable=warning,performance,portability --suppress=missingIncludeSystem \
            -Iinclude -Iboards/include "-I$short" "${kernels[@]}" boards/{freertos,zephyr}
}

# Breaches of MISRA C in firmware code other than the core, as rule:file:line. cppcheck sees each source on
# its own, with the port of its boards or its kernel, as in a program.
misra_findings() {
    local port source folders
    while read -r port source; do
        printf '#define TW_PORT_HEADER <%s/port.h>\n#include <tickwheel/tw.h>\n#include <tickwheel/port.h>\n' \
            "$port" >"$build/port.c"
        folders=("-I$config")
        [[ $source != */timers.c ]] || folders=("-I$short" "${kernels[@]}")
        cppcheck --quiet --addon=misra --enable=style --template='{id}:{file}:{line}' -Iinclude -Iboards/include -I. \
            "${folders[@]}" ${source:+"$source"} "$build/port.c" 2>&1
    done < <(printf '%s\n' "boards/cortexm boards/cortexm/systick.c" "boards/cortexm boards/common/lptimer.c" \
        "boards/riscv boards/riscv/mtime.c" "boards/freertos boards/freertos/timers.c" \
        "boards/zephyr boards/zephyr/timers.c" src/ports/none) | grep -vE ":(boards/tests|$build)/" | sort -u
}

# Findings and deviations.txt agree, rule by rule and file by file.
misra() {
    misra_findings >"$build/misra.txt"
    diff -U 0 --label $deviations --label found <(grep -v '^#' $deviations | sort) \
        <(sed -E 's/:[0-9]+$//' "$build/misra.txt" | sort -u) >&2 && return
    echo "lint: the lines of all findings are in $build/misra.txt" >&2
    return 1
}

# Each rule that is off has a row in docs/DEVIATIONS.md, and each row there is a rule that is off.
rules_have_reasons() {
    diff -U 0 --label "rules that are off" --label docs/DEVIATIONS.md <({
        grep -oE '^misra-c2012-[0-9.]+' $deviations
        sed -nE 's/^ +-((bugprone|cert|hicpp|cppcoreguidelines)-[a-z0-9-]+[^*]),$/\1/p' .clang-tidy src/core/.clang-tidy
    } | sort -u) <(sed -nE 's/^\| `([a-z0-9.-]+)` .*/\1/p' docs/DEVIATIONS.md | sort -u) >&2
}

shell() {
    { printf '%s\0' dev .ci/run && sources sh in adopt bench boards durable examples packaging tests toolchains tools; } |
        xargs -0 shellcheck --severity=warning
}

# compiled HEADER COMPILER STANDARD: compiles the header on its own.
compiled() {
    local language=c
    [[ $3 != c++* ]] || language=c++
    printf '#include <%s>\nextern int something;\n' "${1##*include/}" | "$2" -x $language "-std=$3" "@$build/flags" - 2>&1
}

# alone HEADER COMPILER STANDARD: the header compiles.
alone() { compiled "$@" || { echo "lint: $1 does not compile alone: $2 -std=$3" && return 1; }; }

# too_old HEADER COMPILER STANDARD: the only error is the header's message that it needs C++20.
too_old() {
    local said
    said=$(compiled "$@" | grep -E '(error|warning|note):')
    [[ $said != *$'\n'* && $said = *'error: '*'need C++20'* ]] || { echo "lint: $1 in $3 says: $said" && return 1; }
}

# Each C header compiles on its own, with both compilers, in each language that it promises; C++ headers in C++20. The
# adapters in loops/ need other libraries; examples/loops compiles them in C99 and in C++20.
headers() {
    local header standard
    printf '%s\n' -Wall -Wextra -Wpedantic -Werror -fsyntax-only -Iinclude -Icalendar/include -Idurable/include \
        -Iboards/include -Itests/support/senders "-I$config" "${kernels[@]}" \
        "-DTW_PORT_HEADER=\"$PWD/src/ports/none/port.h\"" | sed 's/"/\\"/g' >"$build/flags"
    export -f compiled alone too_old
    export build
    while IFS= read -r -d '' header; do
        if [[ $header = *.hpp ]]; then
            printf '%s\n' "alone $header gcc c++20" "too_old $header gcc c++11" "too_old $header gcc c++17"
            continue
        fi
        for standard in c99 c11 c17 c++11 c++14 c++20; do
            printf '%s\n' "alone $header gcc $standard" "alone $header clang $standard"
        done
    done < <(sources h hpp in include calendar/include durable/include boards/include | grep -zv /loops/) |
        xargs -P "$(nproc)" -L 1 bash -c '"$@"' lint >&2
}

# The bench compiles, except for the parts that need the libraries of others. Only the nightly run builds all of it.
bench() {
    sources cpp in bench durable/bench | grep -zvE '/(asio|glib|heap4|libev|libevent|libuv)\.cpp$' |
        xargs -0 -n 1 -P "$(nproc)" g++ -std=c++20 -fsyntax-only -Iinclude -Isrc -Icalendar/include -Idurable/include -Ibench \
            "-I$config" "-DTW_PORT_HEADER=\"$PWD/src/ports/linux/port.h\"" -DBENCH_WHEEL_FLAGS=0 -DBENCH_TICK_NS=1000000 \
            -DBENCH_SCAN=1 -DBENCH_LANES=1 '-DBENCH_DRIVER="epoll"' >&2
}

# Each header is in a header set, so that CMake installs it; except port.h, the header for Zephyr, whose build takes it
# from this tree, and the folder of loops, which is installed as a whole.
header_sets() {
    local header sets failed=0
    while IFS= read -r -d '' header; do
        sets=cmake/TickwheelHeaders.cmake
        [[ $header != boards/* ]] || sets=boards/boards.cmake
        header=${header#*include/tickwheel/}
        [[ $header = port.h || $header = zephyr/* || $header = loops/* ]] ||
            grep -qE "(^|[ /])$header([ )]|\$)" $sets || {
            echo "lint: $header is missing in $sets" >&2
            failed=1
        }
    done < <(sources h hpp in include calendar/include boards/include)
    return $failed
}

check "formatting (clang-format)" formatting
check "prose" prose
check "clang-tidy" tidy
check "clang-tidy, tree" tidy_tree
check "clang-tidy, boards" tidy_boards
check "clang-tidy, kernels" tidy_kernels
check "contracts of locks" lock_contracts
check "cppcheck" bugs
check "cppcheck, MISRA C" misra
check "reasons for rules that are off" rules_have_reasons
check "shellcheck" shell
check "headers in every language" headers
check "headers in sets" header_sets
check "bench" bench

[ ${#failures[@]} -eq 0 ] && exit 0
printf 'lint: FAILED: %s\n' "${failures[@]}" >&2
exit 1
