# cmake -D program=... -P orders.cmake
# Each order was reminded. How often and how late depends on which processes were killed, and when.
execute_process(COMMAND ${program} OUTPUT_VARIABLE output RESULT_VARIABLE status)
if(NOT status EQUAL 0 OR NOT output MATCHES
        "\neach of 80 orders was reminded, while [0-9]+ processes were killed: [0-9]+ once, [0-9]+ more often; [0-9.]+ s late at most\n$")
    message(FATAL_ERROR "it ended with ${status} and said:\n${output}")
endif()
