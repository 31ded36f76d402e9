# What `cmake --install` puts in place: the library, its headers, and the files
# by which find_package and pkg-config find them.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS tickwheel EXPORT tickwheel-targets INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TW_RUNTIME)
    install(TARGETS tickwheel_cpp EXPORT tickwheel-targets)
    install(DIRECTORY include/tickwheel DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp" PATTERN "port.h" EXCLUDE
        PATTERN "cortexm" EXCLUDE PATTERN "riscv" EXCLUDE)
else()
    install(FILES include/tickwheel/tw.h include/tickwheel/version.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tickwheel)
endif()
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tickwheel-config/tickwheel/config.h
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tickwheel)
if(TARGET tickwheel_clock)  # <tickwheel/cortexm/systick.h> or <tickwheel/riscv/mtime.h> is its header
    install(TARGETS tickwheel_clock EXPORT tickwheel-targets INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
    install(DIRECTORY include/tickwheel/${TW_PORT} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tickwheel)
endif()

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
