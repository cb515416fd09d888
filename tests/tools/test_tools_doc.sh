#!/usr/bin/env bash
# The commands in the second column of the table "Old names" of docs/TOOLS.md run as they are printed. D, F, RUN, R and so on become files of
# a small lab; GPUs 0 and 1 become simulated ones; options that keep a run short are added where the command has none of its own.
set -u
bin=$(realpath "${MYXTTS_BIN:-build/myxtts}")
here=$(pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
if [ ! -x "$bin" ]; then
    echo "skip tools_doc SKIPPED: $bin was not built"
    exit 0
fi
failed=0
cd "$dir" || exit 3
cp -r "$here/tests/data/ljspeech" data && chmod -R u+w data
printf 'model:\n  model_size: nano\ndata:\n  batch_size: 2\n' >f.yaml
cp "$(find data/wavs -type f | sort | head -1)" clip.wav
if ! "$bin" train --config f.yaml --data-path data --checkpoint-dir run --max-steps 16 --log-step 4 --val-split 0.3 --model-gpu cpu \
    --data-gpu cpu --text2audio-interval-steps 0 >log 2>&1; then
    cat log
    echo "not ok tools_doc_makes_a_run"
    exit 1
fi

# Only the second column is ours; a command may stand in it more than once.
awk -F' \\| ' '/^## /{on = /^## Old names/} on && /^\| /{ print $2 }' "$here/docs/TOOLS.md" | grep -o '`myxtts [^`]*`' | tr -d '`' |
    awk '!seen[$0]++' >commands
[ "$(wc -l <commands)" -ge 20 ] || {
    echo "not ok tools_doc_finds_the_commands"
    failed=1
}
while IFS= read -r printed; do
    line=" $printed "
    line=${line//RUN.../run}
    line=${line//RUN/run}
    line=${line// --data-path D / --data-path data }
    line=${line// F / f.yaml }
    line=${line// R / report.txt }
    line=${line//R.html/report.html}
    line=${line// N / 12 }
    line=${line// T / Yes. }
    line=${line//CLIP.wav/clip.wav}
    line=${line//OUT.wav/out.wav}
    line=${line//8,16/2,4}
    line=${line// MB / 3000 }
    line=${line/--batch-size 12/--batch-size 2}
    line=${line/--num-workers 12/--num-workers 2}
    more=
    case $line in
    *"--data-gpu 0 --model-gpu 1"*) line=${line/--data-gpu 0 --model-gpu 1/--data-gpu sim0 --model-gpu sim1} more="--sim step_ms=3" ;;
    *" synth "* | *" eval "*) more="--model-gpu cpu" ;;
    *" diagnose run"* | *" compare "* | *" scaling "* | *" monitor "* | *" info "* | *" config "* | *" validate "*) ;;
    *" profile step "*) more="--model-gpu cpu --data-gpu cpu" ;;
    *) more="--data-gpu sim0 --model-gpu sim1 --sim step_ms=3" ;;
    esac
    case $line in *" profile "* | *" diagnose --"*) [[ $line == *--config* ]] || more="$more --model-size nano" ;; esac
    case $line in *"--num-"*) ;; *" diagnose --"* | *" profile data "*) more="$more --num-batches 12" ;; *" profile "*) more="$more --num-steps 12" ;; esac
    case $line in *"--batch-size"* | *--config*) ;; *" profile "* | *" diagnose --"*) more="$more --batch-size 2" ;; esac
    # shellcheck disable=SC2086
    set -- $line $more
    shift
    timeout 60 "$bin" "$@" >log 2>&1 </dev/null
    rc=$?
    # Findings are findings: the command ran.
    if [ $rc -le 1 ]; then
        echo "ok $printed"
    else
        cat log
        echo "exit $rc: $*"
        echo "not ok $printed"
        failed=1
    fi
done <commands
exit $failed
