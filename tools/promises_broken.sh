# shellcheck shell=bash disable=SC2016,SC2034
# How each check of tools/promises.sh is shown able to fail: `tools/promises.sh --break` sources this. The row's command is run with a small
# fault in it, and its check has to notice. A fault is one of these, in single quotes; $work is the folder of the data:
#   before   done before each call of the program         argedit  a sed script for each of its arguments; an empty one is left out
#   after    done behind each                             extra    arguments behind the others; second: from the second call on
#   edit     a sed script for what it prints              code     how it ends
#   ahead    done before the row, where no program runs   undo     done behind it      where  a folder to run the row in
sabotage() { # the check's name
    before='' after='' edit='' argedit='' extra='' second='' code='' ahead='' undo='' where=''
    case $1 in
        parallel_text) extra='--num-workers 1' argedit='s/^--num-workers$//; s/^1$//' ;;
        stays_on_disk | far_faster) before='rm -rf $work/cache' ;;
        one_change) before='rm -rf $work/data/myxtts-cache' ;;
        other_settings) before='rm -rf $work/data/myxtts-cache' ;;
        damage_is_mended) argedit='s/^--verify$//' ;;
        language_once) before='rm -rf $work/cache-auto' ;;
        same_for_workers | same_on_two | same_on_the_fly) second='--seed 99' ;;
        many_workers) extra='--max-text-length 20' ;;
        unwritable_cache | exit_codes) code=0 ;;
        all_checks) edit='/^Memory plan/d' ;;
        repairs) after='sed -i "/never enough/d" $work/bad.yaml' ;;
        old_names) before='sed -i s/use_tf_native_loading/use_tf_native_loader/ $work/old.yaml' ;;
        old_options) argedit='s/^--enable-memory-isolation$//' ;;
        no_config) edit='s/hint: .*//' ;;
        slow_way_is_named) before='cp $work/f.yaml $work/slow.yaml' ;;
        workers_and_cores) argedit='s/^64$/1/' ;;
        gpu_or_why) edit='/GPUs +/d' ;;
        room) edit='/host memory/d' ;;
        eight_sections) after='sed -i "/^\[5\] /d" $work/report' ;;
        one_page) after='echo "<script>" >>$work/report.html' ;;
        storage_speed) edit='/1 MiB reads/d' ;;
        slow_disk) argedit='s/read_ms=60,//' ;;
        few_workers) argedit='s/decode_ms=80,//' ;;
        step_is_limit) argedit='s/step_ms=60/read_ms=90,step_ms=20/' ;;
        stall_with_period) argedit='s/read:10:300/read:17:300/' ;;
        two_walls) argedit='s/preprocess_ms=38/preprocess_ms=2/' ;;
        measured_gain) edit='s/(measured) [0-9.]+/\1 1.00/' ;;
        one_table) edit='/transfer stage/d' ;;
        batch_statistics) edit='/p95, p99/d' ;;
        cycle_in_batches) argedit='s/,stall=read:10:100//' ;;
        grid) edit='/batch 32, /d' ;;
        phases) edit='/^ +optimiser +/d' ;;
        dual) edit='/one device instead/d' ;;
        hidden) argedit='s/preprocess_ms=10/preprocess_ms=200/' ;;
        three_buffers) extra='--pipeline-buffer-size 4' ;;
        prefetch_depth) extra='--prefetch-buffer-size 5' ;;
        steady) argedit='s/step_ms=40/step_ms=4/' ;;
        one_shape) argedit='s/^true$/false/' ;;
        caps) argedit='s/^64$/128/' ;;
        refused) argedit='s/^150$/150000/; s#/run$#/not-refused#' ;;
        fits) argedit='s/memory_gb=24/memory_gb=1/' ;;
        reads_config) edit='/done at step/d' ;;
        logged) ahead='cp $work/run/log.jsonl $work/log.kept; sed -i s/wait_share/waiting/g $work/run/log.jsonl' undo='cp $work/log.kept $work/run/log.jsonl' ;;
        resumes) before='rm -f $work/run/*.safetensors' ;;
        starving) argedit='s/read_ms=300/read_ms=1/' ;;
        says_the_way) argedit='s/^false$/true/' ;;
        compares) edit='/95 %|sure/d' ;;
        scales) edit='s/\b16\b/6/g' ;;
        live) edit='s/loss/gain/g' ;;
        gpu_step) edit='/forward/d' ;;
        gpu_graphs) edit='s/(step as CUDA graphs) .*/\1 not measured/' ;;
        gpu_dual) edit='/NVML/d' ;;
        two_languages) ahead='mkdir $work/copy; cp -r docs tools README*.md $work/copy; sed -i "0,/myxtts train/s//myxtts trains/" $work/copy/docs/fa/*.md $work/copy/README.fa.md' where='$work/copy' ;;
        *) return 1 ;;
    esac
}

# A program in the place of myxtts, with the fault of the row.
write_saboteur() { # its path, the program, the folder of the data
    cat >"$1" <<S
#!/usr/bin/env bash
work=$3 program=$2
. "\$work/fault"
calls=\$((\$(cat "\$work/calls" 2>/dev/null || echo 0) + 1))
echo \$calls >"\$work/calls"
args=()
for a in "\$@"; do
    b=\$(printf '%s\n' "\$a" | sed -E "\$argedit")
    [ -z "\$b" ] && [ -n "\$a" ] || args+=("\$b")
done
read -ra more <<<"\$extra"
[ \$calls = 1 ] || read -ra more <<<"\$extra \$second"
eval "\$before"
"\$program" "\${args[@]}" "\${more[@]}" > >(sed -E "\$edit") 2> >(sed -E "\$edit" >&2)
rc=\$?
eval "\$after"
wait
exit \${code:-\$rc}
S
    chmod +x "$1"
}
