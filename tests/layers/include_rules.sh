#!/bin/sh
# include_rules.sh ROOT: who may include whom. Prints each include that breaks a rule.
#
#   src/core   its own files, tw.h and port.h, and headers of a freestanding C++
#   drivers    their own folder, port.h, driver.h and the system's headers;
#              those of bare metal, cortexm and riscv: their own folder, <stdint.h> and <stdbool.h>
#   runtime    its own files, public headers of the C interface, the system's headers
#   include    public headers and <stdint.h>, <stddef.h>; C++ ones, standard headers too
set -u
root=$1
core_headers='<(tickwheel/(tw|port)\.h|cstdint|cstddef|bit|type_traits|limits|new|concepts)>'

# includes_in FOLDER PATTERN: "file:line:what is included", comments and spaces removed
includes_in() {
    find "$root/$1" -type f -name "$2" -exec grep -HnE '^[[:space:]]*#[[:space:]]*include' {} + |
        sed -E 's/#[[:space:]]*include[[:space:]]*//; s/([\">])[[:space:]]*(\/\/|\/\*).*/\1/; s/:[[:space:]]+/:/g'
}

# Prints what is "quoted" and does not stand in the folder of the file itself.
strangers() {
    while IFS=: read -r file line what; do
        name=${what#\"}
        name=${name%\"}
        case $name in
        */*) echo "$file:$line:$what" ;;
        *) [ -f "$(dirname "$file")/$name" ] || echo "$file:$line:$what" ;;
        esac
    done
}

core_breaks() {
    includes_in src/core '*' | grep -vE ":($core_headers|\".*\")$"
    includes_in src/core '*' | grep -E ':".*"$' | strangers
}

driver_breaks() {
    includes_in drivers '*.[ch]*' | grep -E ':<(tickwheel/|core/|runtime/|.*\.\./)' |
        grep -vE ':<tickwheel/(port|driver)\.h>$'
    includes_in drivers '*.[ch]*' | grep -E ':".*"$' | strangers
    includes_in drivers '*.[ch]*' | grep -E 'drivers/(cortexm|riscv)/' | grep -E ':<' | grep -vE ':<std(int|bool)\.h>$'
}

runtime_breaks() {
    includes_in src/runtime '*' | grep -E ':<(tickwheel/|.*\.\./)' |
        grep -vE ':<tickwheel/(runtime|workers|task|handle|keyed|driver|tw|port)\.h>$'
    includes_in src/runtime '*' | grep -E ':".*"$' | strangers
}

public_breaks() {
    includes_in include '*.h' |
        grep -vE ':(<(tickwheel/[a-z_]+\.h|stdint\.h|stddef\.h)>|TW_PORT_HEADER)$'
    includes_in include '*.hpp' |
        grep -vE ':<(tickwheel/[a-z_]+\.h(pp)?|[a-z_]+)>$'
}

breaks=$(core_breaks; driver_breaks; runtime_breaks; public_breaks)
[ -z "$breaks" ] && exit 0
echo "These includes break the layer rules:"
echo "$breaks"
exit 1
