# shellcheck shell=bash disable=SC2034,SC2154 # adopt.sh uses and sets them
# Redis: its event loop's list of time events becomes a wheel, and volatile keys get another.

package=redis-server
source_package=redis
needs=(pkg-config liblzf-dev libjemalloc-dev tcl valgrind)

adopt() {
    local file
    for file in ae db expire; do
        mv src/$file.c src/${file}_original.c
        cp "$here/$file.c" src/
    done
}

# The distribution's settings, without TLS. The linker must take the whole library, because it precedes the objects.
build_program() {
    local libs=${adapter_libs:+-Wl,--whole-archive $adapter_libs -Wl,--no-whole-archive}
    make -j "$jobs" USE_SYSTEM_JEMALLOC=yes USE_JEMALLOC=yes REDIS_CFLAGS="-I/usr/include/liblzf $adapter_cflags" \
        REDIS_LDFLAGS="-Wl,--no-as-needed -llzf $libs"
    make -C tests/modules timer.so
    # shellcheck disable=SC2086 # flags
    cc -O2 -g -std=gnu11 -Isrc $adapter_cflags -o time_events "$here/time_events.c" src/ae.c src/monotonic.c \
        src/anet.c src/zmalloc.c $adapter_libs -lm -pthread
}

# Only the tests that have to do with time.
run_tests() {
    local units=(unit/expire unit/type/string unit/keyspace unit/other unit/scripting unit/multi unit/pause unit/wait
        unit/maxmemory unit/lazyfree unit/latency-monitor unit/introspection unit/shutdown unit/moduleapi/timer)
    # shellcheck disable=SC2046 # two words for each unit
    ./runtest --clients 2 $(printf -- '--single %s ' "${units[@]}") >tests.log 2>&1 || true # fails if a test does
    sed -E -e 's/\x1b\[[0-9;]*m//g' tests.log |
        sed -nE -e 's/^\[ok\]: (.*) \([0-9]+ ms\)$/pass \1/p' -e 's/^\[err\]: (.*) in tests\/.*/fail \1/p'
}

run_bench() {
    ./time_events
    python3 -B "$here/expiry.py" .
}
