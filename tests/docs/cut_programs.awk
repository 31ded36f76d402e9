# awk -v folder=FOLDER -f cut_programs.awk PAGE.md
# Copies the ```c and ```cpp blocks of a page into the folder, each as a program named after its
# section, and prints the names. The first block of each language is not a program; all others of
# that language include it.
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
        name = section (++blocks > 1 ? "_" blocks : "") "." language
        if (name in seen)
            fail("two sections of one name")
        seen[name] = 1
        print "#include \"" prelude[language] "\"\n" code > (folder "/" name)
        print name
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
