# shellcheck shell=bash disable=SC2034,SC2154 # adopt.sh uses and sets them
# FRR: its event loop's heap of timers becomes a wheel. Its own benchmark schedules a million timers and cancels half of
# them; ours measures the other things that an event loop does with its timers.

package=frr
source_package=frr
needs=(autoconf automake libtool pkg-config bison flex python3-dev python3-pytest libyang2-dev libjson-c-dev libelf-dev
    libreadline-dev)

# FRR generates code for the commands in thread.c, so the build makes it from the original.
adopt() {
    mv lib/thread.c lib/thread_original.c
    mv lib/thread.h lib/thread_original.h
    cp "$here/thread.c" "$here/thread.h" lib/
}

# The library and its tests, without the daemons.
build_program() {
    local off=(doc zebra bgpd ripd ripngd ospfd ospf6d ldpd nhrpd eigrpd babeld watchfrr isisd pimd pim6d pbrd sharpd
        staticd fabricd vrrpd pathd bfdd ospfapi ospfclient capabilities) tests
    ./bootstrap.sh
    ./configure "${off[@]/#/--disable-}" CPPFLAGS="$adapter_cflags" LIBS="$adapter_libs"
    make -j "$jobs" lib/clippy
    if [ -e lib/thread_original.c ]; then
        lib/clippy python/clidef.py -o lib/thread_clippy.c lib/thread_original.c
    fi
    mapfile -t tests < <(cd tests/lib && printf '%s\n' test_*.py {cli,northbound}/test_*.py | sed 's/\.py$//' |
        grep -vE 'test_(frrlua|frrscript|grpc|zmq|commands)$') # they need parts that are not built
    make -j "$jobs" lib/libfrr.la "${tests[@]/#/tests/lib/}" tests/lib/test_timer_performance
    cp "$here/bench.c" . # a copy, as the compiler would find our thread.h next to bench.c
    # shellcheck disable=SC2086 # flags
    cc -O2 -g -fms-extensions -DHAVE_CONFIG_H -I. -Iinclude -Ilib -Ilib/assert $adapter_cflags -o bench bench.c \
        -Llib/.libs -Wl,-rpath,"$PWD/lib/.libs" -lfrr
}

run_tests() {
    (cd tests && PYTHONPATH=helpers/python pytest-3 -p no:cacheprovider -v lib || true) | # fails if a test does
        sed -nE -e 's/^lib\/([^ ]*) PASSED.*/pass \1/p' -e 's/^lib\/([^ ]*) (FAILED|ERROR).*/fail \1/p'
}

# FRR allocates a struct for each timer. Without these settings, and depending on what lies at the end of the heap, glibc
# returns memory to the system between the rounds and takes it again, which costs up to a microsecond per timer.
run_bench() {
    export MALLOC_TRIM_THRESHOLD_=1073741824 MALLOC_TOP_PAD_=268435456
    tests/lib/test_timer_performance | sed -nE \
        -e 's/^Scheduling .* took ([0-9.]+) seconds.$/its benchmark: schedule a million timers\t\1\ts/p' \
        -e 's/^Removing .* took ([0-9.]+) seconds.$/its benchmark: cancel half of them\t\1\ts/p'
    ./bench
}
