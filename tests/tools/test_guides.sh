#!/usr/bin/env bash
# The guides: translations have the commands, outputs and names of the English pages, the table of promises is that of the script, and links
# lead somewhere. Whether the commands work is what tools/guide.sh --check and tools/promises.sh say; they take minutes.
set -u
. tests/support/shell.sh

ends_with languages_agree 0 tools/guide.sh --languages
ends_with promises_are_in_the_table 0 tools/promises.sh --check

# The anchors of a page: its headings as GitHub names them, and those that are written out.
anchors() {
    sed -n 's/^##* //p' "$1" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'
    grep -o '<a id="[^"]*"' "$1" | sed 's/.*"\(.*\)"/\1/'
}
links=0
: >"$dir/dead"
for page in README.md README.fa.md docs/*.md docs/*/*.md; do
    while IFS= read -r link; do
        links=$((links + 1))
        case $link in http*) continue ;; esac
        file=$(dirname "$page")/${link%%#*}
        [ -n "${link%%#*}" ] || file=$page
        if [ ! -e "$file" ]; then
            echo "$page: $link" >>"$dir/dead"
        elif [ "$link" != "${link#*#}" ] && ! anchors "$file" | grep -qx -- "${link#*#}"; then
            echo "$page: $link (no such heading)" >>"$dir/dead"
        fi
    done < <(grep -o '](\([^)]*\))' "$page" | sed 's/^](\(.*\))$/\1/')
done
cat "$dir/dead"
[ "$links" -gt 30 ] && [ ! -s "$dir/dead" ]
verdict links_lead_somewhere $?
exit $failed
