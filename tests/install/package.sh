#!/usr/bin/env bash
# package.sh PACKAGES: lints the Debian packages in the folder PACKAGES, unpacks them in PACKAGES/root,
# and uses the unpacked files as programs would, in C and C++, by pkg-config and find_package. Run it by
# ./dev package.
#
# We unpack instead of installing, because that needs no root and leaves the system alone. It makes no
# difference, because no package has a script, which this test checks.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source=$(cd "$here/../.." && pwd)
packages=$(cd "$1" && pwd)
root=$packages/root

fail() {
    echo "package: $*" >&2
    exit 1
}

# The packages are not for Debian's archive, so the first version closes no bug there.
lint() {
    lintian --allow-root --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs "$packages"/*.changes
}

unpack() {
    local package
    rm -rf "$root"
    for package in "$packages"/*.deb; do
        dpkg-deb -x "$package" "$root"
        dpkg-deb -c "$package" | awk '$1 !~ /^d/ {print $6}'
        if dpkg-deb --ctrl-tarfile "$package" | tar -t | grep -qE '(pre|post)(inst|rm)$'; then
            fail "$(basename "$package") has a script"
        fi
    done | sort | uniq -d >"$packages/twice"
    [ ! -s "$packages/twice" ] || fail "in two packages: $(cat "$packages/twice")"
}

consumers() {
    sh "$here/install.sh" "$source" "$packages/consumers" Ninja cc c++ "$root/usr"
}

statically() {
    local program
    "${CC:-cc}" -I"$root/usr/include" "$here/consumer.c" "$libraries/libtickwheel.a" -pthread -o "$packages/static"
    "$packages/static"
    program=$packages/static_durable
    # shellcheck disable=SC2046  # a list of flags
    "${CC:-cc}" -I"$root/usr/include" "$here/durable.c" "$libraries"/libtickwheel_{durable,calendar}.a \
        "$libraries/libtickwheel.a" \
        $(pkg-config --libs sqlite3 libpq) -lstdc++ -pthread -o "$program"
    "$program" sqlite::memory:jobs
}

# Durable timers are in packages of their own, and programs without them need none of these.
apart() {
    local plain=$packages/plain found
    rm -rf "$plain"
    dpkg-deb -x "$packages"/libtickwheel0_*.deb "$plain"
    dpkg-deb -x "$packages"/libtickwheel-calendar0_*.deb "$plain"
    dpkg-deb -x "$packages"/libtickwheel-dev_*.deb "$plain"
    found=$(find "$plain" -name '*durable*' -o -name '*tw_store*')
    [ -z "$found" ] || fail "not in libtickwheel-durable-dev: $found"
    rm -rf "$packages/consumer_of_plain"
    {
        cmake -G Ninja -S "$here/find_package_cpp" -B "$packages/consumer_of_plain" -DCMAKE_PREFIX_PATH="$plain/usr" &&
            cmake --build "$packages/consumer_of_plain" &&
            LD_LIBRARY_PATH=$(dirname "$plain"/usr/lib/*/libtickwheel.so) "$packages/consumer_of_plain/consumer"
    } >"$packages/consumer_of_plain.log" 2>&1 || fail "see $packages/consumer_of_plain.log"
}

# A program that uses a library depends on the version of the package that first had the library's functions.
symbols_and_pages() {
    dpkg-deb --ctrl-tarfile "$packages"/libtickwheel-calendar0_*.deb | tar -xO ./symbols |
        grep -qx ' tw_calendar_new@TICKWHEEL_CALENDAR_0.1 0.1.0' || fail "libtickwheel-calendar0 has no file of symbols"
    dpkg-deb --ctrl-tarfile "$packages"/libtickwheel-durable0_*.deb | tar -xO ./symbols |
        grep -qx ' tw_durable_put@TICKWHEEL_DURABLE_0.1 0.1.0' || fail "libtickwheel-durable0 has no file of symbols"
    pkg-config --with-path="$libraries/pkgconfig" --exists tickwheel-durable || fail "no tickwheel-durable.pc"
    test -e "$root/usr/share/man/man3/tw_durable_open.3.gz" || fail "no pages of durable timers"
}

programs() {
    local output
    output=$(LD_LIBRARY_PATH=$libraries "$root/usr/bin/tickwheel-watch")
    [ "$output" = "$(cat "$source/examples/expected/wheel_picture.txt")" ] || fail "tickwheel-watch printed $output"
    LD_LIBRARY_PATH=$libraries "$root/usr/bin/tickwheel-demo" --seconds-per-driver 0.1 >/dev/null
    rm -f "$packages"/jobs.db*
    LD_LIBRARY_PATH=$libraries "$root/usr/bin/tickwheel-jobs" put mail 17 --database "sqlite:$packages/jobs.db" >/dev/null
    output=$(LD_LIBRARY_PATH=$libraries "$root/usr/bin/tickwheel-jobs" count --database "sqlite:$packages/jobs.db")
    [ "$output" = 1 ] || fail "tickwheel-jobs counted $output"
}

# An older CMake finds the installed package. It also builds the library, because it installs the headers in
# another way.
old_cmake() {
    local old=$source/build/old_cmake project
    "$source/toolchains/old_cmake.sh" "$old" || {
        echo "package: LEFT OUT, there is no CMake 3.18 to be had; see above"
        return 0
    }
    for project in find_package find_package_cpp; do
        rm -rf "${packages:?}/$project"
        {
            "$old/cmake" -G Ninja -S "$here/$project" -B "$packages/$project" -DCMAKE_PREFIX_PATH="$root/usr" &&
                "$old/cmake" --build "$packages/$project" && LD_LIBRARY_PATH=$libraries "$packages/$project/consumer"
        } >"$packages/$project.log" || fail "see $packages/$project.log"
    done
    PATH=$old:$PATH sh "$here/install.sh" "$source" "$packages/by_old_cmake" Ninja cc c++ wheel
    PATH=$old:$PATH sh "$here/settings.sh" "$source" "$packages/settings_by_old_cmake" Ninja cc c++ \
        >"$packages/settings.log" 2>&1 || fail "see $packages/settings.log"
}

step() {
    echo "package: $1"
    "${@:2}"
}

step "lintian" lint
step "unpacking" unpack
libraries=$(dirname "$root"/usr/lib/*/libtickwheel.so)
step "durable timers in packages of their own" apart
step "symbols and pages" symbols_and_pages
step "consumers, by CMake and pkg-config" consumers
step "a consumer of the static library" statically
step "programs" programs
step "consumers and the library, by CMake 3.18" old_cmake
