# Bare-metal RV32IMAC: cmake --toolchain toolchains/riscv32-none-elf.cmake ...
# Needs gcc-riscv64-unknown-elf, which builds for 32 bits, too. It comes without the headers of C++, so this
# also needs those of another bare-metal gcc: libstdc++-arm-none-eabi-dev.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR riscv32)
set(CMAKE_C_COMPILER riscv64-unknown-elf-gcc)
set(CMAKE_CXX_COMPILER riscv64-unknown-elf-g++)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
# By specification 2.2, where rv32imac includes the CSRs: there is no libgcc for rv32imac_zicsr.
set(board_flags " -march=rv32imac -misa-spec=2.2 -mabi=ilp32 -mcmodel=medlow -msmall-data-limit=0 -ffunction-sections -fdata-sections -fno-unwind-tables -fno-asynchronous-unwind-tables")
string(APPEND CMAKE_C_FLAGS_INIT ${board_flags})
string(APPEND CMAKE_CXX_FLAGS_INIT ${board_flags})

# The core includes freestanding headers only (<cstdint>, <bit>, <type_traits> ...), which are the same for
# every target. Their configuration is that of a bare-metal library, so that they include no others.
execute_process(COMMAND ${CMAKE_COMMAND} -E echo "#include <type_traits>"
    COMMAND ${CMAKE_CXX_COMPILER} -x c++ -fsyntax-only -
    RESULT_VARIABLE has_no_cxx_headers OUTPUT_QUIET ERROR_QUIET)
if(has_no_cxx_headers)
    file(GLOB type_traits /usr/include/newlib/c++/*/type_traits)
    foreach(header IN LISTS type_traits)
        get_filename_component(cxx_headers "${header}" DIRECTORY)
    endforeach()
    if(NOT cxx_headers)
        message(FATAL_ERROR "no headers of C++: install libstdc++-arm-none-eabi-dev")
    endif()
    string(APPEND CMAKE_CXX_FLAGS_INIT " -isystem ${cxx_headers} -isystem ${cxx_headers}/arm-none-eabi")
endif()
