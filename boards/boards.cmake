# The libraries that programs for boards link as well as the wheel: the clocks of chips and the adapters to kernels,
# with their headers.
#
# A project that adds this one as a part may also call these functions, for other images.

# tickwheel_get_family(variable): the family whose clock and start-up code bare metal has, cortexm or riscv, or empty.
# TW_PORT names it; with a port header of your own, the processor does.
function(tickwheel_get_family variable)
    set(family)
    if(TW_PORT MATCHES "^(cortexm|riscv)$")
        set(family ${TW_PORT})
    elseif(NOT TW_PORT MATCHES "^[a-z]+$" AND CMAKE_SYSTEM_NAME STREQUAL Generic)
        string(REGEX MATCH "^(cortex-m|riscv)" family "${CMAKE_SYSTEM_PROCESSOR}")
        string(REPLACE "-" "" family "${family}")
    endif()
    set(${variable} "${family}" PARENT_SCOPE)
endfunction()

# tickwheel_add_clock(target [SLEEP_HOOKS on|off] [DEFINES d...])
#
# For bare metal: the library that counts ticks and sleeps. Its clocks are <tickwheel/board/lptimer.h> and, by the
# family of the chip, <tickwheel/cortexm/systick.h> or <tickwheel/riscv/mtime.h>. With SLEEP_HOOKS, the clocks call
# the program's hooks, <tickwheel/board/hooks.h>.
function(tickwheel_add_clock target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "SLEEP_HOOKS" "DEFINES")
    set(boards ${CMAKE_CURRENT_FUNCTION_LIST_DIR})
    set(clock_cortexm cortexm/systick.c)
    set(clock_riscv riscv/mtime.c)
    tickwheel_get_family(family)
    add_library(${target} STATIC ${boards}/${clock_${family}} ${boards}/common/lptimer.c)
    target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${boards}/include>)
    target_compile_definitions(${target} PRIVATE ${arg_DEFINES})
    if(arg_SLEEP_HOOKS)
        target_compile_definitions(${target} PUBLIC TW_SLEEP_HOOKS)
    endif()
    tickwheel_by_sections(${target})
    target_compile_options(${target} PRIVATE -ffreestanding)
    set_target_properties(${target} PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
endfunction()

# tickwheel_add_adapter(target kernel library)
#
# The timers of <tickwheel/KERNEL/timers.h>. `library` is a wheel with the kernel's port: freertos, with 32-bit ticks,
# or zephyr. `library` and `target` need the folders of the kernel's headers; on FreeRTOS the target freertos_kernel
# provides them, if there is one.
function(tickwheel_add_adapter target kernel library)
    set(boards ${CMAKE_CURRENT_FUNCTION_LIST_DIR})
    add_library(${target} STATIC ${boards}/${kernel}/timers.c)
    target_link_libraries(${target} PUBLIC ${library})
    if(kernel STREQUAL freertos)
        target_link_libraries(${library} PUBLIC $<BUILD_INTERFACE:$<TARGET_NAME_IF_EXISTS:freertos_kernel>>)
    endif()
    tickwheel_by_sections(${target})
    target_compile_options(${target} PRIVATE -ffreestanding)
    set_target_properties(${target} PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON)
endfunction()

# --- the libraries of this project, by TW_PORT ------------------------------------------------

# board_headers(target headers...): adds headers to a target, by their paths in boards/include/tickwheel.
function(board_headers target)
    tickwheel_headers_in(${PROJECT_SOURCE_DIR}/boards/include ${target} PUBLIC ${ARGN})
endfunction()

board_headers(tickwheel board/deadline.h)
tickwheel_get_family(family)
if(family)
    tickwheel_add_clock(tickwheel_clock)
    set_target_properties(tickwheel_clock PROPERTIES EXPORT_NAME clock)
    add_library(tickwheel::clock ALIAS tickwheel_clock)
    board_headers(tickwheel_clock board/hooks.h board/interrupts.h board/lptimer.h)
endif()
if(family STREQUAL cortexm)
    board_headers(tickwheel_clock cortexm/interrupts.h cortexm/systick.h)
elseif(family STREQUAL riscv)
    board_headers(tickwheel_clock riscv/interrupts.h riscv/mtime.h)
elseif(TW_PORT STREQUAL freertos)
    tickwheel_add_adapter(tickwheel_freertos freertos tickwheel)
    set_target_properties(tickwheel_freertos PROPERTIES EXPORT_NAME freertos)
    add_library(tickwheel::freertos ALIAS tickwheel_freertos)
    board_headers(tickwheel_freertos freertos/kernel.h freertos/timers.h)
endif()
