# What the library is built with, by -D or by set() in the project that adds this one: the platform, the engine
# and its geometry, the features, and the runtime. docs/GUIDE.md lists them. Sets features_off.

# tickwheel_setting(name default text): a cache variable. One that the user's project has set already stays as it
# is, which CMake before 3.21 does not ensure.
macro(tickwheel_setting name default text)
    if(DEFINED CACHE{${name}} OR NOT DEFINED ${name})
        set(${name} "${default}" CACHE STRING "${text}")
    endif()
endmacro()

# --- the platform ----------------------------------------------------------------

if(CMAKE_SYSTEM_NAME STREQUAL Linux)
    set(default_port linux)
elseif(CMAKE_SYSTEM_NAME STREQUAL Generic AND CMAKE_SYSTEM_PROCESSOR MATCHES "^cortex-m")
    set(default_port cortexm)
elseif(CMAKE_SYSTEM_NAME STREQUAL Generic AND CMAKE_SYSTEM_PROCESSOR MATCHES "^riscv")
    set(default_port riscv)
elseif(CMAKE_SYSTEM_NAME STREQUAL Generic)
    set(default_port "")  # an unknown part: without a lock its interrupts would race
else()
    set(default_port none)
endif()
tickwheel_setting(TW_PORT "${default_port}"
    "linux, none, cortexm, riscv, freertos, or the path of a port header of your own")
if(TW_PORT STREQUAL "")
    message(FATAL_ERROR "TW_PORT, the lock, has no default for \"${CMAKE_SYSTEM_PROCESSOR}\" without a system: "
        "it is cortexm (PRIMASK), riscv (mstatus.MIE), freertos, none, or the path of a port header; see docs/PORTING.md")
endif()
if(NOT TW_PORT MATCHES "^(linux|none|cortexm|riscv|freertos)$")
    get_filename_component(port_path "${TW_PORT}" ABSOLUTE BASE_DIR "${CMAKE_SOURCE_DIR}")
    if(NOT EXISTS "${port_path}")
        message(FATAL_ERROR "TW_PORT is linux, none, cortexm, riscv, freertos, or the path of a header; there is no ${port_path}")
    endif()
    set(TW_PORT "${port_path}")
endif()
tickwheel_setting(TW_PORT_INCLUDES "" "Folders of the headers that a port header of your own includes")
set(port_includes)
foreach(folder IN LISTS TW_PORT_INCLUDES)
    get_filename_component(folder "${folder}" ABSOLUTE BASE_DIR "${CMAKE_SOURCE_DIR}")
    if(NOT IS_DIRECTORY "${folder}")
        message(FATAL_ERROR "TW_PORT_INCLUDES has folders of headers; there is no ${folder}")
    endif()
    list(APPEND port_includes "${folder}")
endforeach()
set(TW_PORT_INCLUDES "${port_includes}")

tickwheel_setting(TW_BASEPRI "" "With TW_PORT=cortexm: the most urgent priority whose interrupts call the library, \
as BASEPRI takes it (0x40); its lock masks no more urgent ones. Empty: the lock masks all")
if(NOT TW_BASEPRI STREQUAL "" AND NOT (TW_PORT STREQUAL cortexm AND TW_BASEPRI MATCHES "^(0[xX][0-9a-fA-F]+|[1-9][0-9]*)$"))
    message(FATAL_ERROR "TW_BASEPRI is for TW_PORT=cortexm, and a number from 1 to 255 as BASEPRI takes it; this is \"${TW_BASEPRI}\"")
endif()
if(TW_BASEPRI MATCHES "^(0[xX]0*[0-9a-fA-F]|[0-9]|1[0-5])$")
    message(WARNING "TW_BASEPRI=${TW_BASEPRI} masks nothing on a part with up to 4 bits of priority: BASEPRI takes the "
        "priority in its highest bits; 5 of 16 is 0x50")
endif()

# --- the engine --------------------------------------------------------------------

# Boards have few timers and little memory.
if(CMAKE_SYSTEM_NAME STREQUAL Generic OR TW_PORT STREQUAL freertos)
    set(default_engine tree)
else()
    set(default_engine wheel)
endif()
if(default_engine STREQUAL tree AND NOT DEFINED TW_ENGINE AND (DEFINED TW_BITS OR DEFINED TW_LEVELS))
    message(WARNING "TW_BITS and TW_LEVELS are for TW_ENGINE=wheel; here the engine is the tree unless you set it")
endif()
tickwheel_setting(TW_ENGINE ${default_engine} "wheel: slots; or tree: smaller, for few timers (docs/PORTING.md)")
if(DEFINED CACHE{TW_ENGINE})
    set_property(CACHE TW_ENGINE PROPERTY STRINGS wheel tree)
endif()
if(NOT TW_ENGINE MATCHES "^(wheel|tree)$")
    message(FATAL_ERROR "TW_ENGINE is wheel or tree")
endif()
tickwheel_setting(TW_BITS 8 "Of a wheel: bits of a tick per level; each level has 2^TW_BITS slots ahead")
tickwheel_setting(TW_LEVELS 3 "Of a wheel: its levels")
option(TW_LOOKAHEAD "Of a wheel: cascade one block ahead, in idle time (costs twice the slots below the top level)" ON)
tickwheel_setting(TW_TICK_BITS 64 "Width of a tick: 64, or 32 for small parts (wraps; see tw_tick in tw.h)")
if(NOT TW_TICK_BITS MATCHES "^(32|64)$")
    message(FATAL_ERROR "TW_TICK_BITS is 64 or 32")
endif()
if(TW_PORT STREQUAL freertos AND NOT TW_TICK_BITS EQUAL 32)
    message(FATAL_ERROR "TW_PORT=freertos needs TW_TICK_BITS=32: a tick is a TickType_t, and wraps like one")
endif()

# --- the features ------------------------------------------------------------------

option(TW_VALIDATION "Return errors for bad input; OFF: bad input is undefined" ON)
option(TW_OWNER_CHECK "Refuse nodes that are pending on another wheel (64-bit ticks)" ON)
option(TW_WINDOWS "Have tw_arm_within and tw_choose" ON)
option(TW_PERIODIC "Have tw_arm_every" ON)
option(TW_POLICIES "Have TW_BURST and TW_DELAY, beside TW_SKIP" ON)
option(TW_OVERRUNS "Have tw_overruns" ON)
option(TW_BUDGET "Have tw_interrupt, and budgets other than TW_UNBOUNDED" ON)
option(TW_CLEAR "Have tw_clear" ON)
option(TW_LOCK_CHOICE "Have the flag TW_UNLOCKED" ON)
tickwheel_get_features_off(features_off TW)

# --- the runtime -------------------------------------------------------------------

if(TW_PORT STREQUAL linux)
    set(runtime_default ON)
else()
    set(runtime_default OFF)
endif()
option(TW_RUNTIME "Build the runtime and its drivers (Linux)" ${runtime_default})
if(TW_RUNTIME AND NOT TW_PORT STREQUAL linux)
    message(FATAL_ERROR "the runtime needs TW_PORT=linux: its threads share a wheel and wait for each other")
endif()
if(TW_RUNTIME AND NOT TW_TICK_BITS EQUAL 64)
    message(FATAL_ERROR "the runtime needs TW_TICK_BITS=64")
endif()
if(TW_RUNTIME AND TW_ENGINE STREQUAL tree)
    message(FATAL_ERROR "the runtime needs TW_ENGINE=wheel. Set TW_RUNTIME=OFF for a tree without the runtime")
endif()
if(TW_RUNTIME AND features_off)
    list(JOIN features_off " " names)
    message(FATAL_ERROR "the runtime needs all features; this is without: ${names}. "
        "Set TW_RUNTIME=OFF for the wheel alone")
endif()

# The checking build; its table of nodes needs the Linux port, and nodes that name their wheel.
set(can_check OFF)
if(TW_PORT STREQUAL linux AND TW_TICK_BITS EQUAL 64 AND TW_OWNER_CHECK)
    set(can_check ON)
endif()
set(check_default OFF)
if(can_check AND CMAKE_BUILD_TYPE STREQUAL Debug)
    set(check_default ON)
endif()
option(TW_CHECK "Find misuse of nodes and runtimes, and stop the program with a message that says what was done \
wrong, to which node, where it was armed and where this was found (slower, and uses mmap; Linux only; on in Debug builds)"
    ${check_default})
if(TW_CHECK AND NOT can_check)
    message(FATAL_ERROR "TW_CHECK needs TW_PORT=linux, TW_TICK_BITS=64 and TW_OWNER_CHECK=ON: it remembers pending "
        "nodes, by their wheels, in memory of its own")
endif()
