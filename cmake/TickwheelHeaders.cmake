# The public headers, as file sets of the targets that provide them: `cmake --install` installs these and no
# others. port.h is not among them: only a user's own port needs it, and that is built with the library's
# source.
#
# ./dev lint compiles each header on its own. File sets came with CMake 3.23; older versions install the same
# headers as files.
set(include_dir ${PROJECT_SOURCE_DIR}/include)
set(config_dir ${CMAKE_CURRENT_BINARY_DIR}/tickwheel-config)

# tickwheel_headers_in(folder target scope headers...): the headers are relative to folder/tickwheel.
function(tickwheel_headers_in folder target scope)
    list(TRANSFORM ARGN PREPEND ${folder}/tickwheel/ OUTPUT_VARIABLE headers)
    if(CMAKE_VERSION VERSION_GREATER_EQUAL 3.23)
        target_sources(${target} ${scope} FILE_SET HEADERS BASE_DIRS ${folder} FILES ${headers})
    elseif(TW_INSTALL)
        foreach(header IN LISTS headers)
            file(RELATIVE_PATH place ${folder} ${header})
            get_filename_component(place ${place} DIRECTORY)
            install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${place})
        endforeach()
    endif()
endfunction()

# tickwheel_headers(target scope headers...): the headers are relative to include/tickwheel.
function(tickwheel_headers)
    tickwheel_headers_in(${include_dir} ${ARGN})
endfunction()

tickwheel_headers(tickwheel PUBLIC fires.h must_check.h tw.h version.h)
tickwheel_headers_in(${config_dir} tickwheel PUBLIC config.h)
if(TW_RUNTIME)
    tickwheel_headers(tickwheel PUBLIC driver.h timers.h inspect.h keyed.h observe.h runtime.h task.h trace.h
        workers.h)
    tickwheel_headers(tickwheel_cpp INTERFACE
        callback.hpp chrono.hpp cplusplus.hpp pinned_timer.hpp runtime.hpp sleep.hpp tickwheel.hpp timer.hpp
        senders.hpp ttl_map.hpp ttl_map/containers.hpp ttl_map/delay_clock.hpp ttl_map/loads.hpp ttl_map/options.hpp
        ttl_map/shard.hpp with_timeout.hpp workers.hpp)
endif()
if(TARGET tickwheel_calendar)
    tickwheel_headers_in(${PROJECT_SOURCE_DIR}/calendar/include tickwheel_calendar PUBLIC calendar.h)
endif()
