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
