#!/usr/bin/env bash
# The version of program, library and Python package stands in VERSION; myxtts.h and the Python package repeat it. usage:
#   tools/version.sh          says it; exit 1, and the file, where a copy differs
#   tools/version.sh 0.5.0    sets it everywhere
# The number in the library's name (libmyxtts.so.1) and those of its symbols (MYXTTS_1) are the interface's, and apart from it.
set -eu
cd "$(dirname "$0")/.."
header=src/lib/myxtts.h package=python/myxtts/__init__.py
if [ $# -gt 0 ]; then
    if ! [[ $1 =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]]; then
        echo "version: '$1' is not MAJOR.MINOR.PATCH" >&2
        exit 2
    fi
    IFS=. read -r major minor patch <<<"$1"
    echo "$1" >VERSION
    sed -i "s/\(define MYXTTS_VERSION_MAJOR \).*/\1$major/; s/\(define MYXTTS_VERSION_MINOR \).*/\1$minor/
        s/\(define MYXTTS_VERSION_PATCH \).*/\1$patch/" $header
    sed -i "s/^__version__ = .*/__version__ = \"$1\"/" $package
fi
version=$(cat VERSION)
same() { # file, what it says
    [ "$2" = "$version" ] && return
    echo "version: VERSION says $version, $1 says $2; tools/version.sh $version sets both" >&2
    exit 1
}
same $header "$(awk '/define MYXTTS_VERSION_M|define MYXTTS_VERSION_P/ { v = v "." $3 } END { print substr(v, 2) }' $header)"
same $package "$(sed -n 's/^__version__ = "\(.*\)"/\1/p' $package)"
echo "$version"
