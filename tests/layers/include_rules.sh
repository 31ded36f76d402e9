#!/bin/sh
# include_rules.sh ROOT: who may include whom. Prints each include that breaks a rule.
#
#   src/base      its own files, and the system's headers; the two files that the core uses, nothing
#   src/core      its own files, base/numbers.hpp and base/thread_safety.hpp, tw.h and port.h, and headers of a
#                 freestanding C++
#   src/ports     their own folder, src/base, port.h and the system's headers; on Linux the hooks of src/check
#   src/check     its own files, src/base, tw.h and port.h, and the system's headers
#   src/runtime   its own files, src/base, public headers of the C interface, and the system's headers; of src/core door.h
#   src/workers   its own files, src/runtime, public headers of the C interface, and the system's headers
#   src/timers    the same, and src/workers; of src/core what $core_for_timers names
#   src/observe   the same, and src/runtime, src/workers, src/timers
#   durable       its own files, src/base, public headers of the C interface, calendar.h, and standard and system's
#                 headers; the stores also those of their database
#   calendar      its own files, calendar.h, driver.h, and standard and system's headers
#   tools         public headers, src/base, src/observe, and the headers of C++
#   python/src    its own files, the library in two files, durable.h, and the headers of Python and the system
#   drivers       their own folder, src/base, src/ports/linux, port.h, driver.h and the system's headers
#   boards        ports: port.h, public headers of their board or kernel, the kernel's and the system's headers
#                 clocks: public headers of their board, <stdint.h> and <stdbool.h>
#                 adapters to kernels: public headers of their kernel, and <stdbool.h>
#   include, calendar/include, durable/include, boards/include
#                 public headers, <stdint.h> and <stddef.h>; C++ ones, standard headers too; those of a kernel,
#                 the kernel's; in loops/, runtime.h and the headers of the loop; senders.hpp, stdexec
#
# A file names those of its own room by "name" and those of another room by "room/name".
set -u
root=$1
core_headers='tickwheel/(tw|port)\.h|cstdint|cstddef|bit|type_traits|new'
board_headers='tickwheel/(board|cortexm|riscv)/[a-z]+\.h'
kernel_headers='tickwheel/(freertos|zephyr)/[a-z]+\.h'
durable='tickwheel/(calendar|durable|durable_store|durable_sqlite)\.h'
interface='tickwheel/(inspect|observe|trace|runtime|workers|task|timers|keyed|driver|tw|port)\.h'

# includes_in FOLDER PATTERN: prints "file:line:included name", without comments and spaces
includes_in() {
    find "$root/$1" -type f -name "$2" -exec grep -HnE '^[[:space:]]*#[[:space:]]*include' {} + |
        sed -E 's/#[[:space:]]*include[[:space:]]*//; s/([\">])[[:space:]]*(\/\/|\/\*).*/\1/; s/:[[:space:]]+/:/g'
}

# strangers ALLOWED-FOLDERS: prints the lines of its input whose "quoted" file is neither in the folder of the
# file itself nor in one of these folders.
strangers() {
    while IFS=: read -r file line what; do
        name=${what#\"}
        name=${name%\"}
        if [ -f "${file%/*}/$name" ] && [ "${name#*/}" = "$name" ]; then
            continue
        fi
        case " $1 " in
        *" ${name%/*} "*) [ -f "$root/src/$name" ] || [ -f "$root/durable/$name" ] && continue ;;
        esac
        echo "$file:$line:$what"
    done
}

# room FOLDER PATTERN ALLOWED-ROOMS ALLOWED-<HEADERS>
room() {
    includes_in "$1" "$2" | grep -E ':".*"$' | strangers "$3"
    includes_in "$1" "$2" | grep -vE ':".*"$' | grep -vE ":<($4)>$"
}

# All headers without a slash are the system's.
system='[a-z0-9_]+(\.h)?|sys/[a-z]+\.h|linux/[a-z_]+\.h'

# The headers of the core that src/timers may use: the door for records, and the arithmetic of periods.
core_for_timers='records\.hpp|log\.hpp|periodic\.hpp'

breaks=$(
    room src/base '*' '' "$system"
    room src/core '*' 'base' "$core_headers"
    includes_in src/core '*' | grep '"base/' | grep -vE '"base/(numbers|thread_safety)\.hpp"$'
    includes_in src/base numbers.hpp
    includes_in src/base thread_safety.hpp
    room src/ports '*' 'base check' "tickwheel/port\.h|$system"
    includes_in src/ports '*' | grep '"check/' | grep -v '/linux/port\.h:[0-9]*:"check/check\.h"$'
    room src/check '*' 'base' "tickwheel/(port|tw)\.h|$system"
    room src/runtime '*' 'base core' "$interface|$system"
    room src/workers '*' 'base runtime' "$interface|$system"
    room src/timers '*' 'base core runtime workers' "$interface|$system"
    room src/observe '*' 'base runtime workers timers' "$interface|$system"
    room calendar/src '*' '' "tickwheel/(calendar|driver)\.h|$system"
    for folder in src stores tools; do
        room durable/$folder '*.[ch]pp' 'base src stores' "$durable|$interface|tickwheel/version\.h|$system|libpq-fe\.h"
        includes_in durable/$folder '*' | grep '<libpq' | grep -v '/stores/postgres/'
        includes_in durable/$folder '*' | grep '<sqlite3' | grep -v '/stores/sqlite/'
    done
    room tools '*.[ch]pp' 'base observe' "tickwheel/(observe|version)\.h|$system"
    includes_in src/runtime '*' | grep '"core/' | grep -v '"core/door\.h"$'
    includes_in src/timers '*' | grep '"core/' | grep -vE "/($core_for_timers)\"\$"
    room python/src '*.[ch]pp' '' "(Python|structmember|tickwheel/durable)\.h|$system" |
        grep -vE '^[^:]*/(tickwheel\.(cpp|h)|timer\.hpp:[0-9]+:"tickwheel\.h"$)'
    room drivers '*.[ch]pp' 'base ports/linux' "tickwheel/(port|driver)\.h|$system"
    room boards port.h '' "tickwheel/port\.h|$board_headers|$kernel_headers|zephyr/kernel\.h|$system"
    for folder in common cortexm riscv; do
        room boards/$folder '*.c' '' "$board_headers|std(int|bool)\.h"
    done
    room boards/freertos timers.c '' "$kernel_headers|stdbool\.h"
    room boards/zephyr timers.c '' "$kernel_headers|stdbool\.h"
    includes_in include/tickwheel/loops '*' | grep -E ':("|<tickwheel/)' | grep -v ':<tickwheel/runtime\.h>$'
    for folder in include calendar/include durable/include boards/include; do
        includes_in $folder '*.h' | grep -v /loops/ |
            grep -vE ":(<(tickwheel/([a-z]+/)?[a-z_]+\.h|stdint\.h|stddef\.h)>|TW_PORT_HEADER)$" |
            grep -vE '/freertos/kernel\.h:[0-9]+:<(freertos/)?(FreeRTOS|task)\.h>$|/zephyr/timers\.h:[0-9]+:<zephyr/kernel\.h>$'
        includes_in $folder '*.hpp' | grep -v /loops/ | grep -vE ':<(tickwheel/([a-z_]+/)?[a-z_]+\.h(pp)?|[a-z_]+)>$' |
            grep -vE '/senders\.hpp:[0-9]+:<stdexec/execution\.hpp>$'
    done
    true
) || exit 1
[ -z "$breaks" ] && exit 0
echo "These includes break the layer rules:"
echo "$breaks"
exit 1
