# shellcheck shell=bash
# What the shell tests share; they source it. Gives a temporary folder $dir that goes when the test ends, and $failed, which is the
# exit code of the test.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
verdict() { # name, 0 when well; what the last command said is shown when it is not
    if [ "$2" = 0 ]; then
        echo "ok $1"
    else
        # Whatever a program said by mistake does not reach the terminal of the one who reads it.
        LC_ALL=C sed 's/[\x01-\x08\x0b-\x1f]/?/g' "$dir/log" 2>/dev/null
        echo "not ok $1"
        failed=1
    fi
}
ends_with() { # name, expected exit code, command...: what it says is in $dir/log
    local name=$1 expected=$2 rc
    shift 2
    "$@" >"$dir/log" 2>&1 </dev/null
    rc=$?
    [ $rc = "$expected" ] || echo "exit $rc, expected $expected: $*" >>"$dir/log"
    verdict "$name" $((rc != expected))
}
log_has() { # name, pattern
    grep -qE -- "$2" "$dir/log"
    verdict "$1" $?
}
log_lacks() { # name, pattern
    ! grep -qE -- "$2" "$dir/log"
    verdict "$1" $?
}
python_with() { # modules...: an interpreter that has them all; nothing if there is none
    local p m
    for p in "${MYXTTS_PYTHON:-}" build/clients/bin/python "${MYXTTS_PEERS_PYTHON:-}" build/peers/bin/python python3; do
        [ -n "$p" ] && command -v "$p" >/dev/null || continue
        for m in "$@"; do "$p" -c "import $m" >/dev/null 2>&1 || continue 2; done
        echo "$p"
        return
    done
}
