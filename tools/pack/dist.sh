#!/usr/bin/env bash
# Makes of BUILD/dist/myxtts (tools/pack/bundle.sh --whole) an archive for machines where nothing can be installed: it runs from any folder,
# with glibc and nothing else. usage: tools/pack/dist.sh BUILD
set -eu
cd "$(dirname "$0")/../.."
build=${1:?which folder was it built into?}
archive=$build/dist/myxtts-linux-$(uname -m).tar.xz
cp README.md "$build/dist/myxtts/"
tar -C "$build/dist" -cf - myxtts | xz -T2 -6 >"$archive"
echo "dist: $archive, $(du -h "$archive" | cut -f1)B"
