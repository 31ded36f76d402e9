# awk -v folder=FOLDER -f cut_blocks.awk PAGE.md
# Copies the ```c blocks of a page into the folder, as block1.c and so on, and prints the names.
!inside && /^```c$/ {
    inside = 1
    name = "block" ++count ".c"
    print "#line " FNR + 1 " \"" FILENAME "\"" > (folder "/" name)
    print name
    next
}

inside && /^```/ { inside = 0 }

inside { print > (folder "/" name) }
