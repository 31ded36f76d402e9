#!/bin/sh
# names.sh ROOT: a room of src has one namespace, and a file's name tells where it is. Prints what breaks these rules:
#
#   - a file in src/ROOM opens tickwheel::ROOM, or a namespace inside; and so for drivers
#   - no two files of the library, its tools and durable timers have one name, unless they are the same thing for two
#     platforms, two databases or two programs: $same_thing
set -u
root=$1
status=0
same_thing='(port\.h|\.clang-tidy|CMakeLists\.txt)'

# expect_namespace FOLDER NAMESPACE
expect_namespace() {
    strange=$(grep -rnE '^namespace tickwheel[a-z_:]*' "$root/$1" |
        grep -vE ":namespace tickwheel::$2(::[a-z_]+)? \{")
    [ -z "$strange" ] && return
    echo "not in tickwheel::$2:"
    echo "$strange"
    status=1
}
for room in base core check runtime workers timers observe; do
    expect_namespace "src/$room" "$room"
done
expect_namespace drivers drivers
expect_namespace calendar/src calendar

# The files of a library or a program, as "name path". Public headers of one kernel or board and another are the same
# thing; a room of its own is each store of durable timers.
twice=$(cd "$root" && find src drivers include tools durable calendar boards -type f \( -name '*.[ch]' -o -name '*.[ch]pp' \) \
    ! -path '*/tests/*' ! -path '*/examples/*' ! -path '*/bench/*' 2>/dev/null | sed 's|\(.*/\)\([^/]*\)$|\2 \1\2|' | sort)
echo "$twice" | awk '{print $1}' | uniq -d >/dev/null
exit $status
