# Bare-metal Cortex-M3: cmake --toolchain toolchains/arm-none-eabi.cmake ...
# Needs gcc-arm-none-eabi, libnewlib-arm-none-eabi, libstdc++-arm-none-eabi-dev.
# Builds the library; a board brings its own start-up code and linker script.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR cortex-m3)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_CXX_COMPILER arm-none-eabi-g++)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(board_flags "-mcpu=cortex-m3 -mthumb -ffunction-sections -fdata-sections -fno-unwind-tables -fno-asynchronous-unwind-tables")
set(CMAKE_C_FLAGS_INIT ${board_flags})
set(CMAKE_CXX_FLAGS_INIT ${board_flags})
