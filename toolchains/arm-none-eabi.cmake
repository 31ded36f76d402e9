# Bare-metal Cortex-M: cmake --toolchain toolchains/arm-none-eabi.cmake -DTW_CPU=cortex-m3 ...
# Needs gcc-arm-none-eabi, libnewlib-arm-none-eabi, libstdc++-arm-none-eabi-dev.
if(NOT TW_CPU)  # cortex-m0, cortex-m3, cortex-m4f, or any value of -mcpu
    set(TW_CPU cortex-m3)
endif()
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TW_CPU)
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR ${TW_CPU})
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_CXX_COMPILER arm-none-eabi-g++)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
if(TW_CPU STREQUAL cortex-m4f)
    set(cpu_flags "-mcpu=cortex-m4 -mfpu=fpv4-sp-d16 -mfloat-abi=hard")
else()
    set(cpu_flags "-mcpu=${TW_CPU} -mfloat-abi=soft")
endif()
set(board_flags " ${cpu_flags} -mthumb -ffunction-sections -fdata-sections -fno-unwind-tables -fno-asynchronous-unwind-tables")
string(APPEND CMAKE_C_FLAGS_INIT ${board_flags})
string(APPEND CMAKE_CXX_FLAGS_INIT ${board_flags})
