# cmake -D example=... [-D output=...] -D readme=... -P in_readme.cmake
# The README shows the example that is compiled here, byte by byte, and, if it has an
# output, what it prints.
file(READ ${readme} text)

function(must_show file language)
    file(READ ${file} shown)
    set(block "```${language}\n${shown}```\n")
    string(FIND "${text}" "${block}" at)
    if(at EQUAL -1)
        message(FATAL_ERROR "the README lacks this block as it is:\n${block}")
    endif()
endfunction()

must_show(${example} c)
if(DEFINED output)
    must_show(${output} text)
endif()
