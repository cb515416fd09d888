#!/usr/bin/env bash
# The Free Spoken Digit Dataset as a dataset folder of its own: OUT/metadata.csv (id|text|text|speaker) and OUT/wavs (links).
#   tools/digits_data.sh IN OUT
# IN is a folder with the recordings <digit>_<speaker>_<take>.wav in it, in wavs/ or in recordings/ (as the dataset is published). The
# text is the digit in words. IN is only read; running it again makes the same folder again. Exit 2: wrong use, 3: no recordings.
set -eu
export LC_ALL=C
if [ $# != 2 ] || [ -z "$1" ] || [ -z "$2" ]; then
    echo "usage: tools/digits_data.sh IN OUT" >&2
    exit 2
fi
in=$1 out=$2
words=(zero one two three four five six seven eight nine)
from=
for folder in "$in/wavs" "$in/recordings" "$in"; do
    if compgen -G "$folder/[0-9]_*_*.wav" >/dev/null; then
        from=$(cd "$folder" && pwd)
        break
    fi
done
if [ -z "$from" ]; then
    echo "error: there are no files <digit>_<speaker>_<take>.wav in $in, $in/wavs or $in/recordings" >&2
    exit 3
fi
mkdir -p "$out/wavs"
if [ "$(cd "$out/wavs" && pwd)" = "$from" ]; then
    echo "error: $out is the folder that is read" >&2
    exit 2
fi
find "$out/wavs" -maxdepth 1 -type l -name '[0-9]_*_*.wav' -delete
count=0
for path in "$from"/[0-9]_*_*.wav; do
    id=${path##*/}
    id=${id%.wav}
    speaker=${id#?_}
    speaker=${speaker%_*}
    word=${words[${id%%_*}]}
    printf '%s|%s|%s|%s\n' "$id" "$word" "$word" "$speaker"
    count=$((count + 1))
done >"$out/metadata.csv.part"
(cd "$out/wavs" && ln -sf "$from"/[0-9]_*_*.wav .)
mv "$out/metadata.csv.part" "$out/metadata.csv"
echo "$count recordings, $(cut -d'|' -f4 "$out/metadata.csv" | sort -u | wc -l) speakers: $out"
