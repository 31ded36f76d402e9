#!/bin/sh
# settings.sh SOURCE SCRATCH GENERATOR CC CXX: a user's project chooses the library's settings before it adds
# the source. They hold at the first configuration and at the second.
set -eu
source=$1 scratch=$2 generator=$3 cc=$4 cxx=$5
project=$(cd "$(dirname "$0")" && pwd)/settings
rm -rf "$scratch"
for time in first second; do
    echo "configures for the $time time"
    cmake -G "$generator" -S "$project" -B "$scratch" -DTICKWHEEL_SOURCE="$source" \
        -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_BUILD_TYPE=MinSizeRel
    cmake --build "$scratch"
    "$scratch/firmware"
    "$scratch/other"
done

# CMake must refuse a folder of port headers that does not exist.
if cmake -G "$generator" -S "$source" -B "$scratch/wrong" -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" \
    -DTW_PORT="$project/tickwheel_port.h" "-DTW_PORT_INCLUDES=$project/kernel;$project/no_such_folder" >"$scratch/log" 2>&1 ||
    ! grep -q no_such_folder "$scratch/log"; then
    cat "$scratch/log"
    exit 1
fi
