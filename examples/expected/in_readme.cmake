# cmake -D example=... -D output=... -D readme=... -P in_readme.cmake
# The README shows the example that is compiled here, byte by byte, and what it prints.
file(READ ${example} source)
file(READ ${output} printed)
file(READ ${readme} text)
foreach(block IN ITEMS "```c\n${source}```\n" "```text\n${printed}```\n")
    string(FIND "${text}" "${block}" at)
    if(at EQUAL -1)
        message(FATAL_ERROR "the README lacks this block as it is:\n${block}")
    endif()
endforeach()
