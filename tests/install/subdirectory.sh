#!/bin/sh
# subdirectory.sh SOURCE SCRATCH GENERATOR CC CXX [BUILD]: builds the source as a subdirectory of a user's
# project that has no build type. If BUILD is given, reuses its objects instead of compiling the library.
set -eu
source=$1 scratch=$2 generator=$3 cc=$4 cxx=$5 build=${6:-}
reuse="sh;$(cd "$(dirname "$0")" && pwd)/reuse.sh;$build"
rm -rf "$scratch"
cmake -G "$generator" -S "$(dirname "$0")/subdirectory" -B "$scratch" -DTICKWHEEL_SOURCE="$source" \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" \
    ${build:+"-DCMAKE_C_COMPILER_LAUNCHER=$reuse"} ${build:+"-DCMAKE_CXX_COMPILER_LAUNCHER=$reuse"}
cmake --build "$scratch"
"$scratch/consumer"
"$scratch/consumer_cpp"
