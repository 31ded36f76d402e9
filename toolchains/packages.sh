# shellcheck shell=bash
# Which Debian packages ./dev needs for what, and how to install those that are missing. Sourced
# by ./dev, which defines say and die.

compiler=(g++ cmake ninja-build)
tests=("${compiler[@]}" pkg-config libcmocka-dev libgtest-dev)
cortexm=(gcc-arm-none-eabi libstdc++-arm-none-eabi-dev)

# need_for PRESET: what its configuration, build and tests need.
need_for() {
    case $1 in
    clang) need "${tests[@]}" clang ;;
    fuzz) need "${compiler[@]}" clang libclang-rt-dev ;;
    lint) need "${compiler[@]}" clang clang-format clang-tidy cppcheck shellcheck ;;
    size) need "${compiler[@]}" "${cortexm[@]}" gcc-riscv64-unknown-elf ;;
    bench) need "${compiler[@]}" pkg-config libuv1-dev libev-dev libevent-dev libboost-dev libglib2.0-dev ;;
    coverage) need "${tests[@]}" gcovr ;;
    # The tests include headers of a C library; the wheel includes none.
    cortex-*) need "${compiler[@]}" "${cortexm[@]}" libnewlib-dev qemu-system-arm ;;
    # This compiler comes without C++ headers; those of the other bare-metal compiler serve.
    riscv32)
        need "${compiler[@]}" gcc-riscv64-unknown-elf libstdc++-arm-none-eabi-dev \
            picolibc-riscv64-unknown-elf qemu-system-misc
        ;;
    *-linux-gnu*)
        need "${compiler[@]}" googletest "g++-$1" qemu-user
        need_package_lists
        ;;
    *) need "${tests[@]}" ;;
    esac
}

# need PACKAGE...: installs those that are missing, and says so first.
need() {
    local package missing=()
    for package in "$@"; do
        is_there "$package" 2>/dev/null || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    command -v apt-get >/dev/null || die "missing, and there is no apt-get to install them: ${missing[*]}"
    [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null ||
        die "missing: ${missing[*]}; install them as root (apt-get install ${missing[*]})"
    say "installing ${missing[*]}"
    as_root apt-get update -q </dev/null || die "apt-get update failed; see above"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
        "${missing[@]}" </dev/null || die "apt-get could not install ${missing[*]}; see above"
}

# toolchains/cmocka.sh asks apt-get about packages without installing any.
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

# is_there PACKAGE: true if what the package brings is there, however it was installed.
is_there() {
    case $1 in
    ninja-build) command -v ninja >/dev/null ;;
    libcmocka-dev) [ -e /usr/include/cmocka.h ] || pkg-config --exists cmocka ;;
    libgtest-dev) pkg-config --exists gtest ;;
    libuv1-dev) [ -e /usr/include/uv.h ] || pkg-config --exists libuv ;;
    libev-dev) [ -e /usr/include/ev.h ] ;;
    libevent-dev) [ -e /usr/include/event2/event.h ] || pkg-config --exists libevent ;;
    libboost-dev) [ -e /usr/include/boost/asio.hpp ] ;;
    libglib2.0-dev) pkg-config --exists glib-2.0 ;;
    libclang-rt-dev) has_clang_runtimes ;;
    googletest) [ -e /usr/src/googletest/CMakeLists.txt ] ;;
    g++-*-linux-gnu*) command -v "${1#g++-}-g++" >/dev/null ;;
    qemu-user) command -v qemu-arm >/dev/null ;;
    qemu-system-misc) command -v qemu-system-riscv32 >/dev/null ;;
    gcc-arm-none-eabi | gcc-riscv64-unknown-elf) command -v "${1#gcc-}-gcc" >/dev/null ;;
    libstdc++-arm-none-eabi-dev) [ -n "$(find /usr/include/newlib/c++ -name bit -print -quit)" ] ;;
    libnewlib-dev) [ -e /usr/include/newlib/inttypes.h ] ;;
    picolibc-riscv64-unknown-elf) [ -e /usr/lib/picolibc/riscv64-unknown-elf/picolibc.specs ] ;;
    *) command -v "$1" >/dev/null ;;
    esac
}

# The fuzzer and the sanitizers; newer versions of clang name the files without the processor.
has_clang_runtimes() {
    command -v clang >/dev/null || return 1
    [ -e "$(clang --print-file-name="libclang_rt.fuzzer-$(uname -m).a")" ] ||
        [ -e "$(clang --print-file-name=libclang_rt.fuzzer.a)" ] ||
        [ -e "$(clang --print-resource-dir)/lib/linux/libclang_rt.fuzzer-$(uname -m).a" ]
}
