#!/usr/bin/env bash
# measure.sh FOLDER: builds the library with its engines, for this machine and for boards, prints the sizes of
# each build, and fails if a size exceeds tests/size/limits.txt.
set -euo pipefail
folder=$1
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
here=$root/tests/size
mkdir -p "$folder"
over=() above=() compared=0
rm -f "$folder/rows"

die() {
    echo "$*" >&2
    exit 1
}

folder_of() { echo "$folder/${1// /-}"; }

# build NAME CROSS "FLAGS" CMAKE_ARGUMENT...
build() {
    local directory
    directory=$(folder_of "$1")
    shift 3
    if ! { cmake -S "$root" -B "$directory" -G Ninja -DCMAKE_BUILD_TYPE=MinSizeRel -DBUILD_SHARED_LIBS=OFF \
        -DTW_BUILD= -DCMAKE_EXPORT_COMPILE_COMMANDS=ON "$@" &&
        cmake --build "$directory" --target tickwheel; } >"$directory.log" 2>&1; then
        cat "$directory.log" >&2
        die "the build in $directory failed; see above"
    fi
}

# begin NAME CROSS "FLAGS" CMAKE_ARGUMENT...: builds in the background, at most one build for each processor.
begin() {
    [ "$(jobs -rp | wc -l)" -lt "$(nproc)" ] || wait -n
    build "$@" &
}

# Code and constants that a link keeps for these functions, compiler helpers included.
linked() { # DIRECTORY CROSS "FLAGS" FUNCTION...
    local directory=$1 cross=$2 flags=$3 roots=()
    shift 3
    roots=("${@/#/-Wl,-u,}")
    # shellcheck disable=SC2086
    "${cross}gcc" $flags -nostdlib -Wl,--gc-sections -Wl,-e,tw_init "${roots[@]}" \
        -Wl,--defsym=memset=0,--defsym=memcpy=0 "$directory/libtickwheel.a" -lgcc -o "$directory/linked.elf"
    "${cross}size" -A "$directory/linked.elf" | awk '/^\.(text|rodata|ARM\.exidx)/ { sum += $2 } END { print sum }'
}

# Code and constants of the whole archive: for this machine, where programs rarely link by
# sections.
archived() { # DIRECTORY
    size -A "$1/libtickwheel.a" | awk '/^\.(text|rodata)/ { sum += $2 } END { print sum }'
}

# Measures an object of the struct's size in the symbol table, because a board's program cannot
# run here.
struct_size() { # DIRECTORY CROSS "FLAGS" STRUCT
    printf '#include <tickwheel/tw.h>\nchar it[sizeof(struct %s)];\n' "$4" >"$1/$4.c"
    # shellcheck disable=SC2086
    "${2}gcc" $3 -I"$root/include" -I"$1/tickwheel-config" -ffreestanding -fno-common -c -o "$1/$4.o" "$1/$4.c"
    echo $((16#$("${2}nm" -S "$1/$4.o" | awk '$4 == "it" { print $2 }')))
}

# Measures stack use with the compiler's call graph, from the command that built the library.
stack() { # DIRECTORY CROSS
    local command advance
    command=$(sed -n 's/^ *"command": "\(.*c_api.*\)",*$/\1/p' "$1/compile_commands.json" | sed 's/\\"/"/g; s/\\\\/\\/g')
    (cd "$1" && eval "${command/ -o / -fcallgraph-info=su -o }")
    advance=$("${2}nm" "$1/libtickwheel.a" | awk '/ T tw_advance_/ { print $3 }')
    awk -v root="$advance" -v by_pointer="$("${2}nm" "$1/libtickwheel.a" | awk '/rearm_in_/ { print $3 }')" \
        -f "$here/stack.awk" "$(find "$1" -name '*.ci' -print -quit)"
}

# The code of all functions but the checker.
all_of() { # DIRECTORY CROSS "FLAGS"
    local functions
    mapfile -t functions < <("${2}nm" "$1/libtickwheel.a" | awk '$2 == "T" && $3 != "tw_check" { print $3 }')
    linked "$1" "$2" "$3" "${functions[@]}"
}

# cell ROW FIGURE VALUE: adds the value to the printed row, and compares it with its limit
cell() {
    local limit should=""
    limit=$(sed -n "s/^$1 $2: //p" "$here/limits.txt")
    [[ $limit != *" should be "* ]] || should=${limit##* }
    limit=${limit%% *}
    line+=$(printf ' %8s' "$3")
    [ -z "$limit" ] || compared=$((compared + 1))
    if [ -n "$limit" ] && [ "$3" -gt "$limit" ]; then
        over+=("$1 $2: $3, at most $limit")
    elif [ -n "$should" ] && [ "$3" -gt "$should" ]; then
        above+=("$1 $2: $3, should be at most $should")
    fi
}

# row NAME CROSS "FLAGS" CMAKE_ARGUMENT...: measures what was built.
row() {
    local name=$1 cross=$2 flags=$3 directory line
    directory=$(folder_of "$name")
    line=$(printf '%-40s' "$name")
    if [ -n "$cross" ]; then
        cell "$name" code "$(all_of "$directory" "$cross" "$flags")"
        cell "$name" minimal "$(linked "$directory" "$cross" "$flags" tw_init tw_node_init tw_arm_after tw_cancel tw_advance)"
    else
        cell "$name" code "$(archived "$directory")"
        line+=$(printf ' %8s' -)
    fi
    cell "$name" node "$(struct_size "$directory" "$cross" "$flags" tw_node)"
    cell "$name" wheel "$(struct_size "$directory" "$cross" "$flags" tw)"
    if [ -n "$cross" ]; then
        cell "$name" stack "$(stack "$directory" "$cross")"
    fi
    echo "$line" | tee -a "$folder/rows"
}

# board ACTION CPU NAME CMAKE_ARGUMENT...
board() {
    local action=$1 cpu=$2 name="$2 $3"
    shift 3
    case $cpu in
    riscv32) "$action" "$name" riscv64-unknown-elf- "-march=rv32imac -misa-spec=2.2 -mabi=ilp32" \
        --toolchain "$root/toolchains/riscv32-none-elf.cmake" "$@" ;;
    *) "$action" "$name" arm-none-eabi- "-mcpu=$cpu -mthumb" \
        --toolchain "$root/toolchains/arm-none-eabi.cmake" "-DTW_CPU=$cpu" "$@" ;;
    esac
}

# each ACTION: performs the action, begin or row, for all libraries.
each() {
    local cpu
    "$1" "host wheel with the runtime" "" ""
    "$1" "host wheel" "" "" -DTW_RUNTIME=OFF
    for cpu in cortex-m3 cortex-m0 riscv32; do
        board "$1" $cpu "wheel" -DTW_ENGINE=wheel
        board "$1" $cpu "tree" -DTW_ENGINE=tree
        board "$1" $cpu "tree32" -DTW_ENGINE=tree32
    done
    board "$1" cortex-m3 "tree small" -DTW_ENGINE=tree -DTW_SMALL=ON
    board "$1" cortex-m3 "tree32 smallest" -DTW_ENGINE=tree32 -DTW_SMALL=ON -DTW_VALIDATION=OFF
}

each begin
while [ -n "$(jobs -p)" ]; do
    wait -n
done
echo "code: all but tw_check. minimal: init, arm, cancel and advance alone. stack: tw_advance and all it calls."
echo "small: TW_SMALL. smallest: without validation, too."
printf '%-40s %8s %8s %8s %8s %8s\n' "bytes at -Os" code minimal node wheel stack
each row

[ ${#above[@]} -eq 0 ] || { echo && printf '%s\n' "${above[@]}"; }
[ "$compared" -eq "$(grep -c '^[^#]' "$here/limits.txt")" ] || die "limits.txt has a limit that is no figure's"
[ ${#over[@]} -eq 0 ] || { echo && printf 'beyond its limit: %s\n' "${over[@]}" && exit 1; }
