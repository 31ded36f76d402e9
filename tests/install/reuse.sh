#!/bin/sh
# reuse.sh BUILD COMPILER ARGUMENT...: a CMAKE_<LANG>_COMPILER_LAUNCHER. Copies the object from BUILD, where the
# preset has compiled the same source with the same options, position-independent as a shared library needs it.
# Compiles what BUILD does not have.
set -eu
build=$1
shift
object='' dependencies='' before=''
for argument; do
    case $before in
    -o) object=$argument ;;
    -MF) dependencies=$argument ;;
    esac
    before=$argument
done
# In a user's project the library is the subdirectory `tickwheel`.
[ -f "$build/${object#tickwheel/}" ] || exec "$@"
cp "$build/${object#tickwheel/}" "$object"
echo "$object:" >"$dependencies"
