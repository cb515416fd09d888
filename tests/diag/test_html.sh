#!/usr/bin/env bash
# The page of a report in a real browser (headless Chromium): nothing on the console, every chart drawn, no request to any host, no sideways
# scrolling on a phone. The page itself has no script and forbids them, so a copy with the policy taken out measures itself; the copy stands
# in a frame as wide as a phone (a window cannot be that narrow) and tells its frame's page what it saw, which --dump-dom prints.
#   tests/diag/test_html.sh [FOLDER]     with a folder: the pictures of the pages are kept there
set -u
out=${MYXTTS_OUT:-build}
. tests/support/shell.sh
pictures=${1:-$dir}
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -z "$chromium" ]; then
    echo "skip html_in_a_browser SKIPPED: there is no chromium (Debian: apt-get install chromium)"
    exit 0
fi
if [ ! -x "$out/tests/test_html" ]; then
    echo "skip html_in_a_browser SKIPPED: $out/tests/test_html was not built"
    exit 0
fi
mkdir -p "$pictures"

browser() { # options and page; the console goes to $dir/log, with every name of a host unknown
    timeout -k 5 90 "$chromium" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --disable-extensions \
        --disable-background-networking --disable-component-update --disable-sync --hide-scrollbars --user-data-dir="$dir/profile" \
        --host-resolver-rules="MAP * ~NOTFOUND" --enable-logging=stderr --v=0 "$@" 2>"$dir/log"
}

# What the copy measures: each drawing's size and shapes, requests, width against the window's, text that leaves its drawing.
measure='<script>addEventListener("load",()=>{const bad=[],drawn=[...document.querySelectorAll("svg")];
for(const s of drawn){const b=s.getBoundingClientRect(),name=s.getAttribute("aria-label");
const shapes=[...s.querySelectorAll("path,rect")].filter(e=>{const r=e.getBBox();return r.width>0||r.height>0});
if(!(b.width>50&&b.height>50))bad.push("no size: "+name);if(shapes.length<2)bad.push("nothing in it: "+name);
for(const t of s.querySelectorAll("text.tick,text.cat")){const r=t.getBoundingClientRect();
if(r.left<b.left-2||r.right>b.right+2||r.bottom>b.bottom+2)bad.push("cut off: "+t.textContent+" in "+name)}}
const wide=[...document.querySelectorAll("body *")].filter(e=>{const r=e.getBoundingClientRect();return(r.right>innerWidth+1||r.left<-1)&&!e.closest("svg")});
parent.postMessage("RESULT charts="+drawn.length+" width="+innerWidth+" overflow="+(document.documentElement.scrollWidth-innerWidth)+
" wide="+wide.length+" requests="+performance.getEntriesByType("resource").length+" bad="+(bad.join("; ")||"none"),"*")})</script>'

# Puts $1 (a page) into a frame of $2 pixels; prints the line the page sent.
measured() {
    sed -e '/Content-Security-Policy/d' "$1" >"$dir/copy.html"
    printf '%s\n' "$measure" >>"$dir/copy.html"
    printf '<!DOCTYPE html><body style="margin:0"><pre id="r"></pre><script>addEventListener("message",e=>r.textContent=e.data)</script>%s' \
        "<iframe src=\"copy.html\" style=\"border:0;width:$2px;height:800px\"></iframe>" >"$dir/frame.html"
    browser --virtual-time-budget=5000 --dump-dom "file://$dir/frame.html" >"$dir/dom"
    grep -o 'RESULT [^<]*' "$dir/dom"
}

look() { # name, page, charts in it
    local name=$1 page=$2 result width
    grep -qE 'https?://|[ (]src=|href=|url\(|@import' "$page"
    verdict "${name}_names_nothing_outside" $((!$?))
    for width in 375 1100; do
        result=$(measured "$page" $width)
        echo "$name at $width: $result" >>"$dir/log"
        grep -q "charts=$3 width=$width overflow=0 wide=0 requests=0 bad=none$" <<<"$result"
        verdict "${name}_is_whole_at_$width" $?
    done
    # The page as it is, policy and all.
    browser --virtual-time-budget=5000 --window-size=1100,2600 --screenshot="$pictures/$name.png" "file://$page"
    verdict "${name}_is_shown" $?
    ! grep -aE 'CONSOLE|ERR_NAME_NOT_RESOLVED' "$dir/log"
    verdict "${name}_console_is_silent" $?
    [ "$(stat -c %s "$pictures/$name.png" 2>/dev/null || echo 0)" -gt 20000 ]
    verdict "${name}_picture_is_not_empty" $?
}

if ! "$out/tests/test_html" --sample "$dir/sample.html"; then
    echo "not ok html_sample_is_written"
    exit 1
fi
look html_sample "$dir/sample.html" 13
printf '<!DOCTYPE html><body style="margin:0"><iframe src="sample.html" style="border:0;width:375px;height:6500px"></iframe>' >"$dir/phone.html"
browser --window-size=500,6500 --screenshot="$pictures/html_phone.png" "file://$dir/phone.html"
verdict html_phone_is_shown $?
browser --no-pdf-header-footer --print-to-pdf="$pictures/html_print.pdf" "file://$dir/sample.html"
[ "$(head -c 4 "$pictures/html_print.pdf" 2>/dev/null)" = %PDF ]
verdict html_prints $?

# In Persian, as diagnose writes it: from right to left. With a folder: the picture of docs/.
bin=${MYXTTS_BIN:-$out/myxtts}
if [ -x "$bin" ]; then
    # The command line is in the picture: short names.
    ln -s "$PWD/tests/data/ljspeech" "$dir/recordings"
    full=$(realpath "$bin")
    (cd "$dir" && env -u LC_ALL -u LC_MESSAGES LANG=fa_IR.UTF-8 "$full" diagnose --data-path recordings --cache-dir cache \
        --batch-size 2 --val-split 0 --sim decode_ms=60,step_ms=20 --num-workers 2 --data-gpu sim0 --model-gpu sim1 \
        --num-batches 60 --html report-fa.html) >"$dir/log" 2>&1
    grep -q '<html lang="fa" dir="rtl">' "$dir/report-fa.html"
    verdict html_fa_is_from_right_to_left $?
    look html_fa "$dir/report-fa.html" 6
    browser --window-size=1000,1180 --screenshot="$pictures/report-fa.png" "file://$dir/report-fa.html"
    size=$(stat -c %s "$pictures/report-fa.png" 2>/dev/null || echo 0)
    [ "$size" -gt 20000 ] && [ "$size" -lt 150000 ]
    verdict html_fa_picture_fits_the_docs $?
else
    echo "skip html_fa SKIPPED: $bin was not built"
fi

# The measure itself must see what is wrong.
sed 's|<main>|<main><div style="width:1500px">x</div><img src="http://example.invalid/x.png">|' "$dir/sample.html" >"$dir/wrong.html"
result=$(measured "$dir/wrong.html" 375)
grep -qE 'overflow=[1-9].* requests=1' <<<"$result"
verdict html_overflow_and_requests_would_be_seen $?
sed 's|<main>|<main><script>x</script>|' "$dir/sample.html" >"$dir/wrong.html"
browser --virtual-time-budget=5000 --screenshot="$dir/wrong.png" "file://$dir/wrong.html"
grep -aq 'CONSOLE.*Content Security Policy' "$dir/log"
verdict html_console_errors_would_be_seen $?
exit $failed
