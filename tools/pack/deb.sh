#!/usr/bin/env bash
# Makes of BUILD/bundle a Debian package in BUILD/deb, for Debian and Ubuntu of the age of this one and newer: it brings its libraries
# along. usage: tools/pack/deb.sh BUILD    (DEB_COMPRESSION: xz; DEBFULLNAME, DEBEMAIL: whose package it is)
#   /usr/bin/myxtts, /usr/lib/myxtts                  the program, and the bundle
#   libmyxtts.so.1, myxtts.h, myxtts.pc, the Python module, manual page, completions     where they are looked for
#   myxtts.service, /etc/myxtts/serve.conf            `myxtts serve` as a service, which nobody has to enable
set -eu
cd "$(dirname "$0")/../.."
build=${1:?which folder was it built into?}
parts=tools/pack/deb version=$(tools/version.sh) arch=$(dpkg --print-architecture)
multiarch=$(${CC:-gcc} -dumpmachine)
to=$build/deb/root
who="${DEBFULLNAME:-maintainers} <${DEBEMAIL:-root@localhost}>"
rm -rf "$build/deb"
mkdir -p "$to/DEBIAN" "$to/usr/bin" "$to/usr/lib/$multiarch/pkgconfig" "$to/usr/include" "$to/usr/share/doc/myxtts/examples" \
    "$to/usr/lib/python3/dist-packages/myxtts" "$to/usr/lib/systemd/system" "$to/etc/myxtts" "$to/var/lib/myxtts"
cp -r "$build/bundle" "$to/usr/lib/myxtts"
ln -s ../lib/myxtts/bin/myxtts "$to/usr/bin/myxtts"

# Found through a link, the library does not find its own beside itself.
# shellcheck disable=SC2016 # the loader expands it
patchelf --set-rpath '$ORIGIN:/usr/lib/myxtts/lib' "$to/usr/lib/myxtts/lib/libmyxtts.so"
ln -s ../myxtts/lib/libmyxtts.so "$to/usr/lib/$multiarch/libmyxtts.so.1"
ln -s libmyxtts.so.1 "$to/usr/lib/$multiarch/libmyxtts.so"
cp src/lib/myxtts.h "$to/usr/include/"
cat >"$to/usr/lib/$multiarch/pkgconfig/myxtts.pc" <<PC
Name: myxtts
Description: Trained voices that speak, and batches of a dataset for training
Version: $version
Libs: -lmyxtts
PC
cp python/myxtts/*.py python/myxtts/py.typed "$to/usr/lib/python3/dist-packages/myxtts/"
for place in man bash-completion zsh fish doc; do cp -r "$to/usr/lib/myxtts/share/$place" "$to/usr/share/" && rm -rf "$to/usr/lib/myxtts/share/$place"; done
mkdir -p "$to/usr/share/zsh/vendor-completions"
mv "$to"/usr/share/zsh/site-functions/_myxtts "$to/usr/share/zsh/vendor-completions/"
rmdir "$to/usr/share/zsh/site-functions"
gzip -9n "$to/usr/share/man/man1/myxtts.1"
doc=$to/usr/share/doc/myxtts
{
    echo "myxtts comes under the GNU General Public License, version 3 or later, which is in /usr/share/common-licenses/GPL-3."
    echo "What else is in this package, and under which licences:"
    echo
    sed 1,3d "$doc/licences/README"
    for file in "$doc"/licences/lib* "$doc"/licences/espeak* "$doc"/licences/zlib*; do echo && echo "---- ${file##*/} ----" && echo && cat "$file"; done
} >"$doc/copyright"
rm -r "$doc/licences" "$doc/LICENSE"
printf 'myxtts (%s) unstable; urgency=medium\n\n  * docs/ in the source tells what there is.\n\n -- %s  %s\n' "$version" "$who" \
    "$(LC_ALL=C date -uRd "@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}")" | gzip -9n >"$doc/changelog.gz"
cp configs/default.yaml examples/speak.c examples/batches.c $parts/gpu.conf "$doc/examples/"
cp README.md "$doc/"
cp $parts/myxtts.service "$to/usr/lib/systemd/system/"
cp $parts/serve.conf "$to/etc/myxtts/"
echo /etc/myxtts/serve.conf >"$to/DEBIAN/conffiles"
echo "activate-noawait ldconfig" >"$to/DEBIAN/triggers"
cp $parts/postinst $parts/prerm $parts/postrm "$to/DEBIAN/"

glibc=$(objdump -T "$to"/usr/lib/myxtts/bin/myxtts "$to"/usr/lib/myxtts/lib/* 2>/dev/null | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -1)
cat >"$to/DEBIAN/control" <<CONTROL
Package: myxtts
Version: $version
Architecture: $arch
Maintainer: $who
Installed-Size: $(du -sk --exclude DEBIAN "$to" | cut -f1)
Depends: libc6 (>= ${glibc#GLIBC_}), libgcc-s1, libstdc++6 (>= 12)
Suggests: python3-numpy, libpocketsphinx3, pocketsphinx-en-us
Section: sound
Priority: optional
Description: trains text-to-speech voices from recordings, and speaks with them
 A folder of recordings and their texts becomes a voice: myxtts says what is
 wrong with them, trains, and speaks on the command line, from C and Python,
 and over HTTP as OpenAI's clients ask for it. A small English voice is
 included.
CONTROL
find "$to" -type d -exec chmod 755 {} + && find "$to" -type f -exec chmod 644 {} +
chmod 755 "$to/usr/lib/myxtts/bin/myxtts" "$to"/DEBIAN/p*
(cd "$to" && find etc usr -type f -print0 | sort -z | xargs -0 md5sum) >"$to/DEBIAN/md5sums"
dpkg-deb --root-owner-group "-Z${DEB_COMPRESSION:-xz}" --build "$to" "$build/deb/" >/dev/null
package=$build/deb/myxtts_${version}_$arch.deb
echo "deb: $package, $(du -h "$package" | cut -f1)B"
