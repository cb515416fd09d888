# bare_debian.sh - a bare Debian of its own (debootstrap, chroot) with the committed sources in /home/new/myxtts; to be sourced. Set `root`
# (a folder that stays) or leave it empty (a temporary one, about 3 GB, removed at the end).
#   NEWCOMER_SUITE (bookworm), NEWCOMER_MIRROR (http://deb.debian.org/debian): which Debian, and from where; NEWCOMER_OPTIONS: of debootstrap
# shellcheck shell=bash
suite=${NEWCOMER_SUITE:-bookworm} mirror=${NEWCOMER_MIRROR:-http://deb.debian.org/debian}
if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
    echo "$(basename "$0"): needs root, and the Debian package debootstrap" >&2
    exit 3
fi
keep=${root:+1}
root=${root:-$(mktemp -d "${TMPDIR:-/tmp}/newcomer-XXXXXX")}
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
    # shellcheck disable=SC2086 # options are split on purpose
    [ -x "$root/bin/bash" ] || debootstrap ${NEWCOMER_OPTIONS:-} --variant=minbase --include=ca-certificates "$suite" "$root" "$mirror"
    mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
    mountpoint -q "$root/dev" || mount --bind /dev "$root/dev"
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
    chroot "$root" chown -R new:new /home/new
}
