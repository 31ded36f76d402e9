#!/bin/sh
# settings.sh SOURCE SCRATCH GENERATOR CC CXX: a user's project sets what the library is built with before it adds
# the source, at the first configuration as at the second.
set -eu
source=$1 scratch=$2 generator=$3 cc=$4 cxx=$5
rm -rf "$scratch"
for time in first second; do
    echo "configures for the $time time"
    cmake -G "$generator" -S "$(dirname "$0")/settings" -B "$scratch" -DTICKWHEEL_SOURCE="$source" \
        -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_BUILD_TYPE=MinSizeRel
    cmake --build "$scratch"
    "$scratch/firmware"
    "$scratch/other"
done
