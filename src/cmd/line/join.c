/* join.c - see join.h. */
#include "cmd/line/join.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "cmd/line/options.h"

#define MOST_PROGRAM ((size_t)1 << 30) /* bytes */

/* The cores of the host are divided among its ranks. Where there are fewer cores than ranks, or the launcher
 * has bound the ranks, it stays as it is. */
static void take_cores(int local, int locals)
{
    cpu_set_t all, mine;
    CPU_ZERO(&mine);
    if (locals < 2 || sched_getaffinity(0, sizeof all, &all))
        return;
    const int cores = CPU_COUNT(&all);
    if (cores < locals || cores < sysconf(_SC_NPROCESSORS_ONLN))
        return;
    const int from = cores * local / locals, to = cores * (local + 1) / locals;
    for (int core = 0, seen = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET(core, &all)) {
            if (seen >= from && seen < to)
                CPU_SET(core, &mine);
            seen++;
        }
    /* Slower, and no reason to fail. */
    (void)sched_setaffinity(0, sizeof mine, &mine);
}

/* Ranks of two builds may compute and exchange different things: found before they do. */
static int agree_on_program(Ranks *r, Err *err)
{
    Buf program = {0};
    char hash[24];
    if (ranks_count(r) < 2)
        return 0;
    int rc = file_read(&program, "/proc/self/exe", MOST_PROGRAM, err);
    if (!rc) {
        snprintf(hash, sizeof hash, "%016llx", (unsigned long long)hash64(program.data, program.size));
        rc = ranks_agree(r, "the hash of the program", hash, err);
        if (rc && err->code != ERR_RANKS)
            err_hint(err, "all hosts must run the same build of myxtts");
    }
    buf_free(&program);
    return rc;
}

int join_ranks(Ranks **r, int verbose, Log *log, Err *err)
{
    RankPlace place;
    *r = NULL;
    int rc = rank_place_read(&place, err);
    if (rc)
        return rc;
    if (place.count > 1) {
        log->rank = place.rank;
        log->ranks = verbose ? place.count : 0;
        if (place.rank && !verbose)
            log->level = LOG_ERROR;
    }
    rc = ranks_open(r, &place, log, err);
    if (rc)
        return rc;
    take_cores(ranks_local(*r), ranks_locals(*r));
    return agree_on_program(*r, err);
}

void leave_ranks(Ranks *r, int rc, Err *err)
{
    if (rc)
        ranks_fail(r, err);
    ranks_close(r);
}

int fail_ranks(Log *log, const Err *err)
{
    RankPlace place;
    int is_everyones = (err->code == ERR_USAGE || err->code == ERR_CONFIG) &&
                       rank_place_read(&place, NULL) == 0 && place.rank > 0;
    return is_everyones ? err_exit_code(err->code) : cmd_fail(log, err);
}

int highest_code(Ranks *r, int code)
{
    int count = ranks_count(r);
    int *codes = mem_calloc((size_t)count, sizeof *codes);
    Err err = {0};
    if (codes && ranks_gather(r, codes, &code, sizeof code, &err))
        code = err_exit_code(err.code);
    for (int k = 0; codes && !err.code && k < count; k++)
        code = codes[k] > code ? codes[k] : code;
    free(codes);
    return code;
}
