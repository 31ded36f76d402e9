#!/bin/sh
# prose.sh: fails if the tree has an expression of prose.txt or a variable named `it`. Prints each place with
# what to write instead.
set -eu
cd "$(dirname "$0")/../.."
list=tests/lint/prose.txt
tab=$(printf '\t')
failed=0

# find EXPRESSION ADVICE PATH...
find_places() {
    expression=$1 advice=$2
    shift 2
    if git grep -nPi -e "$expression" -- "$@" ":!$list" ':!CHANGELOG.md'; then
        echo "    prose: $advice"
        failed=1
    fi
}

while IFS=$tab read -r expression advice; do
    case $expression in '#'*) continue ;; esac
    find_places "$expression" "$advice" '*.c' '*.h' '*.hpp' '*.cpp' '*.in' '*.md' '*.py' '*.sh' '*.cmake' '*.pml' '*.txt'
done <"$list"

find_places '([\w>\]] ?[&*] ?|\bauto |\bint )it\b *[,;)=({]' 'name the variable' 'include/*.h*' src drivers tools calendar/src durable/include \
    durable/src durable/stores durable/tools durable/bench durable/examples examples boards/common boards/cortexm boards/riscv
exit $failed
