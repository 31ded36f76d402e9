# The public headers, as file sets of the targets that bring them: `cmake --install` puts these in
# place and no others. port.h is not among them: only a port of one's own needs it, which is built
# with the library's source.
#
# With CMAKE_VERIFY_INTERFACE_HEADER_SETS the target all_verify_interface_header_sets compiles each on
# its own, as C++. The presets release (gcc) and lint (clang) do; tests/lint/lint.sh does C.
set(include_dir ${PROJECT_SOURCE_DIR}/include)
set(config_dir ${CMAKE_CURRENT_BINARY_DIR}/tickwheel-config)

# tickwheel_headers(target scope headers...): named from include/tickwheel.
function(tickwheel_headers target scope)
    list(TRANSFORM ARGN PREPEND ${include_dir}/tickwheel/ OUTPUT_VARIABLE headers)
    target_sources(${target} ${scope} FILE_SET HEADERS BASE_DIRS ${include_dir} FILES ${headers})
endfunction()

tickwheel_headers(tickwheel PUBLIC tw.h version.h)
target_sources(tickwheel PUBLIC FILE_SET HEADERS BASE_DIRS ${config_dir}
    FILES ${config_dir}/tickwheel/config.h)
if(TW_RUNTIME)
    tickwheel_headers(tickwheel PUBLIC driver.h handle.h keyed.h runtime.h task.h workers.h)
    tickwheel_headers(tickwheel_cpp INTERFACE
        callback.hpp chrono.hpp cplusplus.hpp pinned_timer.hpp runtime.hpp sleep.hpp tickwheel.hpp timer.hpp
        ttl_map.hpp ttl_map/containers.hpp ttl_map/delay_clock.hpp ttl_map/loads.hpp ttl_map/options.hpp
        ttl_map/shard.hpp workers.hpp)
endif()
if(TW_PORT STREQUAL cortexm)
    tickwheel_headers(tickwheel_clock PUBLIC cortexm/interrupts.h cortexm/systick.h)
elseif(TW_PORT STREQUAL riscv)
    tickwheel_headers(tickwheel_clock PUBLIC riscv/interrupts.h riscv/mtime.h)
endif()
