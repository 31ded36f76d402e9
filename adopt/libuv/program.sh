# shellcheck shell=bash disable=SC2034,SC2154 # adopt.sh uses and sets them
# libuv: its heap of timers becomes a wheel. Its own benchmark starts ten million timers, which fire within ten seconds.

package=libuv1-dev
source_package=libuv1
needs=(iproute2)

adopt() {
    mv include/uv.h include/uv_original.h
    cp "$here/uv.h" include/
    cp "$here/timer.c" src/
}

build_program() {
    cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DLIBUV_BUILD_BENCH=ON -DCMAKE_C_FLAGS="$adapter_cflags" \
        -DCMAKE_C_STANDARD_LIBRARIES="$adapter_libs"
    cmake --build build --target uv_run_tests_a uv_run_benchmarks_a
}

# The tests refuse to run as root, and write into the current directory. Two tests need an address at which no machine
# answers, but some networks accept any connection. So root runs the tests in a network of their own.
run_tests() {
    local copy=$PWD directory as_nobody=()
    directory=$(mktemp -d)
    ln -s "$copy/test" "$directory/test"
    if [ "$(id -u)" -eq 0 ]; then
        chown nobody "$directory"
        as_nobody=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
        if unshare --net true; then
            as_nobody=(unshare --net sh -c 'ip link set lo up && exec "$@"' alone "${as_nobody[@]}")
        fi
    fi
    cp build/uv_run_tests_a "$directory"
    (
        cd "$directory" || exit
        export UV_TEST_TIMEOUT_MULTIPLIER=3 HOME=$directory TMPDIR=$directory
        "${as_nobody[@]}" ./uv_run_tests_a || true # fails if a test does
    ) | sed -nE -e '/# SKIP/d' -e 's/^ok [0-9]+ - /pass /p' -e 's/^not ok [0-9]+ - /fail /p'
    rm -rf "$directory"
}

run_bench() {
    local seconds
    seconds=$( (TIMEFORMAT='%U %S' && time build/uv_run_benchmarks_a million_timers >million_timers.txt 2>&1) 2>&1)
    awk '{printf "10 million timers, processor time\t%.2f\ts\n", $1 + $2}' <<<"$seconds"
    # Firing them takes until ten seconds are over, in either copy.
    sed -nE 's/^# ([0-9.]+) seconds init$/10 million timers, starting them\t\1\ts/p' million_timers.txt
}
