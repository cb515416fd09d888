#!/usr/bin/env bash
# The bundle of `make dist` on a machine that has glibc and nothing else: a chroot made here.
set -u
name=dist_bundle_runs_in_a_bare_root
out=${MYXTTS_OUT:-build}
if [ "$out" != build ]; then
    echo "skip $name only the release build is bundled"
    exit 0
fi
if [ "$(id -u)" != 0 ]; then
    echo "skip $name SKIPPED: a chroot needs root"
    exit 0
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
make --no-print-directory dist >"$dir/log" 2>&1 || { cat "$dir/log"; echo "not ok $name"; exit 1; }
for part in lib/libpocketsphinx.so.3 lib/libmyxtts-sphinxbase.so.3 share/pocketsphinx/en-us/en-us/mdef; do
    ls /usr/lib/*/libpocketsphinx.so.3 /usr/share/pocketsphinx/model/en-us >/dev/null 2>&1 || break
    [ -f "$out/dist/myxtts/$part" ] || { echo "not ok dist_bundle_has_the_recogniser: no $part"; exit 1; }
done
root=$dir/root
mkdir -p "$root/data/wavs" "$root/anywhere" "$root/proc" "$root/tmp" "$root/dev"
tar -C "$root/anywhere" -xJf "$out/dist/myxtts-linux-$(uname -m).tar.xz"
for lib in $(ldd "$out/myxtts" | grep -oE '/[^ ]*/(libc|libm|libpthread|libdl|librt|libresolv)\.so\.[0-9]+'); do
    mkdir -p "$root$(dirname "$lib")"
    cp -L "$lib" "$root$lib"
done
loader=$(ldd "$out/myxtts" | grep -oE '/[^ ]*ld-linux[^ ]*')
mkdir -p "$root$(dirname "$loader")"
cp -L "$loader" "$root$loader"
mount -t proc proc "$root/proc" 2>/dev/null && trap 'umount "$root/proc"; rm -rf "$dir"' EXIT
espeak-ng -v en-us -w "$root/data/wavs/a.wav" "hello there"
printf 'a|hello there\n' >"$root/data/metadata.csv"
if chroot "$root" /anywhere/myxtts/bin/myxtts prepare --data-path /data --json >"$dir/json" 2>"$dir/err" &&
    grep -q '"accepted": 1' "$dir/json" &&
    chroot "$root" /anywhere/myxtts/bin/myxtts phonemize --text "hello there" | grep -q 'həlˈoʊ'; then
    echo "ok $name"
else
    cat "$dir/json" "$dir/err"
    echo "not ok $name"
    exit 1
fi
