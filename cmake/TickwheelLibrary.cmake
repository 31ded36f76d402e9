# tickwheel_add_library(target PORT port [ENGINE wheel|tree|tree32] [SMALL on|off] [VALIDATION on|off]
#                       [PORT_INCLUDES folder...] [BASEPRI priority] [RUNTIME on|off] [CHECK on|off]
#                       [CORE source...])
# where port is a folder of src/ports or boards, or the path of a header, absolute or from the top project
#
# Adds a library. By default ENGINE is wheel, VALIDATION is on, and the other switches are off. RUNTIME adds the
# runtime and its drivers. CORE names sources that replace src/core/c_api.cpp. The project builds one library;
# the tests build several, each with its own config.h.
#
# A project that adds this one as a part may also call these functions, for further images.
include(${CMAKE_CURRENT_LIST_DIR}/TickwheelConfigHeader.cmake)

# Some packagers pass absolute folders. Relative to the prefix, the installed files find each other wherever the prefix
# moves. Only the libraries may not be relative and outside the prefix: CMake could not find the prefix from there.
include(GNUInstallDirs)
foreach(folder IN ITEMS BIN LIB INCLUDE DATA MAN)
    if(IS_ABSOLUTE "${CMAKE_INSTALL_${folder}DIR}")
        file(RELATIVE_PATH relative "${CMAKE_INSTALL_PREFIX}" "${CMAKE_INSTALL_${folder}DIR}")
        if(NOT relative MATCHES "^\\.\\." OR NOT folder STREQUAL LIB)
            set(CMAKE_INSTALL_${folder}DIR ${relative})
        endif()
    endif()
endforeach()

if(BUILD_SHARED_LIBS)
    include(CheckLinkerFlag)
    check_linker_flag(C LINKER:--undefined-version TW_LINKER_HAS_UNDEFINED_VERSION)
endif()

function(tickwheel_get_runtime_sources variable)
    set(${variable}
        src/runtime/cancel_all.cpp src/runtime/components.cpp src/runtime/descriptors.cpp src/runtime/refusal.cpp
        src/base/exceptions.c src/runtime/fork.cpp src/runtime/labels.cpp src/runtime/lanes.cpp src/runtime/lifetime.cpp
        src/runtime/meter.cpp src/runtime/nodes.cpp src/runtime/queries.cpp src/runtime/stopwatch.cpp
        src/runtime/threads.cpp src/runtime/turn.cpp src/runtime/virtual_time.cpp src/runtime/wall.cpp
        src/workers/pool.cpp src/workers/workers.cpp
        src/timers/cells.cpp src/timers/record_space.cpp src/timers/timers.cpp src/timers/key_table.cpp
        src/timers/keyed.cpp src/timers/record_life.cpp src/timers/record_move.cpp src/timers/record_set.cpp
        src/timers/record_start.cpp src/timers/record_store.cpp src/timers/slab.cpp src/timers/spare_memory.cpp
        src/observe/counters.cpp src/observe/dump.cpp src/observe/escaped.cpp src/observe/inspect.cpp
        src/observe/inspect_answer.cpp src/observe/inspect_socket.cpp src/observe/metrics.cpp
        src/observe/pending.cpp src/observe/slow.cpp src/observe/text.cpp src/observe/trace.cpp
        src/observe/trace_write.cpp
        src/ports/linux/epoll_pwait2.cpp
        drivers/driver_by_name.cpp drivers/epoll.cpp drivers/kernel_ring.cpp drivers/manual.cpp drivers/sleep.cpp
        drivers/timerfd.cpp drivers/uring.cpp drivers/watches.cpp PARENT_SCOPE)
endfunction()

# Puts each function into a section of its own, so that a program linked with --gc-sections contains only the
# functions that it calls. Without that flag, the sections cost a program nothing.
function(tickwheel_by_sections target)
    target_compile_options(${target} PRIVATE -ffunction-sections -fdata-sections)
endfunction()

# tickwheel_get_port_header(variable port): sets the variable to the header of a port, named as in TW_PORT.
function(tickwheel_get_port_header variable port)
    get_filename_component(tickwheel_root ${CMAKE_CURRENT_FUNCTION_LIST_DIR} DIRECTORY)
    if(NOT port MATCHES "^[a-z]+$")
        get_filename_component(port "${port}" ABSOLUTE BASE_DIR "${CMAKE_SOURCE_DIR}")
        set(${variable} ${port} PARENT_SCOPE)
        return()
    endif()
    foreach(folder IN ITEMS src/ports boards)
        if(EXISTS ${tickwheel_root}/${folder}/${port}/port.h)
            set(${variable} ${tickwheel_root}/${folder}/${port}/port.h PARENT_SCOPE)
            return()
        endif()
    endforeach()
    message(FATAL_ERROR "there is no port ${port}: TW_PORT is one of src/ports or boards, or the path of a header")
endfunction()

function(tickwheel_add_library target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "ENGINE;SMALL;VALIDATION;PORT;BASEPRI;RUNTIME;CHECK"
        "PORT_INCLUDES;CORE")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "tickwheel_add_library(${target} ...) does not take: ${arg_UNPARSED_ARGUMENTS}")
    endif()

    get_filename_component(tickwheel_root ${CMAKE_CURRENT_FUNCTION_LIST_DIR} DIRECTORY)

    if(NOT DEFINED arg_ENGINE)
        set(arg_ENGINE wheel)
    endif()
    if(NOT DEFINED arg_VALIDATION)
        set(arg_VALIDATION ON)
    endif()
    # The wheel has features that only the runtime uses. In a build with a runtime, every library whose engine
    # supports them has them, so that the tests of the wheel alone cover these features.
    set(has_runtime OFF)
    if(TW_RUNTIME AND arg_ENGINE STREQUAL wheel)
        set(has_runtime ON)
    endif()
    set(config_dir ${CMAKE_CURRENT_BINARY_DIR}/${target}-config)
    tickwheel_write_config(${config_dir} ENGINE ${arg_ENGINE} RUNTIME ${has_runtime} SMALL ${arg_SMALL}
        VALIDATION ${arg_VALIDATION})

    if(NOT arg_CORE)
        set(arg_CORE ${tickwheel_root}/src/core/c_api.cpp)
    endif()
    add_library(${target} ${arg_CORE})
    if(arg_PORT STREQUAL linux)
        target_sources(${target} PRIVATE ${tickwheel_root}/src/ports/linux/lock.cpp
            ${tickwheel_root}/src/ports/linux/observed.cpp
            ${tickwheel_root}/src/$<IF:$<BOOL:${arg_CHECK}>,check/report,ports/linux/tell>.cpp)
    endif()
    if(arg_CHECK)
        target_sources(${target} PRIVATE ${tickwheel_root}/src/check/node_misuse.cpp
            ${tickwheel_root}/src/check/node_table.cpp)
        target_compile_definitions(${target} PRIVATE TW_CHECK)
        target_link_libraries(${target} PRIVATE ${CMAKE_DL_LIBS})
    endif()
    tickwheel_get_port_header(port_header ${arg_PORT})
    if(arg_BASEPRI)  # programs mask interrupts by it, too
        target_compile_definitions(${target} PUBLIC TW_BASEPRI=${arg_BASEPRI})
    endif()

    if(arg_RUNTIME)
        find_package(Threads REQUIRED)
        target_link_libraries(${target} PUBLIC Threads::Threads)
        tickwheel_get_runtime_sources(runtime_sources)
        list(TRANSFORM runtime_sources PREPEND ${tickwheel_root}/)
        target_sources(${target} PRIVATE ${runtime_sources})
        if(arg_CHECK)
            target_sources(${target} PRIVATE ${tickwheel_root}/src/runtime/registry.cpp)
        endif()
        # Exceptions of callbacks pass through the library; see exceptions.h.
        target_compile_options(${target} PRIVATE -funwind-tables)
        set_property(SOURCE ${tickwheel_root}/src/base/exceptions.c TARGET_DIRECTORY ${target}
            PROPERTY COMPILE_OPTIONS -fexceptions)
        # The system's times have 64 bits on 32-bit systems, too; none of our headers shows these types.
        target_compile_definitions(${target} PRIVATE _TIME_BITS=64 _FILE_OFFSET_BITS=64)
    endif()

    # config.h is generated, and has a folder of its own in the build tree.
    target_include_directories(${target} PUBLIC
        $<BUILD_INTERFACE:${tickwheel_root}/include>
        $<BUILD_INTERFACE:${tickwheel_root}/boards/include>
        $<BUILD_INTERFACE:${config_dir}>)
    target_include_directories(${target} PRIVATE ${tickwheel_root}/src ${arg_PORT_INCLUDES})
    target_compile_definitions(${target} PRIVATE TW_PORT_HEADER="${port_header}")
    if(has_runtime OR arg_PORT STREQUAL linux)
        target_compile_features(${target} PRIVATE cxx_std_20)
    else()
        target_compile_features(${target} PRIVATE cxx_std_17)  # only the core supports older compilers
    endif()
    set_property(SOURCE ${arg_CORE} TARGET_DIRECTORY ${target}
        PROPERTY COMPILE_OPTIONS -ffreestanding)
    # Without vectorisation: gcc would combine the two pointers of a link into one 16-byte store,
    # and the next load of one of them then waits for it (a third of a re-arm).
    target_compile_options(${target} PRIVATE -fno-tree-slp-vectorize -fvisibility=hidden
        $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fno-rtti -fno-threadsafe-statics>)
    tickwheel_by_sections(${target})
    target_link_options(${target} PRIVATE LINKER:--as-needed)
    if(BUILD_SHARED_LIBS)
        set(map ${tickwheel_root}/src/tickwheel.map)
        target_link_options(${target} PRIVATE LINKER:--version-script=${map})
        set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${map})
        if(TW_LINKER_HAS_UNDEFINED_VERSION)  # without the runtime, the library lacks functions of the map
            target_link_options(${target} PRIVATE LINKER:--undefined-version)
        endif()
    endif()
    set_target_properties(${target} PROPERTIES
        CXX_EXTENSIONS OFF
        LINKER_LANGUAGE C)  # the library does not use the C++ runtime
    if(PROJECT_NAME STREQUAL tickwheel)
        set_target_properties(${target} PROPERTIES
            VERSION ${PROJECT_VERSION} SOVERSION 0)  # independent of the release: see src/tickwheel.map
    endif()
    if(UNIX)  # a board has no loader
        set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    endif()
endfunction()

# The libraries that a program in C needs if it links a library in C++: the C compiler does not add them.
set(tickwheel_cpp_libraries ${CMAKE_CXX_IMPLICIT_LINK_LIBRARIES})
list(FILTER tickwheel_cpp_libraries INCLUDE REGEX "^(stdc|c)\\+\\+$")

# tickwheel_in_cpp(target name map): a library of this project with a C interface that needs the C++ library; it
# is installed as tickwheel::name. The shared one exports what the map names.
function(tickwheel_in_cpp target name map)
    target_link_libraries(${target} PRIVATE ${tickwheel_cpp_libraries})
    target_compile_features(${target} PRIVATE cxx_std_20)
    target_compile_options(${target} PRIVATE -fvisibility=hidden $<$<COMPILE_LANGUAGE:CXX>:-fno-rtti>)
    set_target_properties(${target} PROPERTIES
        CXX_EXTENSIONS OFF UNITY_BUILD OFF POSITION_INDEPENDENT_CODE ON EXPORT_NAME ${name}
        VERSION ${PROJECT_VERSION} SOVERSION 0
        INSTALL_RPATH $ORIGIN)  # the other libraries are in the same folder
    target_link_options(${target} PRIVATE LINKER:--as-needed)
    if(BUILD_SHARED_LIBS)
        target_link_options(${target} PRIVATE LINKER:--version-script=${map})
        set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${map})
    endif()
endfunction()

# tickwheel_install_pc(name target): the target's file for pkg-config, from cmake/NAME.pc.in of the project.
function(tickwheel_install_pc name target)
    # The prefix relative to the folder of the .pc file, so that the installed tree can be moved.
    get_filename_component(libraries "${CMAKE_INSTALL_LIBDIR}" ABSOLUTE BASE_DIR "${CMAKE_INSTALL_PREFIX}")
    file(RELATIVE_PATH pc_prefix "${libraries}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
    string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
    file(RELATIVE_PATH pc_libdir "${CMAKE_INSTALL_PREFIX}" "${libraries}")
    get_target_property(kind ${target} TYPE)
    if(kind STREQUAL STATIC_LIBRARY)  # a shared library has its own dependencies
        list(TRANSFORM tickwheel_cpp_libraries PREPEND " -l" OUTPUT_VARIABLE pc_cpp_libs)
    endif()
    configure_file(cmake/${name}.pc.in ${name}.pc @ONLY)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
