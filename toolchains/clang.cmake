# clang on this machine: cmake --toolchain toolchains/clang.cmake ...
# Programs find the shared runtimes of its sanitizers, which it keeps in a folder of its own. With
# -shared-libsan the tests may stand in for operator new and for calls to the system as they do with
# gcc; the static runtimes define the former and make the latter before they are ready.
set(CMAKE_C_COMPILER clang)
set(CMAKE_CXX_COMPILER clang++)
execute_process(COMMAND clang --print-file-name=libclang_rt.asan-${CMAKE_HOST_SYSTEM_PROCESSOR}.so
    OUTPUT_VARIABLE sanitizer_runtime OUTPUT_STRIP_TRAILING_WHITESPACE)
if(IS_ABSOLUTE "${sanitizer_runtime}")
    get_filename_component(CMAKE_BUILD_RPATH "${sanitizer_runtime}" DIRECTORY)
endif()
