# shellcheck shell=bash
# apt-get on the side: with sources, lists and a cache of its own, so that nothing of the system's changes
# and no package is installed. Sourced by the scripts here that fetch something.

# apt_aside DIRECTORY ARGUMENT...: apt-get that sees the entries in DIRECTORY/sources, and no others.
apt_aside() {
    local state=$1
    shift
    mkdir -p "$state/sources" "$state/lists/partial" "$state/cache/archives/partial"
    apt-get -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$state/sources" \
        -o Dir::State::lists="$state/lists" -o Dir::Cache="$state/cache" -o APT::Sandbox::User= "$@"
}

# repository_of PACKAGE: the fields URI and FILE:LINE of the entry that the system has PACKAGE from.
repository_of() {
    local uri repository entry
    uri=$(apt-get download --print-uris "$1" 2>/dev/null | sed -n "s/^'\([^']*\)'.*/\1/p")
    [ -n "$uri" ] || return 1
    while read -r repository entry; do
        [[ $uri != "$repository"* ]] || echo "$repository $entry"
    done < <(apt-get indextargets --format "\$(REPO_URI) \$(SOURCESENTRY)" 'Created-By: Packages') | tail -n 1
}
