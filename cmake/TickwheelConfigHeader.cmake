# What the library is built with: its features, and config.h, which tells programs. Stands alone, so that Zephyr's
# build can include it.

# tickwheel_get_features(variable): sets the variable to the features that the library can be built without, for
# boards that pay for each; see config.h. `./dev size` prints what each saves.
function(tickwheel_get_features variable)
    set(${variable} validation owner_check windows periodic policies overruns budget clear lock_choice PARENT_SCOPE)
endfunction()

# tickwheel_get_features_off(variable prefix): sets the variable to those whose option, PREFIX_FEATURE, is off.
function(tickwheel_get_features_off variable prefix)
    set(off)
    tickwheel_get_features(features)
    foreach(feature IN LISTS features)
        string(TOUPPER ${prefix}_${feature} option)
        if(NOT ${option})
            list(APPEND off ${feature})
        endif()
    endforeach()
    set(${variable} ${off} PARENT_SCOPE)
endfunction()

# tickwheel_write_config(folder ENGINE wheel|tree BITS b LEVELS l LOOKAHEAD on|off TICK_BITS 32|64 RUNTIME on|off
#                        [WITHOUT features...])
#
# Writes tickwheel/config.h there. What is empty becomes 0: a tree needs no geometry.
function(tickwheel_write_config folder)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "ENGINE;BITS;LEVELS;LOOKAHEAD;TICK_BITS;RUNTIME" "WITHOUT")
    foreach(number IN ITEMS BITS LEVELS TICK_BITS)
        set(TW_${number} 0)
        if(arg_${number})
            set(TW_${number} ${arg_${number}})
        endif()
    endforeach()
    string(COMPARE EQUAL "${arg_ENGINE}" tree has_tree)
    set(has_lookahead ${arg_LOOKAHEAD})
    set(has_runtime ${arg_RUNTIME})
    tickwheel_get_features(features)
    foreach(feature IN LISTS features)
        set(has_${feature} ON)
    endforeach()
    foreach(feature IN LISTS arg_WITHOUT)
        set(has_${feature} OFF)
    endforeach()
    foreach(name IN ITEMS tree lookahead runtime ${features})
        string(TOUPPER TW_${name}_01 number)
        set(${number} 0)
        if(has_${name})
            set(${number} 1)
        endif()
    endforeach()
    configure_file(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../include/tickwheel/config.h.in ${folder}/tickwheel/config.h @ONLY)
endfunction()
