# tickwheel_firmware(name sources... [LIBRARY lib] [CLOCK lib] [MEMORY folder] [STATUS n]
#                    [SHIFT n] [PRINT_SIZE])
#
# Adds a bare-metal image for each machine of QEMU that has the CPU of the build, and a test of each,
# name_machine, which passes if the image ends with STATUS (default 0). The start-up code and the
# linker script come from boards/machines; MEMORY is the folder of another memory.ld. Images include
# their machine's <machine.h>. An instruction takes 2^SHIFT ns (default 6), which the image knows as
# INSTRUCTION_NS.
set(board_root ${CMAKE_CURRENT_LIST_DIR})

tickwheel_get_family(board_family)
if(NOT board_family)
    message(FATAL_ERROR "boards/machines has images for Cortex-M and RISC-V only, not for TW_PORT=${TW_PORT} on "
        "\"${CMAKE_SYSTEM_PROCESSOR}\"; docs/PORTING.md builds the self-test for other chips")
endif()

set(machines_cortex-m0 microbit)
set(machines_cortex-m3 mps2-an385 lm3s6965evb)
set(machines_cortex-m4f mps2-an386)
set(machines_riscv32 virt)
set(firmware_machines ${machines_${CMAKE_SYSTEM_PROCESSOR}})
set(timer_mps2-an386 mps2-an385)  # the same timers

if(board_family STREQUAL riscv)
    find_program(TW_QEMU qemu-system-riscv32)
    set(qemu_family_options -bios none)
else()
    find_program(TW_QEMU qemu-system-arm)
    set(qemu_family_options)
endif()

# tickwheel_qemu(command machine shift): sets the command that runs an image, up to -kernel and its name.
# Deterministic: an instruction takes 2^shift ns, and time does not wait while the image sleeps.
function(tickwheel_qemu command machine shift)
    set(${command} ${TW_QEMU} -machine ${machine} -nographic -monitor none -serial none
        -semihosting-config enable=on,target=native -icount shift=${shift},sleep=off -rtc clock=vm
        ${qemu_family_options} PARENT_SCOPE)
endfunction()

# The start-up code of a machine.
function(tickwheel_add_board machine)
    set(timer ${machine})
    if(DEFINED timer_${machine})
        set(timer ${timer_${machine}})
    endif()
    if(board_family STREQUAL riscv)
        set(timer_source ${board_root}/riscv/timer.c)
    else()
        set(timer_source ${board_root}/${timer}/timer.c)
    endif()
    add_library(board_${machine} OBJECT ${timer_source}
        ${board_root}/begin.c ${board_root}/low_power.c ${board_root}/memory.c ${board_root}/number.c
        ${board_root}/${board_family}/start.c ${board_root}/${board_family}/host.c
        ${board_root}/${board_family}/wait.c)
    set_source_files_properties(${board_root}/memory.c TARGET_DIRECTORY board_${machine}
        PROPERTIES COMPILE_OPTIONS -fno-tree-loop-distribute-patterns)
    target_include_directories(board_${machine} PUBLIC ${board_root}/${machine} ${board_root})
    target_include_directories(board_${machine} PRIVATE ${PROJECT_SOURCE_DIR}/boards/include)
    target_compile_definitions(board_${machine} PRIVATE TW_OWN_WAIT)
    target_compile_options(board_${machine} PUBLIC -ffreestanding PRIVATE -Wno-pedantic)
    set_target_properties(board_${machine} PROPERTIES C_STANDARD 11 C_EXTENSIONS ON)
endfunction()

# QEMU 7.2 gets time wrong while an image sleeps with sleep=off: when a timer that reloads itself, such
# as SysTick, ends a period, time jumps to the end of the next period before QEMU serves the interrupt
# of the first. So images use a wait of their own (boards/machines/FAMILY/wait.c), which also counts
# the waits: a Cortex-M stays awake; RISC-V, whose timer does not reload, uses wfi. An image whose CLOCK
# is built without TW_OWN_WAIT sleeps as programs do.
if(NOT TARGET tickwheel_clock_own_wait)  # included by more than one folder
    tickwheel_add_clock(tickwheel_clock_own_wait DEFINES TW_OWN_WAIT)
    if(NOT firmware_machines)
        message(STATUS "boards/machines has no machine with a ${CMAKE_SYSTEM_PROCESSOR}: no images, no tests")
    elseif(NOT TW_QEMU)
        message(WARNING "QEMU is missing: the images will not run")
    endif()
endif()

function(tickwheel_firmware_test image machine status shift)
    tickwheel_qemu(qemu ${machine} ${shift})
    add_test(NAME ${image} COMMAND sh ${board_root}/exits_with.sh ${status}
        ${qemu} -kernel $<TARGET_FILE:${image}>)
    set_tests_properties(${image} PROPERTIES TIMEOUT 120)
endfunction()

function(tickwheel_firmware name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "PRINT_SIZE" "LIBRARY;CLOCK;MEMORY;STATUS;SHIFT" "")
    if(NOT arg_CLOCK)
        set(arg_CLOCK tickwheel_clock_own_wait)
    endif()
    if(NOT DEFINED arg_STATUS)
        set(arg_STATUS 0)
    endif()
    if(NOT DEFINED arg_SHIFT)
        set(arg_SHIFT 6)
    endif()
    math(EXPR instruction_ns "1 << ${arg_SHIFT}")
    if(NOT arg_LIBRARY)
        set(arg_LIBRARY tickwheel::tickwheel)
    endif()
    foreach(machine IN LISTS firmware_machines)
        set(image ${name}_${machine})
        set(memory ${board_root}/${machine})
        if(arg_MEMORY)
            set(memory ${arg_MEMORY})
        endif()
        if(NOT TARGET board_${machine})
            tickwheel_add_board(${machine})
        endif()
        add_executable(${image} ${arg_UNPARSED_ARGUMENTS})
        target_link_libraries(${image} PRIVATE board_${machine} ${arg_CLOCK} ${arg_LIBRARY} gcc)
        target_link_options(${image} PRIVATE -nostdlib -static LINKER:--gc-sections LINKER:-L,${memory}
            -T ${board_root}/firmware.ld LINKER:--fatal-warnings LINKER:-Map,$<TARGET_FILE:${image}>.map)
        set_target_properties(${image} PROPERTIES SUFFIX .elf LINKER_LANGUAGE C
            C_STANDARD 11 C_STANDARD_REQUIRED ON CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON
            LINK_DEPENDS "${board_root}/firmware.ld;${memory}/memory.ld")
        set_property(GLOBAL APPEND PROPERTY TICKWHEEL_IMAGES $<TARGET_FILE:${image}>)
        if(arg_PRINT_SIZE)  # how much of each region the image uses
            target_link_options(${image} PRIVATE LINKER:--print-memory-usage)
        endif()
        target_compile_definitions(${image} PRIVATE INSTRUCTION_NS=${instruction_ns}u)
        tickwheel_firmware_test(${image} ${machine} ${arg_STATUS} ${arg_SHIFT})
    endforeach()
endfunction()
