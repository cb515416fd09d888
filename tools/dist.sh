#!/usr/bin/env bash
# A bundle that runs from any folder on a Linux machine with glibc >= 2.36 and nothing installed:
#   myxtts/bin/myxtts           the program, which finds everything relative to itself
#   myxtts/lib/                 the libraries it needs (not glibc's own), and the CUDA part where it was built
#   myxtts/share/espeak-ng-data voices
#   myxtts/share/myxtts/bases   what voices of a few minutes begin with
#   myxtts/share/pocketsphinx   the recogniser's English model (its library is in lib/), where it is installed
# usage: tools/dist.sh OUT_DIR    (called by `make dist`, which has linked OUT_DIR/dist/myxtts/bin/myxtts)
#        tools/dist.sh --extra PROGRAM
# --extra lists libraries that the bundled program has to name itself: those that a library with a search path of its own (DT_RUNPATH)
# needs, because the loader then ignores the program's path for them. Once loaded for the program they serve everyone.
set -eu
if [ "$1" = --extra ]; then
    ldd "$2" | awk '$3 ~ /^\// {print $3}' | while read -r lib; do
        readelf -d "$lib" | grep -q RUNPATH || continue
        readelf -d "$lib" | sed -n 's/.*NEEDED.*\[\(.*\)\].*/\1/p' | while read -r need; do
            case $need in libc.so.*|libm.so.*|libpthread.so.*|libdl.so.*|librt.so.*|ld-linux*) continue ;; esac
            ldd "$2" | awk -v n="$need" '$1 == n && $3 ~ /^\// {print $3}'
        done
    done | sort -u | tr '\n' ' '
    exit 0
fi
out=$1
root=$out/dist/myxtts
mkdir -p "$root/lib" "$root/share"
rm -rf "$root/lib"/* "$root/share"/*

# Everything but glibc, which must be the machine's own.
copy_libraries_of() {
    ldd "$1" | awk '$3 ~ /^\// {print $3}' | while read -r lib; do
        case $(basename "$lib") in
        libc.so.*|libm.so.*|libpthread.so.*|libdl.so.*|librt.so.*|libresolv.so.*|libutil.so.*|ld-linux*) ;;
        *) [ -f "$root/lib/$(basename "$lib")" ] || cp -L "$lib" "$root/lib/" ;;
        esac
    done
}
copy_libraries_of "$root/bin/myxtts"
[ ! -f "$out/libmyxtts_cuda.so" ] || cp "$out/libmyxtts_cuda.so" "$root/lib/"

# The recogniser is loaded at run time, so the program does not name it.
recogniser="" model=/usr/share/pocketsphinx/model/en-us
for lib in /usr/lib/*/libpocketsphinx.so.3 /usr/local/lib/libpocketsphinx.so.5; do
    [ -n "$recogniser" ] || [ ! -f "$lib" ] || recogniser=$lib
done
[ -d "$model" ] || model=/usr/local/share/pocketsphinx/model/en-us
if [ -n "$recogniser" ] && [ -f "$model/en-us.lm.bin" ]; then
    cp -L "$recogniser" "$root/lib/"
    copy_libraries_of "$recogniser"
    mkdir -p "$root/share/pocketsphinx/en-us"
    for part in en-us en-us.lm.bin cmudict-en-us.dict; do
        cp -rL "$model/$part" "$root/share/pocketsphinx/en-us/"
    done
    notice=/usr/share/doc/pocketsphinx-en-us/copyright
    [ ! -f "$notice" ] || cp -L "$notice" "$root/share/pocketsphinx/"
    echo "dist: with PocketSphinx; its English model takes $(du -sh "$root/share/pocketsphinx" | cut -f1)B"
else
    echo "dist: without PocketSphinx, which is not installed here: the bundle cannot judge words"
fi
chmod -R u+w "$root/lib"
strip --strip-unneeded "$root/bin/myxtts" "$root"/lib/*.so* 2>/dev/null || true

data=""
for d in "${ESPEAK_DATA_PATH:-}/espeak-ng-data" /usr/lib/*/espeak-ng-data /usr/share/espeak-ng-data /usr/lib/espeak-ng-data; do
    if [ -f "$d/phontab" ]; then
        data=$d
        break
    fi
done
if [ -z "$data" ]; then
    echo "dist: espeak-ng's voice data was not found; install espeak-ng-data" >&2
    exit 3
fi
cp -rL "$data" "$root/share/espeak-ng-data"
for base in bases/*.safetensors; do
    [ -f "$base" ] || continue
    mkdir -p "$root/share/myxtts/bases"
    cp -L "$base" "$root/share/myxtts/bases/"
done
cp LICENSE README.md "$root/"
tar -C "$out/dist" -czf "$out/dist/myxtts-linux-$(uname -m).tar.gz" myxtts
echo "dist: $out/dist/myxtts-linux-$(uname -m).tar.gz, $(du -h "$out/dist/myxtts-linux-$(uname -m).tar.gz" | cut -f1)B"
