#!/usr/bin/env bash
# needs.sh ROOT: succeeds if ./dev cross needs no library or tool of other tests for bare-metal boards: QEMU
# alone tests their images.
set -euo pipefail
cd "$1"
of_other_tests='cmocka|gtest|googletest|spin|valgrind'
status=0

# shellcheck source=toolchains/packages.sh
. toolchains/packages.sh
# shellcheck source=boards/cross.sh
. boards/cross.sh
need() { printf '%s\n' "$@"; } # instead of installing packages
die() {
    echo "$*" >&2
    exit 1
}

boards=$(boards_without_system)
[ "$(wc -w <<<"$boards")" -ge 4 ] || die "found no bare-metal boards in boards/cross.sh: $boards"
for board in $boards; do
    needed=$(need_for "$board")
    grep -q qemu-system <<<"$needed" || die "$board: it is not this list that ./dev cross asks for: $needed"
    if grep -E "$of_other_tests" <<<"$needed"; then
        echo "$board does not need these"
        status=1
    fi
done
need_for release | grep -qE "$of_other_tests" || die "the names of what to look for have changed"
exit $status
