#!/usr/bin/env bash
# make install into a folder of its own: what is there afterwards works there (program, library by pkg-config, manual page, completions
# of bash, zsh and fish, asked as a user would), and make uninstall takes all of it away.
set -u
out=${MYXTTS_OUT:-build}
. tests/support/shell.sh
if [ ! -x "$out/myxtts" ] || [ ! -f "$out/libmyxtts.so" ]; then
    echo "skip install SKIPPED: $out/myxtts and $out/libmyxtts.so were not built"
    exit 0
fi
if [ "$out" != build ]; then
    echo "skip install SKIPPED: a build with sanitizers is not for others' programs"
    exit 0
fi
to=$dir/prefix
make_quietly() { make -s --no-print-directory NVCC= OUT="$out" "$@"; } # nothing is built here

# ---- setup says what it would do ----
ends_with setup_has_help 0 ./setup --help PREFIX="$dir/there"
log_has it_says_what_goes_where "installs into $dir/there:"
log_has it_says_what_path_lacks "export PATH=\"$dir/there/bin:"
[ ! -e "$dir/there" ]
verdict and_does_nothing $?
ends_with setup_asks_what_is_meant 2 ./setup --hlep

# ---- files ----
ends_with installs 0 make_quietly install PREFIX="$to"
log_has says_where "installed into $to"
log_has says_what_to_type_for_path "export PATH=\"$to/bin:"
bad=
for f in bin/myxtts lib/libmyxtts.so lib/libmyxtts.so.1 include/myxtts.h lib/pkgconfig/myxtts.pc share/man/man1/myxtts.1 \
    share/bash-completion/completions/myxtts share/zsh/site-functions/_myxtts share/fish/vendor_completions.d/myxtts.fish; do
    [ -s "$to/$f" ] || bad="$bad $f"
done
echo "missing:$bad" >"$dir/log"
[ -z "$bad" ]
verdict everything_is_there $?
[ -f "$out/libmyxtts_cuda.so" ] && there=1 || there=0
[ -f "$to/lib/libmyxtts_cuda.so" ] && put=1 || put=0
[ "$there" = "$put" ]
verdict the_cuda_part_where_it_was_built $?
bad=
for f in bases/*.safetensors; do [ ! -f "$f" ] || cmp -s "$f" "$to/share/myxtts/$f" || bad="$bad $f"; done
echo "not installed:$bad" >"$dir/log"
[ -z "$bad" ]
verdict every_base_is_there $?
(cd / && "$to/bin/myxtts" --version) >"$dir/log" 2>&1
verdict the_program_runs_there $?
log_lacks it_finds_the_cuda_part "$([ "$there" = 1 ] && echo 'is neither beside' || echo '^$')"
nm -D --defined-only "$to/lib/libmyxtts.so" | awk '$2 != "A" { print $3 }' | grep -v '^myxtts_' >"$dir/log"
verdict the_library_shows_its_own_names_alone $((! $?))

# ---- pkg-config ----
export PKG_CONFIG_PATH=$to/lib/pkgconfig
cat >"$dir/version.c" <<'C'
#include <myxtts.h>
#include <stdio.h>
#include <string.h>
int main(void)
{
    char want[20];
    snprintf(want, sizeof want, "%d.%d.%d", MYXTTS_VERSION_MAJOR, MYXTTS_VERSION_MINOR, MYXTTS_VERSION_PATCH);
    return strcmp(want, myxtts_version()) != 0;
}
C
# shellcheck disable=SC2046
cc -Wall -Wextra -Werror -std=c99 -pedantic "$dir/version.c" -o "$dir/version" $(pkg-config --cflags --libs myxtts) >"$dir/log" 2>&1
verdict a_program_is_compiled_by_pkg_config $?
ends_with and_runs_without_a_hint_where_the_library_is 0 env -u LD_LIBRARY_PATH "$dir/version"
version=$(tools/version.sh 2>"$dir/log")
verdict header_and_package_repeat_the_version $?
[ "$(pkg-config --modversion myxtts)" = "$version" ]
verdict pkg_config_knows_the_version $?
"$to/bin/myxtts" --version >"$dir/log" 2>&1
log_has the_program_says_the_version "^myxtts ${version//./\\.}"

# ---- the examples ----
golden=$PWD/tests/golden/checkpoint.safetensors
for e in speak batches; do
    # shellcheck disable=SC2046
    cc -Wall -Wextra -Werror -std=c99 -pedantic examples/$e.c -o "$dir/$e" $(pkg-config --cflags --libs myxtts) >"$dir/log" 2>&1
    verdict "the_example_${e}_is_compiled" $?
done
ends_with the_example_speaks 0 "$dir/speak" "$golden" "It speaks." "$dir/spoken.wav" anna
log_has it_says_how_long '^.*spoken\.wav: [0-9.]+ s of sound at 8000 Hz$'
"$out/myxtts" synth --checkpoint "$golden" --text "It speaks." --speaker anna --output "$dir/synth.wav" --quiet >"$dir/log" 2>&1
cmp "$dir/spoken.wav" "$dir/synth.wav" >>"$dir/log" 2>&1
verdict the_sound_is_that_of_synth $?
ends_with a_voice_that_is_not_there_is_an_error 1 "$dir/speak" "$dir/none" "It speaks." "$dir/none.wav"
log_has the_error_is_a_sentence 'error: cannot open .*none'
cp -r tests/data/ljspeech "$dir/data" && chmod -R u+w "$dir/data"
ends_with the_example_iterates 0 "$dir/batches" "$dir/data"
clips=$("$out/myxtts" info --data-path "$dir/data" --json 2>/dev/null | awk -F'[:,]' '/"clips":/ { print $2 + 0; exit }')
log_has it_prints_every_batch "^batch $(((clips + 7) / 8 - 1)): tokens \\[[0-9]+, [0-9]+\\].* mel \\[[0-9]+, [0-9]+, 80\\]"

# ---- manual page ----
if command -v groff >/dev/null; then
    groff -ww -man -z "$to/share/man/man1/myxtts.1" >"$dir/log" 2>&1
    [ ! -s "$dir/log" ]
    verdict the_manual_page_has_no_warning $?
    groff -ww -man -Tascii -P-cbou -rLL=100n "$to/share/man/man1/myxtts.1" >"$dir/page" 2>/dev/null
    bad=
    for c in $("$out/myxtts" help | awk '/^  [a-z]+ / { print $1 }'); do grep -qE "^   $c\$" "$dir/page" || bad="$bad $c"; done
    for k in $("$out/myxtts" config | awk '/^  [a-z]/ { print $1 }' | tr _ -); do grep -qE -- "^ +--(\[no-\])?$k\b" "$dir/page" || bad="$bad $k"; done
    echo "not in the page:$bad" >"$dir/log"
    [ -z "$bad" ]
    verdict it_has_every_command_and_setting $?
else
    echo "skip manual_page SKIPPED: there is no groff"
fi

# ---- completion: the same questions to every shell ----
mkdir "$dir/work" && : >"$dir/work/song one.wav"
cat >"$dir/ask.bash" <<'BASH'
source "$1"
typed=($2)
[[ $2 == *" " ]] && typed+=('')
COMP_WORDS=("${typed[@]}") COMP_CWORD=$((${#typed[@]} - 1)) COMPREPLY=()
compopt() { [ "$*" = "-o default" ] && COMPREPLY=("$(compgen -f -- "${typed[-1]}")"); }
case $2 in *--*=*) COMP_WORDS=("${typed[@]:0:${#typed[@]}-1}" "${typed[-1]%%=*}" = "${typed[-1]#*=}") COMP_CWORD=$((COMP_CWORD + 2)) ;; esac
_myxtts
printf '%s\n' "${COMPREPLY[@]}"
BASH
cat >"$dir/ask.zsh" <<'ZSH'
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z 'PS1=; autoload -U compinit; compinit -D -u; source '$1'
compadd() { case " ${@[1,(i)(-|--)]} " in *" -"[OAD]" "*) builtin compadd "$@"; return ;; esac
    local -a hits; builtin compadd -A hits "$@"; print -rl -- "<"${^hits}">"; builtin compadd "$@" }
told() { print TO""LD }
zle -N told; bindkey "^I" list-choices; bindkey "^E" told; print REA""DY'
zpty -r z out '*READY*'
zpty -w -n z "$2"$'\t\C-e'
zpty -r z out '*TOLD*'
print -r -- "$out" | grep -o '<[^>]*>' | tr -d '<>'
zpty -d z
ZSH
asked() { # name, line, what is proposed (a pattern for the sorted words, joined by commas)
    local got
    got=$(cd "$dir/work" && case $shell in
        bash) bash "$dir/ask.bash" "$to/share/bash-completion/completions/myxtts" "$2" ;;
        zsh) timeout 20 zsh -f "$dir/ask.zsh" "$to/share/zsh/site-functions/_myxtts" "$2" ;;
        fish) HOME=$dir fish --no-config -c "source $to/share/fish/vendor_completions.d/myxtts.fish; complete -C '$2'" | cut -f1 ;;
        esac 2>"$dir/errors" | tr -d '\\' | sed 's/^--[a-z-]*=//' | LC_ALL=C sort -u | paste -sd,)
    echo "$2: '$got', expected '$3'; $(cat "$dir/errors")" >"$dir/log"
    [[ $got =~ ^$3$ ]] && [ ! -s "$dir/errors" ]
    verdict "${shell}_$1" $?
}
for shell in bash zsh fish; do
    if ! command -v $shell >/dev/null; then
        echo "skip completion_of_$shell SKIPPED: there is no $shell"
        continue
    fi
    asked commands 'myxtts ' '.*,?align,bench,.*,synth,train,.*'
    asked one_command 'myxtts sy' synth
    asked own_options 'myxtts synth --outp' '--output,--output-dir'
    asked settings 'myxtts train --model-s' '--model-size'
    asked switches_that_are_off 'myxtts train --no-add' '--no-add-blank'
    asked choices 'myxtts train --model-size ' 'big,light,nano,normal,small,tiny'
    asked a_choice_behind_an_equals_sign 'myxtts train --model-size=no' 'normal'
    asked choices_of_a_command 'myxtts export --precision ' 'bf16,float16,float32,int8'
    asked first_words 'myxtts profile ' 'data,dual,step'
    asked files 'myxtts synth --reference so' 'song one\.wav'
    asked files_as_arguments 'myxtts mel so' 'song one\.wav'
    asked help 'myxtts help tr' train
done
# In a terminal, with a file name that needs quotes.
if command -v python3 >/dev/null; then
    cat >"$dir/type.py" <<'PY'
import os, pty, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.chdir(sys.argv[2])
    os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
def until(mark):
    seen = b""
    while mark not in seen:
        seen += os.read(fd, 4096)
os.write(fd, b"bind 'set enable-bracketed-paste off'; source %s; myxtts() { printf 'GOT[%%s]\\n' \"$@\"; }; echo REA''DY\n" % sys.argv[1].encode())
until(b"READY\r\n")
os.write(fd, b"myxtts synth --reference son\t\n")
until(b"GOT[song one.wav]")
os.write(fd, b"exit\n")
PY
    ends_with bash_quotes_a_file_name 0 timeout 60 python3 "$dir/type.py" "$to/share/bash-completion/completions/myxtts" "$dir/work"
fi
ends_with another_shell_is_wrong_use 2 "$out/myxtts" completion csh

# ---- a blank in the path ----
blank="$dir/a prefix"
ends_with installs_into_a_path_with_a_blank 0 make_quietly install PREFIX="$blank"
eval "cc -Wall -Wextra -Werror -std=c99 -pedantic '$dir/version.c' -o '$dir/version2' $(PKG_CONFIG_PATH="$blank/lib/pkgconfig" pkg-config --cflags --libs myxtts)" >"$dir/log" 2>&1
verdict a_program_is_compiled_with_a_blank_in_the_path $?
ends_with and_finds_the_library_there 0 env -u LD_LIBRARY_PATH "$dir/version2"
ends_with uninstalls_there 0 make_quietly uninstall PREFIX="$blank"
[ -z "$(find "$blank" ! -type d)" ]
verdict nothing_is_left_there $?

# ---- for packagers, and away again ----
ends_with installs_below_another_root 0 make_quietly install DESTDIR="$dir/root" PREFIX=/usr
grep -q '^prefix=/usr$' "$dir/root/usr/lib/pkgconfig/myxtts.pc" && ! grep -rqs -- "$dir" "$dir/root/usr/lib/pkgconfig" && ! grep -q rpath "$dir/root/usr/lib/pkgconfig/myxtts.pc"
verdict the_files_say_the_prefix_alone $?
ends_with a_prefix_that_is_no_path_is_refused 2 env PREFIX=here tools/install.sh "$out"
: >"$to/lib/theirs"
ends_with uninstalls 0 make_quietly uninstall PREFIX="$to"
[ "$(find "$to" ! -type d)" = "$to/lib/theirs" ]
verdict only_what_was_installed_is_gone $?
exit $failed
