#!/usr/bin/env bash
# `myxtts serve` where few files may be open: it says how many connections that leaves, and works.
# usage: test_serve_files.sh [build folder]
set -u
cd "$(dirname "$0")/../.." || exit 3
bin=${1:-build}/myxtts
if [ ! -x "$bin" ]; then
    echo "skip serve_files SKIPPED: $bin was not built"
    exit 0
fi
. tests/support/shell.sh
serve() { # files: a server that may open so many, as $server
    # shellcheck disable=SC2016
    bash -c 'ulimit -n "$1"; exec "${@:2}"' _ "$1" "$bin" serve --runs "$dir" --listen 127.0.0.1:0 --json >"$dir/where" 2>"$dir/log" &
    server=$!
    for _ in $(seq 600); do
        grep -q . "$dir/where" && break
        kill -0 $server 2>/dev/null || break
        sleep 0.05
    done
}
serve 300
address=$(sed -n 's/.*"address": "\([^"]*\)".*/\1/p' "$dir/where")
log_has it_says_how_many_connections_fit '150 connections can be open at once, not the 2000 of --max-connections'
log_has it_says_what_allows_more 'ulimit -Hn 2256'
exec 3<>"/dev/tcp/${address%:*}/${address#*:}" && printf 'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n' >&3 && read -r -t 10 answer <&3
[ "${answer%$'\r'}" = "HTTP/1.1 200 OK" ]
verdict it_answers_all_the_same $?
exec 3>&-
kill -TERM $server
wait $server
verdict it_ends_well $?
serve 4000
! grep -q 'max-connections' "$dir/log"
verdict enough_files_are_not_spoken_of $?
kill -TERM $server
wait $server
verdict it_ends_well_again $?
exit $failed
