# awk -v root=FUNCTION -f stack.awk CALLGRAPH.ci: prints the most bytes of stack that a function and its
# callees take; with -v verbose=1 also the call path. Functions go by their link names. Reads gcc's
# -fcallgraph-info=su. With -v by_pointer=FUNCTION, a call by pointer of this function counts as if it were by
# name; callbacks do not count.
function title(line, key) {
    sub(".*" key ": \"", "", line)
    sub("\".*", "", line)
    sub(".*:", "", line)
    sub("^[*]", "", line)  # of a link name that was declared
    return line
}

/^node/ && / bytes \(/ {
    line = $0
    sub(/ bytes \(.*/, "", line)
    sub(/.*\\n/, "", line)
    frame[title($0, "title")] = line + 0
    dynamic = dynamic || /dynamic[^a-z,]/
}
/^edge/ {
    to = title($0, "targetname")
    if (to == "__indirect_call")
        to = by_pointer
    called[title($0, "sourcename")] = called[title($0, "sourcename")] " " to
}

function depth(name, on_way,    list, n, i, below, most) {
    if (index(on_way, " " name " ")) {
        print "recursion: " on_way name
        failed = 1
        return 0
    }
    n = split(called[name], list, " ")
    most = 0
    for (i = 1; i <= n; i++) {
        below = depth(list[i], on_way name " ")
        if (below > most) {
            most = below
            next_of[name] = list[i]
        }
    }
    return frame[name] + most
}

END {
    if (!(root in frame) || dynamic) {
        print "no " root ", or a frame of unknown size"
        exit 1
    }
    print depth(root, " ")
    for (name = root; verbose && name != ""; name = next_of[name])
        printf "  %4d %s\n", frame[name], name
    exit failed
}
