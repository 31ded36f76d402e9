# The library of durable timers, tickwheel::durable, with the stores whose client libraries are found; the one in
# memory is always there. An optional part: nothing else needs it, and it is left out where there is no database's
# library, unless TW_DURABLE is ON.
if(is_top_level)
    set(durable_default AUTO)
else()
    set(durable_default OFF)  # a project that wants it says so
endif()
tickwheel_setting(TW_DURABLE ${durable_default} "Build the library of durable timers: ON, OFF, or AUTO, if SQLite or libpq is there")

set(durable_stores)
if(TW_DURABLE AND TW_RUNTIME AND NOT CMAKE_CROSSCOMPILING AND NOT TW_MUSL)
    find_package(PkgConfig)
    if(PkgConfig_FOUND)
        pkg_check_modules(TW_SQLITE QUIET IMPORTED_TARGET sqlite3>=3.35)
        pkg_check_modules(TW_POSTGRES QUIET IMPORTED_TARGET libpq)
    endif()
    foreach(store IN ITEMS SQLITE POSTGRES)
        if(TW_${store}_FOUND)
            list(APPEND durable_stores ${store})
        endif()
    endforeach()
    if(TW_DURABLE STREQUAL ON AND NOT durable_stores)
        message(FATAL_ERROR "TW_DURABLE is ON, and pkg-config finds neither sqlite3 nor libpq")
    endif()
endif()
if(NOT durable_stores)
    if(is_top_level AND TW_DURABLE)
        message(STATUS "Durable timers: left out, as pkg-config finds neither sqlite3 nor libpq")
    endif()
    return()
endif()
list(JOIN durable_stores " " durable_stores_text)
message(STATUS "Durable timers: with ${durable_stores_text}")

set(durable_dir ${PROJECT_SOURCE_DIR}/src/durable)
add_library(tickwheel_durable
    ${durable_dir}/check_job.cpp ${durable_dir}/clerk.cpp
    ${durable_dir}/durable.cpp ${durable_dir}/explain.cpp ${durable_dir}/fire.cpp ${durable_dir}/front.cpp
    ${durable_dir}/holding.cpp ${durable_dir}/jobs.cpp ${durable_dir}/line.cpp ${durable_dir}/pacer.cpp
    ${durable_dir}/schedule.cpp ${durable_dir}/settings.cpp ${durable_dir}/gate.cpp
    ${durable_dir}/seen.cpp ${durable_dir}/stores/choice.cpp ${durable_dir}/stores/memory/database.cpp
    ${durable_dir}/stores/memory/members.cpp ${durable_dir}/stores/memory/store.cpp)
if(TW_SQLITE_FOUND)
    foreach(source IN ITEMS connection holding jobs joined members schema statements store)
        target_sources(tickwheel_durable PRIVATE ${durable_dir}/stores/sqlite/${source}.cpp)
    endforeach()
    target_compile_definitions(tickwheel_durable PRIVATE TW_WITH_SQLITE)
    target_link_libraries(tickwheel_durable PRIVATE PkgConfig::TW_SQLITE)
endif()
if(TW_POSTGRES_FOUND)
    foreach(source IN ITEMS link schema statements store values)
        target_sources(tickwheel_durable PRIVATE ${durable_dir}/stores/postgres/${source}.cpp)
    endforeach()
    target_compile_definitions(tickwheel_durable PRIVATE TW_WITH_POSTGRES)
    target_link_libraries(tickwheel_durable PRIVATE PkgConfig::TW_POSTGRES)
endif()
target_link_libraries(tickwheel_durable PUBLIC tickwheel PRIVATE tickwheel_calendar)
target_include_directories(tickwheel_durable PRIVATE ${PROJECT_SOURCE_DIR}/src)
tickwheel_in_cpp(tickwheel_durable durable ${durable_dir}/tickwheel_durable.map)
add_library(tickwheel::durable ALIAS tickwheel_durable)
if(BUILD_SHARED_LIBS AND TW_LINKER_HAS_UNDEFINED_VERSION)  # without SQLite there are fewer functions than in the map
    target_link_options(tickwheel_durable PRIVATE LINKER:--undefined-version)
endif()
