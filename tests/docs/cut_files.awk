# awk -v folder=FOLDER -f cut.awk PAGE.md
# Cuts the blocks of code that have the name of a file ("```c name.h") out of a page, into that
# file in the folder, and prints the names.
name == "" && /^```c [a-z_]+\.[ch]$/ {
    name = $2
    print "#line " FNR + 1 " \"" FILENAME "\"" > (folder "/" name)
    print name
    next
}

/^```/ { name = "" }

name != "" { print > (folder "/" name) }
