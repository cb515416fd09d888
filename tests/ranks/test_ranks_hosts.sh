#!/usr/bin/env bash
# Ranks on several hosts: network namespaces with addresses and host names of their own, joined by a bridge with slow links. The ranks are
# workers of tests/ranks/test_ranks.c, started as torchrun, srun and mpirun would start them. Needs root.
set -u
program=$(realpath "${MYXTTS_OUT:-build}/tests/test_ranks" 2>/dev/null)
. tests/support/shell.sh
skip() { # reason
    echo "skip ranks_hosts SKIPPED: $1"
    exit 0
}
[ -x "$program" ] || skip "tests/test_ranks was not built"
[ "$(id -u)" = 0 ] || skip "network namespaces need root"
command -v ip >/dev/null && command -v tc >/dev/null && command -v unshare >/dev/null || skip "ip, tc or unshare is missing"
id=myx$$
ip netns add ${id}s 2>/dev/null || skip "no network namespace can be made here"
# Nobody else uses these namespaces: whatever still runs in them is of this test.
clean() {
    for h in a b c s; do
        ip netns pids $id$h 2>/dev/null | xargs -r kill -9 2>/dev/null
        ip netns del $id$h 2>/dev/null
    done
    rm -rf "$dir"
}
trap clean EXIT
export MYXTTS_RANK_SECONDS=2 MYXTTS_JOIN_SECONDS=20
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0
export TSAN_OPTIONS=${TSAN_OPTIONS:-}:ignore_noninstrumented_modules=1:report_signal_unsafe=0
address() { # host
    case $1 in a) echo 10.77.0.10 ;; b) echo 10.77.0.11 ;; c) echo 10.77.0.12 ;; esac
}
made=0
make_hosts() {
    ip netns exec ${id}s ip link add br0 type bridge && ip netns exec ${id}s ip link set br0 up || return 1
    for h in a b c; do
        ip netns add $id$h &&
            ip link add "v$h$id" type veth peer name eth0 netns $id$h &&
            ip link set "v$h$id" netns ${id}s &&
            ip netns exec ${id}s ip link set "v$h$id" master br0 up &&
            ip netns exec $id$h ip addr add "$(address $h)/24" dev eth0 &&
            ip netns exec $id$h ip link set lo up &&
            ip netns exec $id$h ip link set eth0 up || return 1
        # 400 Mbit/s in each direction; where the system has no such thing, the link is as fast as it is.
        ip netns exec $id$h tc qdisc add dev eth0 root tbf rate 400mbit burst 256k latency 100ms 2>/dev/null && made=$((made + 1))
    done
}
make_hosts >"$dir/log" 2>&1 || skip "the hosts cannot be joined by a bridge: $(tail -1 "$dir/log")"
[ $made = 3 ] || echo "skip slow_links SKIPPED: this system has no tc qdisc tbf"

on_host() { # host, command...: with a host name of its own
    local h=$1
    shift
    ip netns exec $id"$h" unshare --uts sh -c "hostname host-$h; exec \"\$@\"" sh "$@"
}
start() { # hosts ("a a b"), arguments of the worker: every rank's words are in $dir/rank.N, its process is pids[N]
    local hosts=$1 rank=0 n h
    shift
    n=$(wc -w <<<"$hosts")
    rm -f "$dir"/rank.*
    pids=()
    local -A seen=()
    for h in $hosts; do
        RANK=$rank WORLD_SIZE=$n LOCAL_RANK=${seen[$h]:-0} MASTER_ADDR=$(address a) MASTER_PORT=29500 \
            on_host "$h" "$program" worker "$@" >"$dir/rank.$rank" 2>&1 </dev/null &
        pids[rank]=$!
        seen[$h]=$((${seen[$h]:-0} + 1))
        rank=$((rank + 1))
    done
}
finish() { # waits for all of them: codes[N]
    local i
    codes=()
    for i in "${!pids[@]}"; do
        wait "${pids[i]}" 2>/dev/null
        codes[i]=$?
    done
    cat "$dir"/rank.* >"$dir/log"
}
one_sentence() { # name, pattern
    [ "$(grep -c '^error: ' "$dir/log")" = 1 ] && grep -qE "^error: $2" "$dir/log"
    verdict "$1" $?
}

# ---- the same sums ----
for hosts in "a a b b" "a b c"; do
    n=$(wc -w <<<"$hosts")
    start "$hosts" check
    finish
    [ "${codes[*]}" = "$(printf '0 %.0s' $(seq "$n") | sed 's/ $//')" ] && [ "$(grep '^sums ' "$dir/log" | sort | uniq -c | awk '{ print $1 }')" = "$n" ]
    verdict "calls_on_hosts_${hosts// /}" $?
done
cp "$dir/rank.0" "$dir/three"

# ---- faults ----
start "a a b b" steps 1000000 kill 2
finish
one_sentence a_rank_of_the_other_host_is_killed 'rank 2 on host-b ended without a message'
start "a a b b" steps 1000000 kill 0
finish
one_sentence rank_0_is_killed 'rank 0 on host-a ended without a message'
start "a b c" steps 1000000 stop 2
sleep 0.1
wait "${pids[0]}" "${pids[1]}" 2>/dev/null
cat "$dir"/rank.? >"$dir/log"
one_sentence a_rank_of_the_third_host_is_stopped 'rank 2 on host-c has not answered'
ip netns pids ${id}c | xargs -r kill -CONT
finish
# All of rank 0's host: the lowest of the others says it. Stopped first, so that none of them sees another die.
start "a a b b" steps 1000000 none 0
sleep 1
ip netns pids ${id}a | xargs -r kill -STOP
ip netns pids ${id}a | xargs -r kill -9
finish
one_sentence rank_0s_host_is_lost 'rank 0 on host-a ended without a message'
grep -q '^error: ' "$dir/rank.2"
verdict the_lowest_that_is_left_says_it $?
# A cable is pulled: each side says whom it has lost, once.
start "a a b b" steps 1000000 none 0
sleep 1
ip netns exec ${id}s ip link set "vb$id" down
finish
ip netns exec ${id}s ip link set "vb$id" up
cat "$dir/rank.0" "$dir/rank.1" >"$dir/log"
one_sentence a_cable_is_pulled 'rank [23] on host-b has not answered'
cat "$dir/rank.2" "$dir/rank.3" >"$dir/log"
one_sentence the_other_side_knows_too 'rank 0 on host-a has not answered'
# Nobody is at that address.
RANK=1 WORLD_SIZE=2 LOCAL_RANK=0 MYXTTS_JOIN_SECONDS=1 MASTER_ADDR=10.77.0.99 MASTER_PORT=29500 \
    on_host b "$program" worker check >"$dir/log" 2>&1 </dev/null
one_sentence nobody_is_there 'rank 1 on host-b cannot reach rank 0 at 10.77.0.99, port 29501, within 1 s'

# ---- srun, imitated: the first host of the list ----
pids=()
rank=0
for h in a b; do
    SLURM_PROCID=$rank SLURM_NTASKS=2 SLURM_LOCALID=0 SLURM_JOB_ID=4711 SLURM_STEP_ID=0 SLURM_STEP_NODELIST=$(address a),$(address b) \
        on_host $h "$program" worker steps 30 >"$dir/rank.$rank" 2>&1 </dev/null &
    pids[rank]=$!
    rank=1
done
finish
[ "${codes[*]}" = "0 0" ]
verdict started_by_srun $?

# ---- mpirun, whose daemons are started in the other namespaces ----
if ! command -v mpirun >/dev/null; then
    echo "skip mpirun_on_hosts SKIPPED: there is no mpirun here (apt-get install openmpi-bin)"
    exit $failed
fi
cat >"$dir/agent" <<AGENT
#!/usr/bin/env bash
# What mpirun takes for ssh: the first word is the address, the rest a command.
case \$1 in $(address a)) h=a ;; $(address b)) h=b ;; $(address c)) h=c ;; esac
shift
exec ip netns exec $id\$h unshare --uts bash -c "hostname host-\$h; \$*"
AGENT
chmod +x "$dir/agent"
mpi() { # hosts as mpirun wants them, ranks, arguments of the worker
    local hosts=$1 n=$2
    shift 2
    on_host a timeout -k 5 60 mpirun --allow-run-as-root --mca plm_rsh_agent "$dir/agent" --mca plm_rsh_no_tree_spawn 1 \
        --mca btl self,vader,tcp --mca oob_tcp_if_include 10.77.0.0/24 --mca btl_tcp_if_include 10.77.0.0/24 --host "$hosts" \
        -n "$n" "$program" worker "$@" >"$dir/log" 2>&1 </dev/null
}
mpi "$(address a):2,$(address b):2" 4 check
[ "$(grep '^sums ' "$dir/log" | sort | uniq -c | awk '{ print $1 }')" = 4 ]
verdict mpirun_on_two_hosts $?
mpi "$(address a):1,$(address b):1,$(address c):1" 3 check
[ "$(grep '^sums ' "$dir/log" | sort -u)" = "$(grep '^sums ' "$dir/three")" ]
verdict mpirun_on_three_hosts_sums_as_tcp_does $?
mpi "$(address a):2,$(address b):2" 4 steps 1000000 kill 3
one_sentence mpirun_a_rank_is_killed 'rank 3 on host-b ended without a message'
exit $failed
