# cmake -D program=... -P showcase.cmake
# The showcase, shortened: every driver has its row, nothing drifted, virtual time is
# exact, and the verdict is good. This script does not judge the lateness.
execute_process(COMMAND ${program} --seconds-per-driver 0.3
    OUTPUT_VARIABLE printed ERROR_VARIABLE errors RESULT_VARIABLE result)

function(must_match pattern)
    if(NOT printed MATCHES "${pattern}")
        message(FATAL_ERROR "${program} printed\n${printed}\nwhere \"${pattern}\" is missing")
    endif()
endfunction()

if(NOT result EQUAL 0 OR NOT errors STREQUAL "")
    message(FATAL_ERROR "${program} ended with ${result}; it printed\n${printed}\n${errors}")
endif()
set(time "[0-9.]+ [a-z]+")
foreach(driver IN ITEMS sleep epoll timerfd)
    must_match("\n${driver} +${time} +[1-9][0-9]* +${time} +${time} +${time} +[1-9][0-9]* +0 ns in +[1-9][0-9]*\n")
endforeach()
if(NOT printed MATCHES "\nuring +refused: [^\n]+\n")
    must_match("\nuring +${time} +[1-9][0-9]* +${time} +${time} +${time} +[1-9][0-9]* +0 ns in +[1-9][0-9]*\n")
endif()
must_match("\nmanual +1.0 year +302727 +0 ns +0 ns +0 ns +0 +0 ns in +52560\n")
must_match("\n +on time .* 100%")
must_match("\nverdict: good - [0-9]+ fires, 0 early, 0 lost, drift 0 ns\n$")

string(ASCII 27 escape)
string(FIND "${printed}" "${escape}" at)
if(NOT at EQUAL -1)
    message(FATAL_ERROR "${program} printed a terminal's sequences to what is no terminal")
endif()
string(REGEX MATCHALL "\nsleep " rows "${printed}")
list(LENGTH rows count)
if(NOT count EQUAL 1)
    message(FATAL_ERROR "${program} printed the row of a driver ${count} times\n${printed}")
endif()

# Its options.
execute_process(COMMAND ${program} --help OUTPUT_VARIABLE help RESULT_VARIABLE result)
if(NOT result EQUAL 0 OR NOT help MATCHES "--seconds-per-driver")
    message(FATAL_ERROR "${program} --help ended with ${result} and printed\n${help}")
endif()
foreach(wrong IN ITEMS 0 nan 1x 3601)
    execute_process(COMMAND ${program} --seconds-per-driver ${wrong} ERROR_VARIABLE errors RESULT_VARIABLE result)
    if(NOT result EQUAL 2)
        message(FATAL_ERROR "${program} --seconds-per-driver ${wrong} ended with ${result}")
    endif()
endforeach()
