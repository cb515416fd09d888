#!/usr/bin/env bash
# tools/deps.sh on a machine that lacks packages: dpkg-query and apt-get are programs of this test, which remember what they were asked for.
# What would be installed is said, asked on a terminal, and not installed with NO_DEPS=1.
set -u
. tests/support/shell.sh
mkdir -p "$dir/bin" "$dir/tree"
cp -r tools Makefile "$dir/tree/"
cat >"$dir/bin/dpkg-query" <<'S'
#!/bin/sh
for p in "$@"; do case $p in -*) ;; *) grep -qx "$p" "$0.lacks" || echo "installed $p" ;; esac; done
S
cat >"$dir/bin/apt-get" <<'S'
#!/bin/sh
echo "$@" >>"$0.asked"
case "$*" in *"$(cat "$0.refuses" 2>/dev/null || echo nothing)"*) exit 100 ;; esac
for p in "$@"; do sed -i "/^$p\$/d" "$(dirname "$0")/dpkg-query.lacks"; done
S
printf '#!/bin/sh\nexec "$@"\n' >"$dir/bin/sudo"
chmod +x "$dir/bin"/*
lacks=$dir/bin/dpkg-query.lacks asked=$dir/bin/apt-get.asked
deps() { (cd "$dir/tree" && env -u NO_DEPS PATH="$dir/bin:$PATH" "$@"); }
lacking() { printf '%s\n' "$@" >"$lacks" && rm -f "$asked"; }
on_terminal() { # answer
    command -v script >/dev/null || { echo "$1" && return 77; }
    printf '%s\n' "$1" | deps script -qec "tools/deps.sh build" /dev/null
}

lacking
ends_with nothing_is_missing 0 deps tools/deps.sh build
[ ! -f "$asked" ] && [ ! -s "$dir/log" ]
verdict then_it_says_and_does_nothing $?

lacking libsoxr-dev libyaml-dev flite
ends_with installs 0 deps tools/deps.sh build
log_has says_what_first 'installing with apt-get: libsoxr-dev libyaml-dev'
grep -q 'install .*libsoxr-dev libyaml-dev' "$asked" && ! grep -q flite "$asked"
verdict only_what_a_build_needs $?

lacking libsoxr-dev
ends_with no_deps_goes_on 0 deps env NO_DEPS=1 tools/deps.sh build
log_has and_says_what_is_missing 'not installed \(NO_DEPS=1\): libsoxr-dev'
[ ! -f "$asked" ]
verdict and_installs_nothing $?

if command -v script >/dev/null; then
    lacking libsoxr-dev
    ends_with a_terminal_is_asked 0 bash -c "$(declare -f deps on_terminal); dir=$dir; on_terminal y"
    log_has it_reads_a_question 'go on\? \[Y/n\]'
    grep -q libsoxr-dev "$asked"
    verdict yes_installs $?
    lacking libsoxr-dev
    ends_with no_ends_where_it_is_needed 3 bash -c "$(declare -f deps on_terminal); dir=$dir; on_terminal n"
    [ ! -f "$asked" ]
    verdict no_installs_nothing $?
else
    echo "skip deps SKIPPED: the terminal, without script (Debian: bsdutils)"
fi

lacking flite libpocketsphinx3
echo flite >"$dir/bin/apt-get.refuses"
ends_with what_cannot_be_had_costs_nothing_else 0 deps tools/deps.sh
log_has it_is_named 'flite could not be installed'
grep -qx libpocketsphinx3 "$lacks"
verdict the_others_are_there $((! $?))
exit $failed
