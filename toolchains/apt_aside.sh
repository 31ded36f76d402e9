# shellcheck shell=bash
# Runs apt-get with separate sources, lists and cache, so that it changes nothing in the system and installs
# no package. The scripts here that download something source this file.

# apt_aside DIRECTORY ARGUMENT...: runs an apt-get that sees only the entries in DIRECTORY/sources.
apt_aside() {
    local state=$1
    shift
    mkdir -p "$state/sources" "$state/lists/partial" "$state/cache/archives/partial"
    apt-get -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$state/sources" \
        -o Dir::State::lists="$state/lists" -o Dir::Cache="$state/cache" -o APT::Sandbox::User= "$@"
}

# repository_of PACKAGE: prints the URI and the FILE:LINE of the entry from which the system gets PACKAGE.
repository_of() {
    local uri repository entry
    uri=$(apt-get download --print-uris "$1" 2>/dev/null | sed -n "s/^'\([^']*\)'.*/\1/p")
    [ -n "$uri" ] || return 1
    while read -r repository entry; do
        [[ $uri != "$repository"* ]] || echo "$repository $entry"
    done < <(apt-get indextargets --format "\$(REPO_URI) \$(SOURCESENTRY)" 'Created-By: Packages') | tail -n 1
}

# fetch_source PACKAGE SOURCE DIRECTORY: puts the source package SOURCE into DIRECTORY/package, from the entry of
# which the system gets PACKAGE. The system need not list source packages: a copy of the file with that entry,
# rewritten, does. DIRECTORY is absolute.
fetch_source() {
    local found entry
    read -r _ entry <<<"$(repository_of "$1")"
    found=${entry%:*}
    [ -e "$found" ] || {
        echo "apt-get does not know $1; run apt-get update first" >&2
        return 1
    }
    mkdir -p "$3/sources" "$3/package"
    # Both forms of an entry: "Types: deb" and "deb [options] ...".
    sed -e 's/^Types:.*/Types: deb-src/' -e 's/^deb\([[:space:]]\)/deb-src\1/' "$found" \
        >"$3/sources/source.${found##*.}"
    apt_aside "$3" update -qq
    (cd "$3/package" && apt_aside "$3" source -qq --download-only "$2")
}
