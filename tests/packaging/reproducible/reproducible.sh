#!/bin/sh
# reproducible.sh SOURCE SCRATCH: two builds in different folders install the same bytes, with debug information and
# assertions, which name source files. For that a packager passes -ffile-prefix-map, as Debian does. Optimising would
# add no paths, only minutes. With TW_NIGHTLY=1 the whole library, otherwise the wheel alone.
set -eu
source=$1 scratch=$2
runtime=OFF
[ -z "${TW_NIGHTLY:-}" ] || runtime=ON
rm -rf "$scratch"
for folder in one another/one; do
    tree=$scratch/$folder/tickwheel
    mkdir -p "$tree"
    tar -C "$source" --exclude=./build --exclude=./.git -cf - . | tar -C "$tree" -xf -
    flags="-O0 -g -ffile-prefix-map=$tree=."
    cmake -S "$tree" -B "$tree/build" -G Ninja -DCMAKE_BUILD_TYPE= "-DCMAKE_C_FLAGS=$flags" "-DCMAKE_CXX_FLAGS=$flags" \
        -DTW_RUNTIME=$runtime -DTW_DURABLE=OFF -DTW_BUILD= >/dev/null
    cmake --build "$tree/build" >/dev/null
    DESTDIR=$tree/installed cmake --install "$tree/build" >/dev/null
done
diff -r "$scratch/one/tickwheel/installed" "$scratch/another/one/tickwheel/installed"
