# shellcheck shell=bash
# The Debian packages that each verb of ./dev needs, and functions that install the missing ones. ./dev
# sources this file, and defines say and die.

compiler=(g++ cmake ninja-build)
databases=(pkg-config libsqlite3-dev libpq-dev) # durable timers support the installed ones
tests=("${compiler[@]}" python3 libcmocka-dev libgtest-dev "${databases[@]}")
loops=(pkg-config libuv1-dev libevent-dev libev-dev libglib2.0-dev libsystemd-dev libasio-dev liburing-dev)
tests_of_core=("${compiler[@]}" pkg-config libcmocka-dev) # for TW_TESTS=core
# shellcheck disable=SC2034 # ./dev uses it
python=(python3-dev python3-venv python3-pip python3-setuptools python3-wheel)
cortexm=(gcc-arm-none-eabi libstdc++-arm-none-eabi-dev)

# need_for BUILD: installs what the configuration, build and tests of a preset, a board or a verb need.
need_for() {
    case $1 in
    clang) need "${tests[@]}" clang ;;
    asan) need "${tests[@]}" clang libclang-rt-dev ;;
    fuzz) need "${compiler[@]}" clang libclang-rt-dev ;;
    package) need "${compiler[@]}" "${databases[@]}" python3 debhelper lintian ;;
    mutate) need "${tests[@]}" python3-clang ;;
    durable-bench) need "${compiler[@]}" "${databases[@]}" postgresql nodejs npm ;;
    lint)
        need "${compiler[@]}" "${databases[@]}" clang clang-format clang-tidy cppcheck shellcheck
        need_loops
        ;;
    size) need "${compiler[@]}" "${cortexm[@]}" gcc-riscv64-unknown-elf ;;
    bench) need "${compiler[@]}" pkg-config libuv1-dev libev-dev libevent-dev libboost-dev libglib2.0-dev ;;
    peers) need "${compiler[@]}" pkg-config libboost-dev golang-go erlang-base ;;
    kernel) need "${tests[@]}" qemu-system-x86 busybox-static cpio ;;
    coverage) need "${tests_of_core[@]}" gcovr ;;
    musl)
        need "${compiler[@]}" musl-tools
        need_package_lists
        ;;
    # The tests include headers of a C library; the wheel includes none.
    cortex-*) need "${compiler[@]}" "${cortexm[@]}" libnewlib-dev qemu-system-arm ;;
    # This compiler comes without C++ headers; those of the other bare-metal compiler serve.
    riscv32)
        need "${compiler[@]}" gcc-riscv64-unknown-elf libstdc++-arm-none-eabi-dev \
            picolibc-riscv64-unknown-elf qemu-system-misc
        ;;
    aarch64-linux-gnu | riscv64-linux-gnu)
        need "${compiler[@]}" "g++-$1" qemu-user
        need_package_lists
        ;;
    *-linux-gnu*)
        need "${compiler[@]}" googletest "g++-$1" qemu-user
        need_package_lists
        ;;
    *) need "${tests[@]}" ;;
    esac
}

# need PACKAGE...: installs the missing packages, and says so first.
need() {
    local package missing=()
    for package in "$@"; do
        is_there "$package" 2>/dev/null || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    command -v apt-get >/dev/null || die "missing, and there is no apt-get to install them: ${missing[*]}"
    [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null ||
        die "missing: ${missing[*]}; install them as root (apt-get install ${missing[*]})"
    say "./dev ${verb:-} needs what is not installed: ${missing[*]}"
    say "installing with apt-get$([ "$(id -u)" -eq 0 ] || echo ", by sudo")"
    as_root apt-get update -q </dev/null || die "apt-get update failed; see above"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
        "${missing[@]}" </dev/null || die "apt-get could not install ${missing[*]}; see above"
}

# The libraries of examples/loops.
need_loops() {
    local library
    need "${loops[@]}"
    pkg-config --exists Qt5Core && return
    need_package_lists
    toolchains/qtcore.sh build/qtcore || die "there are no headers of Qt; see above"
    # The library's package has different names on different systems.
    library=$(apt-cache depends qtbase5-dev | sed -nE 's/^ *Depends: (libqt5core5[a-z0-9]+)$/\1/p')
    [ -n "$library" ] || die "apt-cache does not know the library of QtCore"
    need "$library"
}

# toolchains/cmocka.sh and toolchains/qtcore.sh ask apt-get about packages without installing any.
need_package_lists() {
    [ -z "$(apt-cache madison libcmocka-dev)" ] || return 0
    say "reading the lists of packages"
    as_root apt-get update -q </dev/null || die "apt-get update failed; see above"
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

# is_there PACKAGE: true if the package's tools are installed, from a package or otherwise.
is_there() {
    case $1 in
    ninja-build) command -v ninja >/dev/null ;;
    fonts-inter) [ -n "$(find /usr/share/fonts -name 'Inter-Regular*' -print -quit 2>/dev/null)" ] ;;
    nodejs) command -v node >/dev/null ;;
    libcmocka-dev) [ -e /usr/include/cmocka.h ] || pkg-config --exists cmocka ;;
    libgtest-dev) pkg-config --exists gtest ;;
    libuv1-dev) [ -e /usr/include/uv.h ] || pkg-config --exists libuv ;;
    libsqlite3-dev) pkg-config --exists sqlite3 ;;
    libpq-dev) pkg-config --exists libpq ;;
    postgresql) [ -n "$(find /usr/lib/postgresql -name initdb -print -quit 2>/dev/null)" ] ;;
    libev-dev) [ -e /usr/include/ev.h ] ;;
    libevent-dev) [ -e /usr/include/event2/event.h ] || pkg-config --exists libevent ;;
    libboost-dev) [ -e /usr/include/boost/asio.hpp ] ;;
    golang-go) command -v go >/dev/null ;;
    erlang-base) command -v erlc >/dev/null ;;
    libglib2.0-dev) pkg-config --exists glib-2.0 ;;
    debhelper) command -v dh >/dev/null ;;
    musl-tools) command -v musl-gcc >/dev/null ;;
    python3-clang) /usr/bin/python3 -c 'from clang.cindex import Index; Index.create()' ;;
    python3-prometheus-client) /usr/bin/python3 -c 'import prometheus_client' ;;
    libsystemd-dev) pkg-config --exists libsystemd ;;
    libasio-dev) [ -e /usr/include/asio.hpp ] ;;
    liburing-dev) pkg-config --exists liburing ;;
    libqt5core5*) [ -n "$(find /usr/lib -maxdepth 2 -name libQt5Core.so.5 -print -quit)" ] ;;
    libclang-rt-dev) has_clang_runtimes ;;
    googletest) [ -e /usr/src/googletest/CMakeLists.txt ] ;;
    g++-*-linux-gnu*) command -v "${1#g++-}-g++" >/dev/null ;;
    qemu-user) command -v qemu-arm >/dev/null ;;
    qemu-system-x86) command -v qemu-system-x86_64 >/dev/null ;;
    busybox-static) [ -x /bin/busybox ] ;;
    qemu-system-misc) command -v qemu-system-riscv32 >/dev/null ;;
    gcc-arm-none-eabi | gcc-riscv64-unknown-elf) command -v "${1#gcc-}-gcc" >/dev/null ;;
    libstdc++-arm-none-eabi-dev) [ -n "$(find /usr/include/newlib/c++ -name bit -print -quit)" ] ;;
    libnewlib-dev) [ -e /usr/include/newlib/inttypes.h ] ;;
    picolibc-riscv64-unknown-elf) [ -e /usr/lib/picolibc/riscv64-unknown-elf/picolibc.specs ] ;;
    *) command -v "$1" >/dev/null || dpkg-query -W -f '${Status}' "$1" | grep -q ' installed$' ;;
    esac
}

# True if clang's fuzzer and sanitizers are installed; newer versions of clang name the files without the
# processor.
has_clang_runtimes() {
    command -v clang >/dev/null || return 1
    [ -e "$(clang --print-file-name="libclang_rt.fuzzer-$(uname -m).a")" ] ||
        [ -e "$(clang --print-file-name=libclang_rt.fuzzer.a)" ] ||
        [ -e "$(clang --print-resource-dir)/lib/linux/libclang_rt.fuzzer-$(uname -m).a" ]
}
