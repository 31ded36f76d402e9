# cmake -D program=... [-D argument=...] -D expected=... -P compare.cmake
execute_process(COMMAND ${program} ${argument} OUTPUT_VARIABLE printed RESULT_VARIABLE result)
if(NOT result EQUAL 0)
    message(FATAL_ERROR "${program} ended with ${result}; it printed\n${printed}")
endif()
file(READ ${expected} wanted)
if(NOT printed STREQUAL wanted)
    message(FATAL_ERROR "${program} printed\n${printed}\nwhere ${expected} has\n${wanted}")
endif()
