# awk -v folder=FOLDER -f cut_files.awk PAGE.md
# Copies each block of code with a file name ("```c name.h") from a page into that file in the
# folder, and prints the names.
name == "" && /^```c [a-z_]+\.[ch]$/ {
    name = $2
    print "#line " FNR + 1 " \"" FILENAME "\"" > (folder "/" name)
    print name
    next
}

/^```/ { name = "" }

name != "" { print > (folder "/" name) }
