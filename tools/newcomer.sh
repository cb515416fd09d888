#!/usr/bin/env bash
# What somebody meets who has a bare Debian and the README: in a new system of its own (debootstrap, chroot) it installs the packages
# that the README names, builds, installs, compiles the C example with pkg-config, installs the Python package, and speaks. usage:
#   tools/newcomer.sh VOICE [FOLDER]
# VOICE: a run, or an exported voice, to speak with. FOLDER: where the system is put (about 3 GB; a temporary one, which is removed
# afterwards). Needs root, debootstrap and a network, and takes some minutes. Each step is printed with its result and its time; exit 1 at
# the first that fails. What is committed is tried, not the working tree.
#   NEWCOMER_SUITE (bookworm), NEWCOMER_MIRROR (http://deb.debian.org/debian): which Debian, and from where
# shellcheck disable=SC2016,SC2088 # what is run inside is expanded inside
set -eu
cd "$(dirname "$0")/.."
voice=${1:-} suite=${NEWCOMER_SUITE:-bookworm} mirror=${NEWCOMER_MIRROR:-http://deb.debian.org/debian}
if [ -z "$voice" ] || [ ! -e "$voice" ]; then
    echo "usage: tools/newcomer.sh VOICE [FOLDER]; VOICE is a run, or an exported voice" >&2
    exit 2
fi
if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
    echo "newcomer: needs root, and the Debian package debootstrap" >&2
    exit 3
fi
keep=${2:+1}
root=${2:-$(mktemp -d "${TMPDIR:-/tmp}/newcomer-XXXXXX")}
log=$root.log
mkdir -p "$root"
chmod 755 "$root" # it becomes /, which everybody has to see
root=$(realpath "$root")

leave() {
    for m in proc dev; do mountpoint -q "$root/$m" && umount -l "$root/$m"; done
    # Never while something of the machine itself is mounted in there.
    if [ -z "$keep" ] && ! grep -q " $root/" /proc/mounts; then rm -rf --one-file-system "$root" "$log"; fi
}
trap leave EXIT
trap 'exit 130' INT TERM

number=0
step() { # what it does, command...
    local what=$1 begun=$SECONDS rc=0
    shift
    number=$((number + 1))
    printf '%2d  %-66s ' $number "$what"
    "$@" >"$log" 2>&1 </dev/null || rc=$?
    if [ $rc != 0 ]; then
        echo "FAILED ($rc)"
        tail -40 "$log" | sed 's/^/        /'
        exit 1
    fi
    echo "ok  $((SECONDS - begun)) s"
}
inside() { # a line of shell, in the sources, by $user
    env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/home/new LANG=C.UTF-8 TERM=dumb \
        ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} ${PIP_INDEX_URL:+PIP_INDEX_URL="$PIP_INDEX_URL"} \
        ${PIP_CERT:+PIP_CERT="$PIP_CERT"} chroot ${user:+--userspec="$user"} "$root" bash -euc "cd /home/new/myxtts && $1"
}
user=''
show() { sed 's/^/        /' "$log" | tail -"${1:-1}"; }

bootstrap() {
    [ -x "$root/bin/bash" ] || debootstrap --variant=minbase --include=ca-certificates "$suite" "$root" "$mirror"
    mount -t proc proc "$root/proc"
    mount --bind /dev "$root/dev"
    cp /etc/resolv.conf "$root/etc/" 2>/dev/null || :
    # Whom this machine trusts, the new system has to trust too: a proxy may be among them.
    cp -r /usr/local/share/ca-certificates/. "$root/usr/local/share/ca-certificates/" 2>/dev/null || :
    chroot "$root" update-ca-certificates
    chroot "$root" id new >/dev/null 2>&1 || chroot "$root" useradd -m new
}
sources() {
    rm -rf "$root/home/new/myxtts"
    mkdir -p "$root/home/new/myxtts"
    git archive HEAD | tar -x -C "$root/home/new/myxtts"
    cp -r "$voice" "$root/home/new/voice$([ -d "$voice" ] || echo .safetensors)"
    chroot "$root" chown -R new:new /home/new
}
# The line of the README that begins with this, so that it is the README that is tried.
readme() { grep -m1 -E "^$1" README.md || { echo "README.md has no line '$1'" >&2 && exit 1; }; }

spoken=voice
[ -d "$voice" ] || spoken=voice.safetensors
packages=$(readme 'apt-get install ' | sed 's/ *#.*//')
step "a bare Debian ($suite)" bootstrap
step "the sources, as they are committed" sources
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
