#!/usr/bin/env bash
# libmyxtts.so shows exactly the functions of its header, with their version, and needs nothing that it does not name.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/support/shell.sh
. tests/support/shell.sh
out=${MYXTTS_OUT:-build}
library=$out/libmyxtts.so
if [ ! -f "$library" ]; then
    echo "not there: $library (make)" >"$dir/log"
    verdict library_is_built 1
    exit 1
fi

cc -E -P -Isrc src/lib/myxtts.h | grep -oE '\bmyxtts_[a-z_]+\(' | tr -d '(' | sort -u >"$dir/declared"
nm -D --defined-only --with-symbol-versions "$library" | awk '$2 != "A" { print $3 }' | sort -u >"$dir/shown"
sed -i 's/@@MYXTTS_1_[0-9]*$/@@MYXTTS_1/' "$dir/shown"
sed 's/$/@@MYXTTS_1/' "$dir/declared" | diff - "$dir/shown" >"$dir/log"
verdict library_shows_exactly_its_header $?
[ -s "$dir/declared" ]
verdict header_declares_functions $?

readelf -d "$library" >"$dir/log"
log_has library_is_called_by_its_version 'SONAME.*\[libmyxtts\.so\.1\]'
[ "$(readlink "$out/libmyxtts.so.1")" = libmyxtts.so ]
verdict library_is_found_by_that_name $?

# As C of the oldest standard that has its types, and as C++.
echo '#include "lib/myxtts.h"
int main(void) { return myxtts_version() == 0; }' >"$dir/a.c"
cp "$dir/a.c" "$dir/a.cc"
ends_with header_is_strict_c99 0 cc -std=c99 -Wall -Wextra -Wpedantic -Werror -Isrc -fsyntax-only "$dir/a.c"
ends_with header_is_cxx 0 c++ -std=c++11 -Wall -Wextra -Wpedantic -Werror -Isrc -fsyntax-only "$dir/a.cc"
if [ "$out" = build ]; then
    ends_with program_links_with_the_library 0 cc -Isrc "$dir/a.c" -o "$dir/a" "$library" -Wl,-rpath,"$PWD/$out"
    ends_with program_runs_with_the_library 0 "$dir/a"
fi
exit $failed
