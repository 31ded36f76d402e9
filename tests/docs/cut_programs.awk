# awk -v folder=FOLDER -f cut_programs.awk PAGE.md...
# Copies the ```c and ```cpp blocks of the pages into the folder, as programs named after their sections, and prints
# the names of the files. The first block of each language is not a program; all others of that language include it.
#
# All programs can be linked into one executable: the linker knows the main of NAME.c as guide_NAME. The programs in
# C++, which include no headers of their own, are in programs.cpp, each in a namespace. programs.h has PROGRAM(NAME)
# for each program.
function fail(what) {
    print FILENAME ":" FNR ": " what > "/dev/stderr"
    failed = 1
    exit 1
}

# "### Cancel safely, before freeing" becomes cancel_safely_before_freeing.
function name_of(heading) {
    heading = tolower(heading)
    gsub(/c\+\+/, "cpp", heading)
    gsub(/[^a-z0-9]+/, "_", heading)
    gsub(/^_|_$/, "", heading)
    return heading
}

language == "" && /^###? / {
    section = name_of($0)
    blocks = 0
}

language == "" && /^```c(pp)?$/ {
    language = substr($0, 4)
    code = "#line " FNR + 1 " \"" FILENAME "\"\n"
    next
}

language != "" && /^```/ {
    if (language in prelude) {
        if (section == "")
            fail("a program before the first section")
        name = section (++blocks > 1 ? "_" blocks : "")
        if (name in seen)
            fail("two sections of one name")
        seen[name] = 1
        include = "#include \"" prelude[language] "\"\n"
        if (language == "c") {
            file = name ".c"
            print include "int main(void) __asm__(\"guide_" name "\");\n" code > (folder "/" file)
            print file
        } else {
            if (code ~ /#include/ || !sub(/\nint main\(\) [{]/, "\nvoid run() {", code))
                fail("a program in C++ with headers of its own, or without a main")
            if (file_in_cpp == "") {
                file_in_cpp = "programs.cpp"
                print include > (folder "/" file_in_cpp)
                print file_in_cpp
            }
            print "namespace " name " {\n" code "}\nextern \"C\" int guide_" name "() {\n    " name "::run();\n    return 0;\n}\n" \
                > (folder "/" file_in_cpp)
        }
        print "PROGRAM(" name ")" > (folder "/programs.h")
    } else {
        prelude[language] = "prelude." language ".h"
        print code > (folder "/" prelude[language])
    }
    language = ""
    next
}

language != "" { code = code $0 "\n" }

END {
    if (!failed && language != "")
        fail("a block that does not end")
}
