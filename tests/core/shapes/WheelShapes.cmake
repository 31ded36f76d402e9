# Libraries for tests of the core, here and on boards: wheels of other shapes than the library's, and trees. See
# shapes.h.
set(shapes_dir ${CMAKE_CURRENT_LIST_DIR})
set(engine_of_tree ENGINE tree)
set(engine_of_tree32 ENGINE tree32)
set(engine_of_tree_small ENGINE tree SMALL ON)
set(engine_of_tree32_smallest ENGINE tree32 SMALL ON VALIDATION OFF)

# shapes_library(name port shapes...): the functions of tw.h and records.h for wheels of these shapes. A shape is
# BITSxLEVELS, a digit each, and with _plain behind it without look-ahead.
function(shapes_library name port)
    set(sources)
    foreach(shape IN LISTS ARGN)
        string(REGEX MATCHALL "[0-9]" numbers ${shape})
        list(JOIN numbers ", " numbers)
        set(ahead true)
        if(shape MATCHES "plain|x1")
            set(ahead false)
        endif()
        set(source ${CMAKE_CURRENT_BINARY_DIR}/shapes/${shape}.cpp)
        file(CONFIGURE OUTPUT ${source} CONTENT "#include \"shape_api.hpp\"
extern const shape_api shape_${shape};
const shape_api shape_${shape} = api_of_shape<${numbers}, ${ahead}>(\"${shape}\");
")
        list(APPEND sources ${source})
    endforeach()
    list(TRANSFORM ARGN PREPEND shape_ OUTPUT_VARIABLE names)
    list(JOIN names ", " declared)
    list(TRANSFORM names PREPEND & OUTPUT_VARIABLE addresses)
    list(JOIN addresses ", " addresses)
    file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/shapes/${name}.cpp CONTENT "#include \"shape_api.hpp\"
extern const shape_api ${declared};
const shape_api *const all_shapes[] = {${addresses}, nullptr};
")
    tickwheel_add_library(${name} PORT ${port}
        CORE ${shapes_dir}/shapes.cpp ${shapes_dir}/records.cpp
        ${CMAKE_CURRENT_BINARY_DIR}/shapes/${name}.cpp ${sources})
    target_include_directories(${name} PUBLIC ${shapes_dir}/.. ${PROJECT_SOURCE_DIR}/src PRIVATE ${shapes_dir})
endfunction()

# tree_library(name tree port [what else tickwheel_add_library takes]): one of the trees.
function(tree_library name tree port)
    tickwheel_add_library(${name} PORT ${port} ${engine_of_${tree}} ${ARGN})
    target_sources(${name} PRIVATE ${shapes_dir}/one_shape.c)
    target_sources(${name} PRIVATE ${tests_root}/support/left_out.c)
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:C>:-ffreestanding>)  # boards have no C library
    target_include_directories(${name} PUBLIC ${shapes_dir}/.. ${PROJECT_SOURCE_DIR}/src)  # src: for core/door.h
endfunction()
