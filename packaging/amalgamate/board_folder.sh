#!/bin/sh
# board_folder.sh FOLDER: from FOLDER/tickwheel.[ch], makes FOLDER/Tickwheel, which is a library of Arduino
# and PlatformIO and a component of ESP-IDF.
set -eu
out=$1
packaging=$(cd "$(dirname "$0")/.." && pwd)
board=$out/Tickwheel
rm -rf "$board"
mkdir -p "$board/src" "$board/examples"
cp "$out/tickwheel.h" "$out/tickwheel.c" "$packaging/esp-idf/tickwheel_esp.h" "$board/src/"
cp "$packaging/arduino/library.properties" "$packaging/arduino/keywords.txt" "$packaging/platformio/library.json" \
    "$packaging/esp-idf/idf_component.yml" "$packaging/esp-idf/CMakeLists.txt" "$packaging/../LICENSE" "$board/"
cp -R "$packaging/arduino/examples/Blink" "$board/examples/"
