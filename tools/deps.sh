#!/usr/bin/env bash
# Installs the Debian/Ubuntu packages that are missing; does nothing, fast, when all are there. It says first what it will install, and asks
# on a terminal. usage: tools/deps.sh [--yes] [build | sound | pack | tests]
#   build    only what the program is built from
#   sound    also flite, a synthesiser, for the first sound of `make demo`
#   (none)   also a recogniser, which judges speech, where it can be installed
#   pack     these, and what packages of the program are made with
#   tests    all of these, and what tests are compiled and sources are checked with, a browser for the tests of the HTML report and of the pages of
#            `serve`, OpenMPI for those of several ranks, and numpy, ONNX Runtime and other people's clients of the server, into build/clients by pip;
#            tests that need what could not be had are skipped
#   --yes    asks nothing
# NO_DEPS=1: installs nothing and says what is missing. What could not be installed is tried again after `make clean`.
# shellcheck disable=SC2086 # lists of packages are split on purpose
set -eu
cd "$(dirname "$0")/.."
ask=1
[ "${1:-}" != --yes ] || { ask=0 && shift; }
mode=${1:-demo}
packages="gcc g++ make pkg-config libespeak-ng-dev espeak-ng-data libsndfile1-dev libsoxr-dev libebur128-dev libyaml-dev libxxhash-dev
libpng-dev libicu-dev libcld2-dev libjansson-dev libmicrohttpd-dev"
# Needed at run time alone: the library is loaded when speech is judged. libsphinxbase comes with it.
recogniser="libpocketsphinx3 pocketsphinx-en-us"
wishes=""
case $mode in
build) ;;
sound) wishes=flite ;;
*) packages="$packages python3 espeak-ng" wishes="$recogniser flite" ;;
esac
case $mode in pack | tests) packages="$packages patchelf icu-devtools" ;; esac
if [ "$mode" = tests ]; then
    packages="$packages libcmocka-dev clang libclang-rt-dev clang-format cppcheck"
    command -v chromium >/dev/null || wishes="$wishes chromium"
    command -v mpirun >/dev/null || wishes="$wishes openmpi-bin"
fi
tried=build/deps-tried         # packages that could not be installed
clients="numpy openai wyoming onnxruntime" # from PyPI
venv=build/clients
say() { echo "deps: $*" >&2; }

if ! command -v dpkg-query >/dev/null; then # another system: its packages have other names
    for library in $(sed -n 's/^PKGS := //p' Makefile); do
        pkg-config --exists "$library" 2>/dev/null || say "$library was not found by pkg-config; on Debian it is among:" $packages
    done
    exit 0
fi

without() { # packages...: those that are not installed
    comm -13 <(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^installed //p' | sort -u) \
        <(printf '%s\n' "$@" | sort -u)
}
missing=$(without $packages | paste -sd' ')
optional=""
for p in $([ -z "$wishes" ] || without $wishes); do
    grep -qx "$p" "$tried" 2>/dev/null || optional="$optional $p"
done
optional=${optional# }
from_pypi=""
[ "$mode" != tests ] || [ "$(cat $venv/tried 2>/dev/null)" = "$clients" ] || from_pypi=$clients

what_it_means() { # what is still not there
    case $mode in build | sound) return 0 ;; esac
    [ -z "$(without $recogniser)" ] || say "without" $(without $recogniser) "the words of a voice cannot be judged"
    [ -z "$(without flite)" ] || say "without flite the tests that listen to it are skipped"
}
if [ -z "$missing$optional$from_pypi" ]; then
    what_it_means
    exit 0
fi
if [ "${NO_DEPS:-0}" = 1 ]; then
    say "not installed (NO_DEPS=1):" $missing $optional $from_pypi
    what_it_means
    exit 0
fi

as_root="" can_install=1
command -v apt-get >/dev/null || can_install=0
if [ "$(id -u)" != 0 ]; then
    as_root=sudo
    command -v sudo >/dev/null || can_install=0
fi
if [ -n "$missing" ] && [ "$can_install" = 0 ]; then
    say "these Debian packages (or their like) are needed: $missing"
    echo "  hint: ask an administrator to run: apt-get install $missing" >&2
    exit 3
fi
if [ -z "$missing" ] && [ -n "$as_root" ] && ! sudo -n true 2>/dev/null; then
    can_install=0 # nobody is asked for a password for what is not needed
fi
[ "$can_install" = 1 ] || optional=""
[ -z "$missing$optional" ] || say "installing with apt-get:" $missing $optional
[ -z "$from_pypi" ] || say "installing into $venv, with pip: $from_pypi"
if [ $ask = 1 ] && [ -t 0 ] && [ -t 2 ] && [ -n "$missing$optional$from_pypi" ]; then
    read -r -p "deps: go on? [Y/n] " answer
    case $answer in
    '' | [Yy]*) ;;
    *)
        say "nothing was installed; NO_DEPS=1 does without asking"
        [ -n "$missing" ] || exit 0
        exit 3
        ;;
    esac
fi

export DEBIAN_FRONTEND=noninteractive
if [ -n "$missing$optional" ]; then
    $as_root apt-get update -qq || [ -z "$missing" ]
    # In one go where that works: one package that cannot be had must not cost the others.
    if ! $as_root apt-get install -y -qq --no-install-recommends $missing $optional >/dev/null; then
        [ -z "$missing" ] || $as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
        for p in $optional; do
            $as_root apt-get install -y -qq --no-install-recommends "$p" >/dev/null && continue
            say "$p could not be installed"
            mkdir -p "$(dirname "$tried")"
            echo "$p" >>"$tried"
        done
    fi
fi
if [ -n "$from_pypi" ]; then
    mkdir -p "$venv"
    { python3 -m venv "$venv" && "$venv/bin/pip" install -q --timeout 15 --retries 1 $clients; } >"$venv/log" 2>&1 ||
        say "without these Python packages the tests of the clients are skipped; $venv/log says why"
    echo "$clients" >"$venv/tried"
fi
what_it_means
