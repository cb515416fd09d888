#!/usr/bin/env bash
# cppcheck over src: warnings, performance, portability. Findings go to stdout; results are kept in build/cppcheck, so that a
# second run looks only at what changed.
set -eu
cd "$(dirname "$0")/.."
mkdir -p build/cppcheck
# missingInclude*: system headers are not read. unmatchedSuppression: not every file needs every suppression here.
# unknownMacro: json_array_foreach, as jansson.h is not read either. normalCheckLevelMaxBranches: a notice of the tool about itself. uninitvar in mel_kernel.c: cppcheck does not know vector
# types, and takes v[l] = x for the use of an unset pointer.
if findings=$(cppcheck --enable=warning,performance,portability --error-exitcode=1 --inline-suppr --std=c11 --quiet -j2 \
    --cppcheck-build-dir=build/cppcheck --template='{file}:{line}: {severity}: {message} [{id}]' \
    --suppress=missingInclude --suppress=missingIncludeSystem --suppress=unmatchedSuppression \
    --suppress=normalCheckLevelMaxBranches --suppress=unknownMacro --suppress=uninitvar:src/audio/mel_kernel.c \
    -DREAL=float -DINSTRUCTIONS=plain -DREGISTER_BYTES=16 -D_GNU_SOURCE -D__BYTE_ORDER__=1234 -D__ORDER_LITTLE_ENDIAN__=1234 -Isrc src 2>&1); then
    echo "ok: cppcheck has no findings in src"
else
    printf '%s\n' "$findings"
    exit 1
fi
