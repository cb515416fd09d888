#!/usr/bin/env bash
# Puts program, C library, what they need of other libraries, voice data, base, manual page, completions and licences into a folder that
# runs wherever it lies. Wheel, Debian package and `make dist` are made of it. usage: tools/pack/bundle.sh BUILD FOLDER [--cuda] [--whole]
#   bin/myxtts   lib/libmyxtts.so   lib/libmyxtts-*   the program, the C library, other people's libraries
#   share/       espeak-ng-data, myxtts/bases, the manual page, completions, doc/myxtts with the licences
# --cuda: and the CUDA part. --whole: and what else a machine without anything lacks, libstdc++, libgcc_s, and the recogniser PocketSphinx
# with its English model, where it is installed; glibc alone is the machine's.
# The other libraries have names of their own here, so that a process which has the same ones from elsewhere loads both. Some are smaller
# than Debian's:
#   ICU        its data without collation, character sets, time zones, units, and currencies and countries in languages that we do not speak
#   pcaudio, GnuTLS, LAPACK   names alone, of what is linked with them: nothing is played, no TLS is spoken, no recogniser adapted here
set -eu
cd "$(dirname "$0")/../.."
build=${1:?which folder was it built into?} to=${2:?which folder is it put into?}
cuda=0 whole=0
for a in "${@:3}"; do
    case $a in --cuda) cuda=1 ;; --whole) whole=1 ;; *) echo "bundle: what is $a?" >&2 && exit 2 ;; esac
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for tool in patchelf icupkg gcc; do
    command -v $tool >/dev/null || { echo "bundle: $tool is missing; apt-get install patchelf icu-devtools gcc" >&2 && exit 3; }
done
rm -rf "$to"
mkdir -p "$to/bin" "$to/lib" "$to/share/doc/myxtts/licences" "$to/share/myxtts/bases"
cp "$build/myxtts" "$to/bin/"
cp "$build/libmyxtts.so" "$to/lib/"
recogniser=
for lib in /usr/lib/*/libpocketsphinx.so.3 /usr/local/lib/libpocketsphinx.so.5; do
    [ $whole = 0 ] || [ -n "$recogniser" ] || [ ! -f "$lib" ] || recogniser=$lib
done
[ -z "$recogniser" ] || cp -L "$recogniser" "$to/lib/"
# What the loader would take: NAME PATH.
ldd "$build/myxtts" "$build/libmyxtts.so" ${recogniser:+"$recogniser"} | awk '$3 ~ /^\// { print $1, $3 }' | sort -u >"$work/found"
path_of() { awk -v n="$1" '$1 == n { print $2; exit }' "$work/found"; }
needs_of() { readelf -dW "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p'; }
new_name() { echo "libmyxtts-${1#lib}"; }

# Which functions of a library some others want: NAME, or NAME@VERSION.
wanted_of() { # its name, those that want...
    local library
    library=$(path_of "$1")
    shift
    nm -D --defined-only "$library" | awk '{ sub(/@.*/, "", $3); print $3 }' | sort -u >"$work/has"
    nm -D --undefined-only "$@" 2>/dev/null | awk 'NF == 2 && $1 == "U" { print $2 }' | sort -u |
        awk -F@ 'NR == FNR { has[$1] = 1; next } $1 in has' "$work/has" -
}
icu_data() { # file to write, its number
    local ours
    ours=$(sed -n 's/^ *{\?\.code = "\([a-z]*\)".*/\1/p' src/config/languages.c | paste -sd'|')
    objcopy -O binary -j .rodata "$(path_of "libicudata.so.$2")" "$work/icudt$2l.dat"
    icupkg -l "$work/icudt$2l.dat" >"$work/items"
    {
        grep -E '^(coll|zone|unit|lang)/|\.cnv$|\.spp$|^confusables\.cfu$' "$work/items"
        grep -E '^(curr|region)/' "$work/items" | grep -vE "/(root|pool|supplementalData|res_index|($ours)(_[A-Za-z0-9_]*)?)\.res$"
    } >"$work/drop.txt"
    mkdir "$work/less" # under the same name, which is in it
    icupkg -r "$work/drop.txt" "$work/icudt$2l.dat" "$work/less/icudt$2l.dat"
    cat >"$work/icu.S" <<ASM
.section .rodata
.balign 16
.globl icudt$2_dat
.type icudt$2_dat, %object
icudt$2_dat: .incbin "$work/less/icudt$2l.dat"
.size icudt$2_dat, . - icudt$2_dat
.section .note.GNU-stack, "", %progbits
ASM
    gcc -shared -nostdlib -o "$1" "$work/icu.S"
}
names_alone() { # file to write, the library's name, who wants it...: its functions do nothing and return 0
    local file=$1 version
    shift
    wanted_of "$@" >"$work/names"
    awk -F@ '{ print "int " $1 "(void); int " $1 "(void) { return 0; }" }' "$work/names" >"$work/names.c"
    for version in $(sed -n 's/.*@//p' "$work/names" | sort -u); do
        echo "$version {" && sed -n "s/@$version\$/;/p" "$work/names" && echo '};'
    done >"$work/map"
    local versions=()
    [ ! -s "$work/map" ] || versions=("-Wl,--version-script=$work/map")
    gcc -shared -fPIC -o "$file" "$work/names.c" ${versions[@]+"${versions[@]}"}
}

# The licence of a library's package, and where its source is.
licence() { # path
    local real package
    real=$(realpath "$1")
    package=$(dpkg -S "$real" 2>/dev/null || dpkg -S "${real#/usr}" 2>/dev/null) || { echo "bundle: no package has $real" >&2 && return; }
    package=${package%%: *}
    cp -L "/usr/share/doc/${package%%:*}/copyright" "$to/share/doc/myxtts/licences/${package%%:*}"
    # shellcheck disable=SC2016 # dpkg expands it
    dpkg-query -W -f '${binary:Package} is of the Debian source package ${source:Package} ${source:Version}\n' "$package" >>"$work/origins"
}
take() { # a library's name, who wants it
    local file
    file=$to/lib/$(new_name "$1")
    case $1 in
    libc.so.* | libm.so.* | libpthread.so.* | libdl.so.* | librt.so.* | ld-linux*) return ;;
    libstdc++.so.* | libgcc_s.so.*)
        [ $whole = 1 ] || return 0
        file=$to/lib/$1
        ;;
    esac
    [ ! -f "$file" ] || return 0
    case $1 in
    libpcaudio.so.* | libgnutls.so.* | libblas.so.* | liblapack.so.*) names_alone "$file" "$1" "$2" ;;
    libicudata.so.*) icu_data "$file" "${1##*.}" && licence "$(path_of "$1")" ;;
    *) cp -L "$(path_of "$1")" "$file" && licence "$(path_of "$1")" ;;
    esac
    chmod 644 "$file"
    for need in $(needs_of "$file"); do take "$need" "$file"; done
}
# The program and the libraries that it loads by name.
for file in "$to/bin/myxtts" "$to/lib/libmyxtts.so" ${recogniser:+"$to/lib/$(basename "$recogniser")"}; do
    for need in $(needs_of "$file"); do take "$need" "$file"; done
done
[ $cuda = 0 ] || cp "$build/libmyxtts_cuda.so" "$to/lib/"

# Each looks for the others beside itself. One change a call: patchelf 0.14 mixes several up.
chmod 755 "$to/bin/myxtts"
for file in "$to/bin/myxtts" "$to"/lib/*; do
    strip --strip-unneeded "$file"
    names=()
    for need in $(needs_of "$file"); do
        [ ! -f "$to/lib/$(new_name "$need")" ] || names+=(--replace-needed "$need" "$(new_name "$need")")
    done
    [ ${#names[@]} = 0 ] || patchelf "${names[@]}" "$file"
    # shellcheck disable=SC2016 # the loader expands it
    case $file in
    */bin/*) patchelf --set-rpath '$ORIGIN/../lib' "$file" ;;
    *) patchelf --set-rpath '$ORIGIN' "$file" ;;
    esac
    case $file in */libmyxtts-*) patchelf --set-soname "$(basename "$file")" "$file" ;; esac
done

data=
for d in "${ESPEAK_DATA_PATH:-}/espeak-ng-data" /usr/lib/*/espeak-ng-data /usr/share/espeak-ng-data /usr/lib/espeak-ng-data; do
    [ -n "$data" ] || [ ! -f "$d/phontab" ] || data=$d
done
[ -n "$data" ] || { echo "bundle: espeak-ng's voice data was not found; install espeak-ng-data" >&2 && exit 3; }
cp -rL "$data" "$to/share/espeak-ng-data"
licence "$data/phontab"
model=/usr/share/pocketsphinx/model/en-us
[ -d "$model" ] || model=/usr/local/share/pocketsphinx/model/en-us
if [ -n "$recogniser" ] && [ -f "$model/en-us.lm.bin" ]; then
    mkdir -p "$to/share/pocketsphinx/en-us"
    for part in en-us en-us.lm.bin cmudict-en-us.dict; do cp -rL "$model/$part" "$to/share/pocketsphinx/en-us/"; done
    licence "$recogniser"
    licence "$model/en-us.lm.bin"
elif [ $whole = 1 ]; then
    echo "bundle: without PocketSphinx, which is not installed here: words cannot be judged" >&2
fi
cp bases/*.safetensors "$to/share/myxtts/bases/"
installed() { mkdir -p "$(dirname "$to/share/$2")" && cp "$build/share/$1" "$to/share/$2"; }
installed myxtts.1 man/man1/myxtts.1
installed completion.bash bash-completion/completions/myxtts
installed completion.zsh zsh/site-functions/_myxtts
installed completion.fish fish/vendor_completions.d/myxtts.fish
cp LICENSE "$to/share/doc/myxtts/LICENSE"
for text in GPL-2 GPL-3 LGPL-2 LGPL-2.1 LGPL-3 Apache-2.0; do cp -L "/usr/share/common-licenses/$text" "$to/share/doc/myxtts/licences/"; done
{
    echo "myxtts is free software under the GNU General Public License, version 3 or later (LICENSE). What came along has its licence here, a file"
    echo "for each package, and its source with Debian: apt-get source PACKAGE=VERSION, or https://snapshot.debian.org."
    echo
    sort -u "$work/origins"
} >"$to/share/doc/myxtts/licences/README"
env -i "$to/bin/myxtts" --version >/dev/null
echo "bundle: $to, $(du -sm "$to" | cut -f1) MB"
