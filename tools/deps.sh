#!/usr/bin/env bash
# Installs the Debian/Ubuntu packages that are missing; does nothing, fast, when all are there. usage: tools/deps.sh [tests]
# tests: also a browser for the test of the HTML report, where there is one to install; that test is skipped without it.
set -eu
packages="gcc g++ make pkg-config python3
libespeak-ng-dev espeak-ng espeak-ng-data libsndfile1-dev libsoxr-dev libebur128-dev libyaml-dev libxxhash-dev libpng-dev
libicu-dev libcld2-dev libjansson-dev libopenblas-dev
libcmocka-dev clang libclang-rt-dev clang-format cppcheck"
missing=""
for p in $packages; do
    dpkg-query -W -f='${db:Status-Status}' "$p" 2>/dev/null | grep -qx installed || missing="$missing $p"
done
optional=""
if [ "${1:-}" = tests ] && ! command -v chromium >/dev/null && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    optional=chromium
fi
[ -n "$missing$optional" ] || exit 0
if ! command -v apt-get >/dev/null; then
    echo "deps: these Debian packages (or their like) are needed and this system has no apt-get:$missing" >&2
    exit 3
fi
sudo=""
if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "deps: missing:$missing" >&2
        echo "  hint: ask an administrator to run: apt-get install$missing" >&2
        exit 3
    fi
    sudo=sudo
fi
echo "deps: installing$missing $optional" >&2
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -qq
# shellcheck disable=SC2086
[ -z "$missing" ] || $sudo apt-get install -y -qq --no-install-recommends $missing >/dev/null
[ -z "$optional" ] || $sudo apt-get install -y -qq --no-install-recommends $optional >/dev/null || echo "deps: $optional could not be installed" >&2
