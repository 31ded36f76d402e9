#!/bin/sh
# core_object.sh NM READELF "PORT SYMBOLS"|none OBJECTS...: checks which symbols the core's object
# requires, and that it has no writable data and no constructors.
set -u
nm=$1 readelf=$2 allowed=$3
shift 3

# Memory functions, and arithmetic that a compiler may implement by calls.
memory='mem(cpy|set|move|cmp)'
helpers='__(u?(div|mod|divmod)|mul|ash[lr]|lshr|clz|ctz|popcount|ffs|u?cmp|bswap)[a-z]+[0-9]*'
helpers="$helpers|__aeabi_[a-z0-9_]+|__riscv_(save|restore)_[0-9]+|__aarch64_(cas|swp|ld(add|clr|eor|set))[0-9]+_[a-z_]+"
helpers="$helpers|__stack_chk_(fail|guard)|_GLOBAL_OFFSET_TABLE_"

for object; do
    case $object in *c_api*) break ;; esac
done

status=0
complain() {
    [ -z "$2" ] && return
    echo "$object: $1:"
    echo "$2"
    status=1
}

undefined=$("$nm" -u "$object" | awk '{print $NF}' | sort -u)
ports=$(echo "$allowed" | sed "s/^none\$//" | tr ' ' '\n' | sed '/^$/d' | sort -u)
complain "undefined symbols that are no memory function nor compiler helper" \
    "$(echo "$undefined" | sed '/^$/d' | grep -vxE "$memory|$helpers" | grep -vxF "${ports:--}")"
complain "the port's symbols that it does not use" \
    "$(echo "$ports" | sed '/^$/d' | grep -vxF "${undefined:--}")"
complain "sections that are writable and not empty, or run before main" \
    "$("$readelf" -SW "$object" | sed -E 's/^ *\[ *[0-9]+\] *//' | awk '
        $1 ~ /^\.(init_array|ctors|preinit)/ {print $1}
        $7 ~ /W/ && $5 !~ /^0+$/ && $1 !~ /^\.data\.rel\.ro/ {print $1}')"
# Symbols in tickwheel::core are those of records.hpp, the door for src/timers. The library hides them.
complain "global symbols that are not the API" \
    "$("$nm" -g --defined-only "$object" | awk '$2 ~ /[TDBRC]/ && $3 !~ /^(tw_|_ZN9tickwheel4core)/ {print $3}')"
exit $status
