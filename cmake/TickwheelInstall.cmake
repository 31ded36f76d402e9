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
# INCLUDES is for users with a CMake older than 3.23, which has no file sets.
install(TARGETS ${installed_targets} EXPORT tickwheel-targets
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} ${header_sets})
install(EXPORT tickwheel-targets NAMESPACE tickwheel:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tickwheel)
configure_package_config_file(cmake/tickwheel-config.cmake.in tickwheel-config.cmake
    INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tickwheel)
write_basic_package_version_file(tickwheel-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tickwheel-config.cmake
    ${CMAKE_CURRENT_BINARY_DIR}/tickwheel-config-version.cmake
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tickwheel)

if(TW_RUNTIME)
    set(pc_threads " -pthread")
endif()
tickwheel_install_pc(tickwheel tickwheel)
if(TARGET tickwheel_calendar)
    tickwheel_install_pc(tickwheel-calendar tickwheel_calendar)
endif()

# The adapters to event loops. They are in no file set, because a build must not need the libraries of all loops.
if(TW_RUNTIME)
    install(DIRECTORY ${include_dir}/tickwheel/loops DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tickwheel)
endif()

# The man pages, if ./dev reference has written them.
set(man_pages ${PROJECT_SOURCE_DIR}/build/reference/man/man3)
if(TW_RUNTIME)
    install(DIRECTORY ${man_pages} DESTINATION ${CMAKE_INSTALL_MANDIR} OPTIONAL FILES_MATCHING PATTERN "*.3")
endif()
