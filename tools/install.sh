#!/usr/bin/env bash
# Puts what was built under $PREFIX, or takes it away again; `make install` and `make uninstall` call it. usage:
#   PREFIX=/usr/local [DESTDIR=STAGING] tools/install.sh BUILD
#   PREFIX=/usr/local [DESTDIR=STAGING] tools/install.sh --remove
# With DESTDIR everything goes below that folder, for packagers; the files themselves say PREFIX.
set -eu
cd "$(dirname "$0")/.."
prefix=${PREFIX:-/usr/local} root=${DESTDIR:-}
case $prefix in
/*) ;;
*)
    echo "install: PREFIX is '$prefix', but must be a path from the root" >&2
    exit 2
    ;;
esac
prefix=${prefix%/}
to=$root$prefix
version=$(tools/version.sh)

# Every file that is installed: where, and from which one of the build; links have what they point to.
files="bin/myxtts myxtts
lib/libmyxtts.so.1 libmyxtts.so
lib/libmyxtts_cuda.so libmyxtts_cuda.so
share/man/man1/myxtts.1 share/myxtts.1
share/bash-completion/completions/myxtts share/completion.bash
share/zsh/site-functions/_myxtts share/completion.zsh
share/fish/vendor_completions.d/myxtts.fish share/completion.fish"
links="lib/libmyxtts.so libmyxtts.so.1"
header=include/myxtts.h config=lib/pkgconfig/myxtts.pc bases=share/myxtts/bases

# Programs find a library in /usr/local/lib only when the linker's cache knows it.
refresh() {
    [ -n "$root" ] || [ "$(id -u)" != 0 ] || ldconfig 2>/dev/null || :
}

if [ "${1:-}" = --remove ]; then
    while read -r file _; do rm -f "$to/$file"; done <<<"$files
$links
$header
$config"
    rm -f "$to/$bases"/*.safetensors
    rmdir "$to/$bases" "$to/share/myxtts" 2>/dev/null || :
    refresh
    echo "removed from $to"
    exit
fi

build=${1:?which folder was it built into?}
put() { # mode, from, to
    mkdir -p "$(dirname "$3")"
    # A program that runs goes on with the old file.
    install -m "$1" "$2" "$3.new"
    mv -f "$3.new" "$3"
}
while read -r file from; do
    # Built where there is nvcc. One of another version must not stay.
    if [ "$from" = libmyxtts_cuda.so ] && [ ! -f "$build/$from" ]; then
        rm -f "$to/$file"
        continue
    fi
    mode=644
    case $file in bin/*) mode=755 ;; esac
    put $mode "$build/$from" "$to/$file"
done <<<"$files"
rm -f "$to"/lib/libmyxtts.so.1.* # so it was called before 0.4
while read -r link target; do ln -sfn "$target" "$to/$link"; done <<<"$links"
put 644 src/lib/myxtts.h "$to/$header"
for base in bases/*.safetensors; do
    [ ! -f "$base" ] || put 644 "$base" "$to/$bases/${base##*/}"
done

# Where the linker does not look by itself, programs are told where the library is.
run_path=
case $prefix in "" | /usr | /usr/local) ;; *) run_path=" -Wl,-rpath,\"\${libdir}\"" ;; esac
mkdir -p "$to/$(dirname $config)"
cat >"$to/$config" <<PC
prefix=$prefix
libdir=\${prefix}/lib
includedir=\${prefix}/include

Name: myxtts
Description: Trained voices that speak, and batches of a dataset for training
Version: $version
Libs: -L"\${libdir}" -lmyxtts$run_path
Cflags: -I"\${includedir}"
PC
refresh
echo "installed into $to"
case :$PATH: in *:"$prefix/bin":*) ;; *) [ -n "$root" ] || echo "  $prefix/bin is not in PATH; to type myxtts alone: export PATH=\"$prefix/bin:\$PATH\"" ;; esac
