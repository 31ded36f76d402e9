#!/bin/sh
# names.sh ROOT: a room of src has one namespace, and a file's name tells where the file is. Prints each file
# that breaks one of these rules:
#
#   - a file in src/ROOM opens tickwheel::ROOM, or a namespace inside; a file in drivers, tickwheel::drivers
#   - no two files of the libraries and tools have one name
set -u
root=$1
status=0

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

# Files that may share a name, because they are the same thing for several platforms, databases or programs.
same_thing='port\.h|interrupts\.h|timers\.[ch]|(looking|schema|session|statements|store)\.[ch]pp|main\.cpp'
twice=$(cd "$root" && find src drivers include calendar boards durable tools -name '*.[ch]' -o -name '*.[ch]pp' |
    grep -vE '/(tests|bench|examples|machines|compare|packaging)/' | sed 's|.*/||' | sort | uniq -d | grep -vxE "$same_thing")
for name in $twice; do
    echo "files of one name:"
    (cd "$root" && find src drivers include calendar boards durable tools -name "$name")
    status=1
done
exit $status
