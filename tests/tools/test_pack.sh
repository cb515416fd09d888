#!/usr/bin/env bash
# What `make wheel` and `make deb` make: all of it is in there, it needs nothing of this machine but glibc and GCC's libraries, and it speaks
# as the program that it was made of, although its libraries are smaller. bench/installed tries them on bare machines.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/support/shell.sh disable=SC1091
. tests/support/shell.sh
out=${MYXTTS_OUT:-build}
if [ "$out" != build ]; then
    echo "skip packages SKIPPED: only the release build is packed"
    exit 0
fi
for tool in patchelf icupkg xz dpkg-deb; do
    command -v $tool >/dev/null || { echo "skip packages SKIPPED: no $tool (tools/deps.sh tests)" && exit 0; }
done
ends_with wheel_is_made 0 make --no-print-directory wheel CUDA=0
version=$(cat VERSION)
wheel=$(ls "$out"/wheel/myxtts-"$version"-py3-none-manylinux_2_*.whl)
mkdir "$dir/wheel"
python3 -m zipfile -e "$wheel" "$dir/wheel" >"$dir/log" 2>&1
in=$dir/wheel/myxtts
for f in bin/myxtts lib/libmyxtts.so share/espeak-ng-data/phontab share/myxtts/bases/english-nano.safetensors share/doc/myxtts/LICENSE \
    share/doc/myxtts/licences/libespeak-ng1 voice.py "../myxtts-$version.data/scripts/myxtts" "../myxtts-$version.data/data/share/man/man1/myxtts.1"; do
    [ -s "$in/$f" ] || echo "no $f" >>"$dir/log"
done
! grep -q '^no ' "$dir/log"
verdict wheel_has_its_parts $?
python3 - "$dir/wheel" "$version" >"$dir/log" 2>&1 <<'PY'
import base64, csv, hashlib, os, sys
root, version = sys.argv[1:]
listed = {}
for name, digest, size in csv.reader(open(f"{root}/myxtts-{version}.dist-info/RECORD")):
    listed[name] = digest
    if digest:
        data = open(os.path.join(root, name), "rb").read()
        assert len(data) == int(size) and digest == "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode(), name
here = {os.path.relpath(os.path.join(f, n), root) for f, _, names in os.walk(root) for n in names}
assert here == set(listed), here ^ set(listed)
PY
verdict wheel_records_every_file $?

# Whatever is loaded is in the package, or of glibc or GCC.
chmod 755 "$in/bin/myxtts"
ldd "$in/bin/myxtts" "$in/lib/libmyxtts.so" | awk -v ours="$(realpath "$in")/" '
    /not found/ || ($3 ~ /^\// && index($3, ours) != 1 && $1 !~ /^(libc|libm|libdl|libpthread|libgcc_s|libstdc[+][+])[.]so/)' >"$dir/log"
[ $? = 0 ] && [ ! -s "$dir/log" ]
verdict wheel_needs_nothing_else $?
newest=$(objdump -T "$in"/bin/myxtts "$in"/lib/* 2>/dev/null | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -1)
echo "$newest in $wheel" >"$dir/log"
case $wheel in *"manylinux_$(echo "${newest#GLIBC_}" | tr . _)_$(uname -m).whl") true ;; *) false ;; esac
verdict wheel_says_which_glibc_it_needs $?

# The same words for numbers, money, dates, flags, signs and foreign letters in every language: ICU's data is not all there any more.
{
    for table in tests/data/*_said.tsv; do grep -v '^#' "$table" | cut -f1 | sed -n '1~7p' | head -12; done
    printf '%s\n' '5 € 3.50 $ 2 ₽ 100 ¥ 7 zł 1 £ 12 ₺ 9 Kč' '🇩🇪 🇯🇵 🇮🇷 🇧🇷 😀 ☃ ∑' '12.3.2024, 1/5/1999, 21:30' 'Москва, 東京, 서울, สวัสดี ชาวโลก, ខ្មែរ, မြန်မာ, ଓଡ଼ିଆ'
} >"$dir/lines"
: >"$dir/log"
for language in en es fr de it pt pl tr ru nl cs ar fa zh ja hu ko; do
    "$out/myxtts" phonemize --quiet --language $language "$dir/lines" >"$dir/ours" 2>&1
    "$in/bin/myxtts" phonemize --quiet --language $language "$dir/lines" >"$dir/theirs" 2>&1
    diff "$dir/ours" "$dir/theirs" >>"$dir/log" || echo "in $language" >>"$dir/log"
done
[ "$(wc -l <"$dir/ours")" -gt 60 ] && [ ! -s "$dir/log" ]
verdict wheel_says_the_same_in_every_language $?
base=bases/english-nano.safetensors
"$out/myxtts" synth --checkpoint $base --text "Good morning." --output "$dir/a.wav" >"$dir/log" 2>&1 &&
    (cd "$dir" && "$in/bin/myxtts" synth --checkpoint base --text "Good morning." --output b.wav) >>"$dir/log" 2>&1 &&
    cmp "$dir/a.wav" "$dir/b.wav" >>"$dir/log" 2>&1
verdict wheel_speaks_the_same_samples $?

DEB_COMPRESSION=none ends_with deb_is_made 0 tools/pack/deb.sh "$out"
deb=$(ls "$out"/deb/myxtts_"$version"_*.deb)
dpkg-deb -f "$deb" >"$dir/log" 2>&1
log_has deb_says_which_glibc_it_needs "^Depends: libc6 \(>= ${newest#GLIBC_}\)"
dpkg-deb -c "$deb" >"$dir/files" 2>&1
: >"$dir/log"
for f in bin/myxtts "lib/[^/]*/libmyxtts.so.1" include/myxtts.h share/man/man1/myxtts.1.gz share/bash-completion/completions/myxtts \
    share/doc/myxtts/copyright share/doc/myxtts/examples/default.yaml lib/systemd/system/myxtts.service lib/python3/dist-packages/myxtts/voice.py; do
    grep -qE " \./usr/$f( -> .*)?$" "$dir/files" || echo "no /usr/$f" >>"$dir/log"
done
grep -vE ' root/root ' "$dir/files" >>"$dir/log"
grep -q './etc/myxtts/serve.conf' "$dir/files" && [ ! -s "$dir/log" ]
verdict deb_has_its_parts $?
if command -v systemd-analyze >/dev/null; then
    mkdir "$dir/unit"
    sed "s,/usr/bin/myxtts,$(realpath "$out")/myxtts," tools/pack/deb/myxtts.service >"$dir/unit/myxtts.service"
    ends_with service_is_understood 0 systemd-analyze verify --man=no "$dir/unit/myxtts.service"
    if systemd-analyze --help | grep -q -- --threshold; then
        ends_with service_is_confined 0 systemd-analyze security --offline=true --threshold=15 "$dir/unit/myxtts.service"
    else
        echo "skip service_is_confined SKIPPED: systemd is older than 250"
    fi
else
    echo "skip service_is_understood SKIPPED: no systemd-analyze"
fi
exit "$failed"
