# Writes config.h, which tells programs the library's settings. This file needs no others, so that Zephyr's
# build can include it.

# tickwheel_write_config(folder ENGINE wheel|tree|tree32 RUNTIME on|off SMALL on|off VALIDATION on|off)
#
# Writes tickwheel/config.h there.
function(tickwheel_write_config folder)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "ENGINE;RUNTIME;SMALL;VALIDATION" "")
    set(TW_TICK_BITS 64)
    if(arg_ENGINE STREQUAL tree32)
        set(TW_TICK_BITS 32)
    endif()
    set(arg_TREE OFF)
    if(arg_ENGINE MATCHES "^tree")
        set(arg_TREE ON)
    endif()
    foreach(name IN ITEMS TREE RUNTIME SMALL VALIDATION)
        set(TW_${name}_01 0)
        if(arg_${name})
            set(TW_${name}_01 1)
        endif()
    endforeach()
    configure_file(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../include/tickwheel/config.h.in ${folder}/tickwheel/config.h @ONLY)
endfunction()
