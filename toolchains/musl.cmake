# Linux with musl instead of glibc, on the processor of this machine: cmake --toolchain toolchains/musl.cmake ...
# Needs musl-tools, g++ and linux-libc-dev.
#
# Debian has no libstdc++ for musl. The library does not need one: it is compiled with the headers of the
# libstdc++ for glibc, and linked as C. The same holds for tests in C, and for tests in C++ that call no
# function of libstdc++.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${CMAKE_HOST_SYSTEM_PROCESSOR})
set(CMAKE_C_COMPILER musl-gcc)
set(CMAKE_CXX_COMPILER g++)
set(TW_MUSL ON)

# The kernel's headers, without those of glibc in the same folder.
set(kernel_headers ${CMAKE_BINARY_DIR}/kernel-headers)
file(MAKE_DIRECTORY ${kernel_headers})
file(CREATE_LINK /usr/include/linux ${kernel_headers}/linux SYMBOLIC)
file(CREATE_LINK /usr/include/asm-generic ${kernel_headers}/asm-generic SYMBOLIC)
file(CREATE_LINK /usr/include/${CMAKE_SYSTEM_PROCESSOR}-linux-gnu/asm ${kernel_headers}/asm SYMBOLIC)

# g++ searches only these folders for headers; musl-gcc does the same for C.
execute_process(COMMAND g++ -dumpversion OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE)
execute_process(COMMAND g++ -print-file-name=include OUTPUT_VARIABLE gcc_headers OUTPUT_STRIP_TRAILING_WHITESPACE)
foreach(folder IN ITEMS ${CMAKE_CURRENT_LIST_DIR}/musl /usr/include/c++/${version}
        /usr/include/${CMAKE_SYSTEM_PROCESSOR}-linux-gnu/c++/${version}
        /usr/include/${CMAKE_SYSTEM_PROCESSOR}-linux-musl ${gcc_headers} ${kernel_headers})
    string(APPEND system_headers " -isystem ${folder}")
endforeach()
string(APPEND CMAKE_C_FLAGS_INIT " -isystem ${kernel_headers}")
string(APPEND CMAKE_CXX_FLAGS_INIT " -nostdinc${system_headers}")
# gcc's unwinder is for glibc and needs this function of its loader. Nothing unwinds here.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,--defsym=_dl_find_object=abort")
set(CMAKE_CXX_LINK_EXECUTABLE
    "<CMAKE_C_COMPILER> <CMAKE_CXX_LINK_FLAGS> <LINK_FLAGS> <OBJECTS> -o <TARGET> <LINK_LIBRARIES>")
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)  # g++ cannot link programs for musl by itself
