# shellcheck shell=bash disable=SC2034,SC2154 # adopt.sh uses and sets them
# libwebsockets: its two sorted lists of timers become a wheel. In Debian's configuration, with the tests of the minimal
# examples that need no other host.

package=libwebsockets-dev
source_package=libwebsockets
needs=(libev-dev libglib2.0-dev libssl-dev libuv1-dev openssl zlib1g-dev)

# wrap FOLDER FILE ORIGINAL: renames FILE in FOLDER to ORIGINAL, and puts our FILE in its place.
wrap() {
    mv "$1/$2" "$1/$3"
    cp "$here/$2" "$1/$2"
}

adopt() {
    wrap include/libwebsockets lws-timeout-timer.h lws-timeout-timer-original.h
    wrap lib/core private-lib-core.h private-lib-core-original.h
    wrap lib/core lws_dll2.c lws_dll2_original.c
    cp "$here/sorted-usec-list.c" lib/core-net/
}

build_program() {
    # CMAKE_C_STANDARD_LIBRARIES comes last in each link, where a static library must be. The last line of options
    # is not Debian's: it adds suls, and a check that no sul is pending in an object about to be freed.
    cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=None \
        -DCMAKE_C_FLAGS="-O2 -fno-strict-aliasing -Wno-error=deprecated-declarations $adapter_cflags" \
        -DCMAKE_C_STANDARD_LIBRARIES="$adapter_libs" \
        -DLWS_WITHOUT_DAEMONIZE=OFF -DLWS_WITH_LIBEV=ON -DLWS_WITH_LIBUV=ON -DLWS_WITH_GLIB=ON \
        -DLWS_UNIX_SOCK=ON -DLWS_IPV6=ON -DLWS_WITH_ZLIB=ON -DLWS_WITHOUT_EXTENSIONS=OFF \
        -DLWS_WITH_MINIMAL_EXAMPLES=ON -DLWS_CTEST_INTERNET_AVAILABLE=OFF \
        -DLWS_WITH_SEQUENCER=ON -DLWS_WITH_SUL_DEBUGGING=ON
    DESTDIR=$PWD/destdir cmake --build build --target install # the test servers serve files of destdir
    # shellcheck disable=SC2086 # flags
    cc -O2 $adapter_cflags -Ibuild/include -o bench "$here/bench.c" -Lbuild/lib -lwebsockets \
        -Wl,-rpath,"$PWD/build/lib"
}

# Tests of interfaces, and clients against servers on this host: HTTP/1, HTTP/2, websockets. st_ and ki_ only start
# and stop the servers. Left out: tests that need the Internet, such as those of the sequencer and of secure streams.
run_tests() {
    { (cd build && ctest --timeout 60) || true; } |
        sed -nE 's/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([^ ]+) \.* *Passed .*/pass \1/p; t
                 s/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([^ ]+) .*/fail \1/p' | grep -vE ' (st|ki)_'
}

run_bench() { ./bench; }
