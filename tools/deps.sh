#!/usr/bin/env bash
# Installs the Debian/Ubuntu packages that are missing; does nothing, fast, when all are there. usage: tools/deps.sh [tests | pack]
# pack: also what packages of the program are made with.
# tests: also what tests are compiled and sources are checked with, a browser for the tests of the HTML report and of the pages of `serve`, and OpenMPI for that of several ranks, where there
# are some to install; those tests are skipped without them. Also numpy and the Python packages of other people's clients of the server, into build/clients, where pip can get
# them.
# A recogniser and a synthesiser, to judge speech with, are installed where that works without asking anybody.
# The program is built and runs without them. What could not be installed is tried again after `make clean`.
# shellcheck disable=SC2086 # lists of packages are split on purpose
set -eu
cd "$(dirname "$0")/.."
packages="gcc g++ make pkg-config python3
libespeak-ng-dev espeak-ng espeak-ng-data libsndfile1-dev libsoxr-dev libebur128-dev libyaml-dev libxxhash-dev libpng-dev
libicu-dev libcld2-dev libjansson-dev libopenblas-dev libmicrohttpd-dev"
[ "${1:-}" != tests ] || packages="$packages libcmocka-dev clang libclang-rt-dev clang-format cppcheck"
[ "${1:-}" = "" ] || packages="$packages patchelf icu-devtools"
# Needed at run time alone: the library is loaded when speech is judged. libsphinxbase comes with it.
recogniser="libpocketsphinx3 pocketsphinx-en-us"
tried=build/deps-tried # packages that could not be installed
clients="numpy openai wyoming"            # from PyPI

without() { # packages...: those that are not installed
    for p in "$@"; do
        dpkg-query -W -f='${db:Status-Status}' "$p" 2>/dev/null | grep -qx installed || printf ' %s' "$p"
    done
}
add_clients() { # once for each list
    local venv=build/clients
    [ "$(cat "$venv/tried" 2>/dev/null)" != "$clients" ] || return 0
    echo "deps: installing Python packages into build/clients: $clients" >&2
    mkdir -p "$venv"
    { python3 -m venv "$venv" && "$venv/bin/pip" install -q --timeout 15 --retries 1 $clients; } >"$venv/log" 2>&1 ||
        echo "deps: without them the tests of these clients are skipped; $venv/log says why" >&2
    echo "$clients" >"$venv/tried"
}
[ "${1:-}" != tests ] || add_clients
missing=$(without $packages)
wanted=$(without $recogniser flite)
if [ "${1:-}" = tests ] && ! command -v chromium >/dev/null; then
    wanted="$wanted chromium"
fi
if [ "${1:-}" = tests ] && ! command -v mpirun >/dev/null; then
    wanted="$wanted openmpi-bin"
fi
[ -n "$missing$wanted" ] || exit 0
optional=""
for p in $wanted; do
    grep -qx "$p" "$tried" 2>/dev/null || optional="$optional $p"
done

say_what_is_missing() {
    local gone
    gone=$(without $recogniser)
    [ -z "$gone" ] || echo "deps: without$gone the words of a voice cannot be judged" >&2
    [ -z "$(without flite)" ] || echo "deps: without flite the tests that listen to it are skipped" >&2
}
as_root="" can_install=1
command -v apt-get >/dev/null || can_install=0
if [ "$(id -u)" != 0 ]; then
    as_root=sudo
    command -v sudo >/dev/null || can_install=0
fi
if [ -n "$missing" ] && [ "$can_install" = 0 ]; then
    echo "deps: these Debian packages (or their like) are needed:$missing" >&2
    echo "  hint: ask an administrator to run: apt-get install$missing" >&2
    exit 3
fi
if [ -z "$missing" ] && [ -n "$as_root" ] && ! sudo -n true 2>/dev/null; then
    can_install=0 # nobody is asked for a password for what is not needed
fi
if [ -z "$missing$optional" ] || [ "$can_install" = 0 ]; then
    say_what_is_missing
    exit 0
fi
echo "deps: installing$missing$optional" >&2
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -qq || [ -z "$missing" ]
[ -z "$missing" ] || $as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
for p in $optional; do
    $as_root apt-get install -y -qq --no-install-recommends "$p" >/dev/null && continue
    echo "deps: $p could not be installed" >&2
    mkdir -p "$(dirname "$tried")"
    echo "$p" >>"$tried"
done
say_what_is_missing
