# cmake -D program=... -P first.cmake
# The README's first program ends well and prints its lines. Their number depends on the machine.
execute_process(COMMAND ${program} OUTPUT_VARIABLE output RESULT_VARIABLE status)
if(NOT status EQUAL 0 OR NOT output MATCHES "^(session 7 was idle\n|alive\n((alive|idle)\n)*)$")
    message(FATAL_ERROR "it ended with ${status} and said:\n${output}")
endif()
