# The settings of the library: platform, engine, size and runtime. Set them by -D, or by set() in the project that
# adds this one. docs/GUIDE.md lists them.

# tickwheel_setting(name default text): a cache variable. A variable that the user's project has already set
# keeps its value, which CMake before 3.21 does not ensure.
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
    set(default_port "")  # unknown hardware: interrupts would race without a lock
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
        message(FATAL_ERROR "TW_PORT is linux, none, cortexm, riscv, freertos, or the path of a header, absolute or from "
            "the top project; there is no ${port_path}")
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

# Boards have few timers and little memory. A tick of FreeRTOS is a TickType_t, and wraps like one.
if(TW_PORT STREQUAL freertos)
    set(default_engine tree32)
elseif(CMAKE_SYSTEM_NAME STREQUAL Generic)
    set(default_engine tree)
else()
    set(default_engine wheel)
endif()
tickwheel_setting(TW_ENGINE ${default_engine}
    "wheel: slots; tree: smaller, for few timers; tree32: with ticks of 32 bits, which wrap (docs/PORTING.md)")
if(DEFINED CACHE{TW_ENGINE})
    set_property(CACHE TW_ENGINE PROPERTY STRINGS wheel tree tree32)
endif()
if(NOT TW_ENGINE MATCHES "^(wheel|tree|tree32)$")
    message(FATAL_ERROR "TW_ENGINE is wheel, tree or tree32")
endif()
if(TW_PORT STREQUAL freertos AND NOT TW_ENGINE STREQUAL tree32)
    message(FATAL_ERROR "TW_PORT=freertos needs TW_ENGINE=tree32: a tick is a TickType_t, and wraps like one")
endif()
option(TW_SMALL "For the smallest parts: a tree with what the smallest firmware calls (config.h lists what is left out)" OFF)
if(TW_SMALL AND TW_ENGINE STREQUAL wheel)
    message(FATAL_ERROR "TW_SMALL needs TW_ENGINE=tree or tree32: the slots of a wheel alone take 11 KB")
endif()
option(TW_VALIDATION "Return errors for bad input; OFF: bad input is undefined" ON)

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
if(TW_RUNTIME AND NOT (TW_ENGINE STREQUAL wheel AND TW_VALIDATION))
    message(FATAL_ERROR "the runtime needs TW_ENGINE=wheel and TW_VALIDATION=ON. Set TW_RUNTIME=OFF for an engine alone")
endif()

# The checking build; its table of nodes needs the Linux port, and nodes that name their wheel.
set(can_check OFF)
if(TW_PORT STREQUAL linux AND NOT TW_ENGINE STREQUAL tree32 AND NOT TW_SMALL)
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
    message(FATAL_ERROR "TW_CHECK needs TW_PORT=linux, 64-bit ticks and TW_SMALL=OFF: it remembers pending nodes, by "
        "their wheels, in memory of its own")
endif()
