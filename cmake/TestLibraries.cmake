# Provides PkgConfig::CMOCKA and GTest::gtest_main for the processor of the tests: the installed libraries,
# or, when cross-compiling, libraries built from their sources.
if(NOT CMAKE_CROSSCOMPILING)
    find_package(PkgConfig REQUIRED)
    pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
    if(TW_RUNTIME AND has_every_program)
        find_package(GTest REQUIRED)
    endif()
    return()
endif()

set(cmocka ${PROJECT_SOURCE_DIR}/build/cmocka)  # fetched once, for all builds
execute_process(COMMAND ${PROJECT_SOURCE_DIR}/toolchains/cmocka.sh ${cmocka} COMMAND_ERROR_IS_FATAL ANY)

add_library(cmocka_of_target STATIC ${cmocka}/src/cmocka.c)
add_library(PkgConfig::CMOCKA ALIAS cmocka_of_target)
target_include_directories(cmocka_of_target SYSTEM PUBLIC ${cmocka}/include)
foreach(header assert inttypes setjmp signal stdarg stddef stdint stdio stdlib string strings time unistd)
    string(TOUPPER HAVE_${header}_H have)
    target_compile_definitions(cmocka_of_target PRIVATE ${have})
endforeach()
target_compile_definitions(cmocka_of_target PRIVATE
    HAVE_SNPRINTF HAVE_VSNPRINTF HAVE_STRUCT_TIMESPEC HAVE_CLOCK_GETTIME_MONOTONIC)

set(libraries cmocka_of_target)

if(TW_RUNTIME AND has_every_program)
    set(BUILD_GMOCK OFF)
    set(INSTALL_GTEST OFF)
    add_subdirectory(/usr/src/googletest ${CMAKE_BINARY_DIR}/googletest EXCLUDE_FROM_ALL)
    list(APPEND libraries gtest gtest_main)
endif()

foreach(library IN LISTS libraries)
    target_compile_options(${library} PRIVATE -w)  # not our code, not our warnings
endforeach()
