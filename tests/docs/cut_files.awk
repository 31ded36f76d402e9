# awk -v folder=FOLDER -f cut_files.awk PAGE.md
# Copies each block in C, and each named one in C++, from a page into a file in the folder, and prints the names: that of
# the block ("```c name.h"), else block1.c and so on.
!inside && /^```(c( [a-z_]+\.[ch])?|cpp [a-z_]+\.cpp)$/ {
    inside = 1
    name = NF > 1 ? $2 : "block" ++count ".c"
    print "#line " FNR + 1 " \"" FILENAME "\"" > (folder "/" name)
    print name
    next
}

inside && /^```/ { inside = 0 }

inside { print > (folder "/" name) }
