#!/bin/sh
# board_folder.sh FOLDER: from FOLDER/tickwheel.h and tickwheel.cpp, makes FOLDER/Tickwheel, which is a library of
# Arduino and PlatformIO and a component of ESP-IDF.
set -eu
out=$1
packaging=$(cd "$(dirname "$0")" && pwd)
root=$packaging/../..
board=$out/Tickwheel
rm -rf "$board"
mkdir -p "$board/src/tickwheel" "$board/examples"
cp "$out/tickwheel.h" "$out/tickwheel.cpp" "$board/src/"

# The port for ESP-IDF, and the timers on its tasks, with the headers under their usual names.
cp "$root/boards/freertos/port.h" "$board/src/tickwheel_esp.h"
cp -R "$root/boards/include/tickwheel/freertos" "$board/src/tickwheel/"
echo '#include "../tickwheel.h"' >"$board/src/tickwheel/tw.h"
cp "$root/include/tickwheel/fires.h" "$board/src/tickwheel/"
{
    echo '#include "tickwheel.h"'
    echo '#if defined(ESP_PLATFORM) && TW_TICK_BITS == 32 /* else there are none */'
    cat "$root/boards/freertos/timers.c"
    echo '#endif'
} >"$board/src/tickwheel_freertos.c"

cp "$packaging/arduino/library.properties" "$packaging/arduino/keywords.txt" "$packaging/platformio/library.json" \
    "$packaging/esp-idf/idf_component.yml" "$packaging/esp-idf/CMakeLists.txt" "$root/LICENSE" "$board/"
cp -R "$packaging/arduino/examples/." "$board/examples/"
