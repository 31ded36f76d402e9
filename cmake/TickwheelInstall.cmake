# Installs the library, its headers (TickwheelHeaders.cmake), and the files by which find_package
# and pkg-config find them.
include(CMakePackageConfigHelpers)

set(installed_targets tickwheel)
foreach(target tickwheel_cpp tickwheel_calendar tickwheel_clock tickwheel_freertos)
    if(TARGET ${target})
        list(APPEND installed_targets ${target})
    endif()
endforeach()
if(CMAKE_VERSION VERSION_GREATER_EQUAL 3.23)
    set(header_sets FILE_SET HEADERS)
endif()
# INCLUDES is for users whose CMake is older than file sets, 3.23.
install(TARGETS ${installed_targets} EXPORT tickwheel-targets
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} ${header_sets})
install(EXPORT tickwheel-targets NAMESPACE tickwheel:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tickwheel)
configure_package_config_file(cmake/tickwheel-config.cmake.in tickwheel-config.cmake
    INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tickwheel)
write_basic_package_version_file(tickwheel-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tickwheel-config.cmake
    ${CMAKE_CURRENT_BINARY_DIR}/tickwheel-config-version.cmake
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tickwheel)

# From the folder of the .pc file, so that the tree may be moved.
file(RELATIVE_PATH pc_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
if(TW_RUNTIME)
    set(pc_threads " -pthread")
endif()
configure_file(cmake/tickwheel.pc.in tickwheel.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tickwheel.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# Who links the static library links what that uses; a shared one has it.
if(TARGET tickwheel_calendar)
    get_target_property(kind tickwheel_calendar TYPE)
    if(kind STREQUAL STATIC_LIBRARY)
        list(TRANSFORM tickwheel_cpp_libraries PREPEND " -l" OUTPUT_VARIABLE pc_cpp_libs)
    endif()
    configure_file(cmake/tickwheel-calendar.pc.in tickwheel-calendar.pc @ONLY)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tickwheel-calendar.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
# The adapters to event loops, which programs copy.
if(TW_RUNTIME AND NOT CMAKE_CROSSCOMPILING)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples/loops DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/tickwheel/examples
        FILES_MATCHING PATTERN "tickwheel_*.h*" PATTERN README.md PATTERN expected EXCLUDE)
endif()

# The man pages, if ./dev reference has written them.
set(man_pages ${PROJECT_SOURCE_DIR}/build/reference/man/man3)
if(TW_RUNTIME)
    install(DIRECTORY ${man_pages} DESTINATION ${CMAKE_INSTALL_MANDIR} OPTIONAL FILES_MATCHING PATTERN "*.3")
endif()
