# cmake -D example=... -D language=... -D readme=... -P in_readme.cmake
# The README shows, byte for byte, the example that this build compiles, and has at most 150 lines.
file(READ ${readme} text)
file(READ ${example} shown)
set(block "```${language}\n${shown}```\n")
string(FIND "${text}" "${block}" at)
if(at EQUAL -1)
    message(FATAL_ERROR "the README lacks this block as it is:\n${block}")
endif()
string(REGEX MATCHALL "\n" lines "${text}")
list(LENGTH lines count)
if(count GREATER 150)
    message(FATAL_ERROR "the README has ${count} lines, more than 150")
endif()
