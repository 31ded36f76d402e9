# awk -v folder=FOLDER -f cut_programs.awk PAGE.md...
# Copies the ```c and ```cpp blocks of the pages into the folder, each as a program named after its
# section, and prints the names. The first block of each language is not a program; all others of
# that language include it.
#
# All of them can be linked into one executable: the linker knows the main of NAME.c as guide_NAME, and what else a
# program in C++ defines is in a namespace of its own. programs.h has PROGRAM(NAME) for each.
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
        if (language == "cpp") {
            if (code ~ /#include/ || !sub(/\nint main\(/, "\n} using namespace " name "; int main(", code))
                fail("a program in C++ with headers of its own, or without a main")
            code = "namespace " name " {\n" code
        }
        file = folder "/" name "." language
        print "#include \"" prelude[language] "\"\nint main(void) __asm__(\"guide_" name "\");\n" code > file
        print "PROGRAM(" name ")" > (folder "/programs.h")
        print name "." language
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
