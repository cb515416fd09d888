#!/usr/bin/env bash
# What somebody meets who has a bare Debian and the README: in a new system of its own (debootstrap, chroot) it installs the packages
# that the README names, builds, installs, compiles the C example with pkg-config, installs the Python package, and speaks. usage:
#   tools/newcomer.sh VOICE [FOLDER]
# VOICE: a run, or an exported voice, to speak with. FOLDER: where the system is put (about 3 GB; a temporary one, which is removed
# afterwards). Needs root, debootstrap and a network, and takes some minutes. Each step is printed with its result and its time; exit 1 at
# the first that fails. What is committed is tried, not the working tree.
# tools/bare_debian.sh says which Debian, and from where.
# shellcheck disable=SC2016,SC2088 # what is run inside is expanded inside
set -eu
cd "$(dirname "$0")/.."
voice=${1:-} root=${2:-}
if [ -z "$voice" ] || [ ! -e "$voice" ]; then
    echo "usage: tools/newcomer.sh VOICE [FOLDER]; VOICE is a run, or an exported voice" >&2
    exit 2
fi
. tools/bare_debian.sh

# The line of the README that begins with this, so that it is the README that is tried.
readme() { grep -m1 -E "^$1" README.md || { echo "README.md has no line '$1'" >&2 && exit 1; }; }

spoken=voice
[ -d "$voice" ] || spoken=voice.safetensors
packages=$(readme 'apt-get install ' | sed 's/ *#.*//')
step "a bare Debian ($suite)" bootstrap
put_voice() {
    cp -r "$voice" "$root/home/new/$spoken"
    chroot "$root" chown -R new:new "/home/new/$spoken"
}
step "the sources, as they are committed" sources
step "the voice" put_voice
step "$(echo "$packages" | cut -c1-50) ..." inside "export DEBIAN_FRONTEND=noninteractive; apt-get update -qq && ${packages/install /install -y -qq --no-install-recommends }"
user=new:new
step "make" inside "make -j$(nproc)"
user=''
step "make install" inside "make install"
show
user=new:new
step "myxtts --version" inside "myxtts --version"
show 6
step "the manual page is there" inside "[ -s /usr/local/share/man/man1/myxtts.1 ]"
step "the program speaks" inside "myxtts synth --checkpoint ~/$spoken --text 'Good morning.' --output ~/program.wav"
show
step "cc examples/speak.c \$(pkg-config --cflags --libs myxtts)" inside 'cc examples/speak.c -o ~/speak $(pkg-config --cflags --libs myxtts)'
step "it speaks" inside "~/speak ~/$spoken 'Good morning.' ~/c.wav"
show
step "the same bytes" inside "cmp ~/program.wav ~/c.wav"
step "python3 -m venv, pip install ./python" inside "python3 -m venv ~/venv && ~/venv/bin/pip install -q ./python"
step "three lines of Python speak" inside "cd ~ && venv/bin/python -c \"
import myxtts
voice = myxtts.Voice('$spoken')
voice.save('python.wav', voice.say('Good morning.'))\""
step "the same bytes" inside "cmp ~/program.wav ~/python.wav"
step "bash completes" inside 'source /usr/local/share/bash-completion/completions/myxtts && COMP_WORDS=(myxtts train --model-size n) COMP_CWORD=3 && _myxtts && [ "${COMPREPLY[*]}" = "nano normal" ]'
user=''
step "make uninstall" inside 'make uninstall && [ -z "$(find /usr/local -name "*myxtts*")" ]'
echo "a newcomer gets there in $((SECONDS / 60)) min $((SECONDS % 60)) s"
