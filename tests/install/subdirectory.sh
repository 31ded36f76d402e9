#!/bin/sh
# subdirectory.sh SOURCE SCRATCH GENERATOR CC CXX: builds the source as a subdirectory of a user's
# project that has no build type.
set -eu
source=$1 scratch=$2 generator=$3 cc=$4 cxx=$5
rm -rf "$scratch"
cmake -G "$generator" -S "$(dirname "$0")/subdirectory" -B "$scratch" -DTICKWHEEL_SOURCE="$source" \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx"
cmake --build "$scratch"
"$scratch/consumer"
"$scratch/consumer_cpp"
