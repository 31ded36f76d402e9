# shellcheck shell=bash disable=SC2034,SC2154 # adopt.sh uses and sets them
# libevent: its heap of timeouts becomes a wheel.

package=libevent-dev
source_package=libevent
needs=(zlib1g-dev)

adopt() {
    mv event.c event_original.c
    mv include/event2/event_struct.h include/event2/event_struct_original.h
    cp "$here"/{event.c,minheap-internal.h} .
    cp "$here"/event_struct.h include/event2
}

# Without OpenSSL, which has nothing to do with timers, and with assertions.
build_program() {
    cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=None -DEVENT__LIBRARY_TYPE=STATIC -DEVENT__DISABLE_OPENSSL=ON \
        -DEVENT__DISABLE_SAMPLES=ON -DEVENT__DISABLE_BENCHMARK=ON -DCMAKE_C_FLAGS="-O2 $adapter_cflags" \
        -DCMAKE_C_STANDARD_LIBRARIES="$adapter_libs"
    cmake --build build
    # shellcheck disable=SC2086 # flags
    cc -O2 -Iinclude -Ibuild/include -o bench "$here/bench.c" build/lib/libevent_core.a $adapter_libs -pthread
}

run_tests() {
    { build/bin/regress || true; } 2>&1 | # fails if a test does
        awk '/^[a-z_0-9]+\/[^ ]+:/ {name = substr($1, 1, length($1) - 1)}
             / OK$/ {print "pass " name}
             / FAILED\]$/ {print "fail " name}'
}

run_bench() { ./bench; }
