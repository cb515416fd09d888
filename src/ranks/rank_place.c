/* rank_place.c - see rank_place.h. */
#include "ranks/rank_place.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"

enum { MOST_RANKS = 65536, TORCH_PORT = 29500, SLURM_PORTS = 20000, SLURM_PORT_COUNT = 10000 };

/* Numbers that Slurm gives to processes outside an srun step: an interactive shell and everything above
 * it. */
#define SLURM_NO_STEP 4294967290

/* What each launcher sets. */
static const struct Variables {
    Launcher launcher;
    const char *name; /* for messages */
    const char *rank, *count, *local, *locals;
} launchers[] = {
    {LAUNCHER_TORCH, "torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    {LAUNCHER_OPENMPI, "mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {LAUNCHER_PMI, "mpiexec", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {LAUNCHER_SLURM, "srun", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", NULL},
};
enum { LAUNCHERS = sizeof launchers / sizeof *launchers };

/* NULL also for a variable that is set to nothing. */
static const char *variable(const char *name)
{
    const char *value = name ? getenv(name) : NULL;
    return value && *value ? value : NULL;
}

const char *launcher_name(Launcher l)
{
    for (int i = 0; i < LAUNCHERS; i++)
        if (launchers[i].launcher == l)
            return launchers[i].name;
    return "nobody";
}

/* 1 and the number if it is nothing but one. */
static int whole_number(const char *text, int64_t *value)
{
    char *end;
    if (!text || *text < '0' || *text > '9')
        return 0;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return !*end && !errno;
}

static int read_number(int *value, const char *name, int least, int most, Err *err)
{
    int64_t n;
    const char *text = variable(name);
    if (!text) {
        err_set(err, ERR_USAGE,
                "the environment starts this process as one of several ranks, but %s is not set", name);
        return err_hint(err, "set all of these variables, or none; `env -u NAME` removes one");
    }
    if (!whole_number(text, &n) || n < least || n > most)
        return err_set(err, ERR_USAGE, "%s is '%s' in the environment, but must be %d to %d", name, text,
                       least, most);
    *value = (int)n;
    return 0;
}

/* Is this process a task of a step of srun? The batch script of a job sees SLURM_PROCID=0 and the job's
 * SLURM_NTASKS, but no other process was started with it. */
static int in_slurm_step(void)
{
    static const char *const signs[] = {"SLURM_STEP_NUM_TASKS", "SLURM_STEP_NODELIST",
                                        "SLURM_SRUN_COMM_PORT"};
    int64_t step;
    if (whole_number(variable("SLURM_STEP_ID"), &step) || whole_number(variable("SLURM_STEPID"), &step))
        return step < SLURM_NO_STEP;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (variable(signs[i]))
            return 1;
    const char *environment = variable("ENVIRONMENT");
    return !environment || strcmp(environment, "BATCH") != 0;
}

static int is_slurm_rank(void)
{
    return variable("SLURM_PROCID") && variable("SLURM_NTASKS") && in_slurm_step();
}

/* Does this launcher's set of variables speak of ranks? */
static int speaks(const struct Variables *v)
{
    if (v->launcher == LAUNCHER_SLURM)
        return is_slurm_rank();
    /* srun's own PMI has no number within the host, Slurm has. */
    if (v->launcher == LAUNCHER_PMI && !variable(v->local) && is_slurm_rank())
        return 0;
    return variable(v->rank) || variable(v->count);
}

static int read_place(RankPlace *p, const struct Variables *v, Err *err)
{
    const char *count = v->count;
    if (v->launcher == LAUNCHER_SLURM && variable("SLURM_STEP_NUM_TASKS"))
        count = "SLURM_STEP_NUM_TASKS"; /* SLURM_NTASKS may be the job's */
    int rc = read_number(&p->rank, v->rank, 0, MOST_RANKS - 1, err);
    if (!rc)
        rc = read_number(&p->count, count, 1, MOST_RANKS, err);
    if (!rc)
        rc = read_number(&p->local, v->local, 0, MOST_RANKS - 1, err);
    if (!rc && variable(v->locals))
        rc = read_number(&p->locals, v->locals, 1, MOST_RANKS, err);
    if (rc)
        return rc;
    const char *wrong = p->rank >= p->count                  ? v->rank
                        : p->local >= p->count               ? v->local
                        : p->locals && p->local >= p->locals ? v->local
                        : p->locals > p->count               ? v->locals
                                                             : NULL;
    if (!wrong)
        return 0;
    err_set(err, ERR_USAGE, "the environment contradicts itself: %s=%d, %s=%d, %s=%d", v->rank, p->rank,
            count, p->count, v->local, p->local);
    if (p->locals)
        err_prefix(err, "%s=%d", v->locals, p->locals);
    return err_hint(err, "%s cannot be right; is it left over from another run?", wrong);
}

int rank_place_read(RankPlace *p, Err *err)
{
    *p = (RankPlace){.count = 1, .locals = 1};
    if (gethostname(p->host, sizeof p->host - 1) < 0 || !p->host[0])
        snprintf(p->host, sizeof p->host, "this-host");
    for (int i = 0; i < LAUNCHERS; i++) {
        if (!speaks(&launchers[i]))
            continue;
        p->launcher = launchers[i].launcher;
        p->locals = 0;
        int rc = read_place(p, &launchers[i], err);
        if (!rc && p->count == 1)
            p->locals = 1;
        return rc;
    }
    return 0;
}

/* ---- where they meet ---- */

/* The first host of Slurm's short form: "n[03-07,9],x" is n03, "r[1-2]n[4-5]" is r1n4. */
static void first_host(char *out, size_t cap, const char *list)
{
    size_t n = 0;
    while (*list && *list != ',' && n + 1 < cap) {
        if (*list != '[') {
            out[n++] = *list++;
            continue;
        }
        list++;
        while (*list && !strchr("-,]", *list) && n + 1 < cap)
            out[n++] = *list++;
        list += strcspn(list, "]");
        list += *list == ']';
    }
    out[n] = 0;
}

static const char *slurm_hosts(void)
{
    static const char *const names[] = {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (variable(names[i]))
            return variable(names[i]);
    return NULL;
}

/* 0 if the variable is not set or no number. */
static int64_t number_or_0(const char *name)
{
    int64_t n;
    return whole_number(variable(name), &n) ? n : 0;
}

/* Two steps of a job may share a host. */
static int slurm_port(void)
{
    uint64_t job = (uint64_t)number_or_0("SLURM_JOB_ID"), step = (uint64_t)number_or_0("SLURM_STEP_ID");
    return SLURM_PORTS + (int)((job + 61 * step) % SLURM_PORT_COUNT);
}

static int find_address(RankMeeting *m, const RankPlace *p, Err *err)
{
    const char *name = variable("MYXTTS_ADDRESS");
    if (!name && p->launcher == LAUNCHER_TORCH)
        name = variable("MASTER_ADDR");
    else if (!name && p->launcher == LAUNCHER_SLURM && slurm_hosts()) {
        first_host(m->address, sizeof m->address, slurm_hosts());
        return 0;
    }
    if (!name && p->locals && p->locals < p->count) {
        err_set(err, ERR_USAGE, "%d ranks on several hosts, but the environment does not say where rank 0 is",
                p->count);
        return err_hint(err, "set MASTER_ADDR and MASTER_PORT, as torchrun does, or MYXTTS_ADDRESS and "
                             "MYXTTS_PORT");
    }
    snprintf(m->address, sizeof m->address, "%s", name ? name : "127.0.0.1");
    return 0;
}

static int find_port(RankMeeting *m, const RankPlace *p, Err *err)
{
    if (variable("MYXTTS_PORT"))
        return read_number(&m->port, "MYXTTS_PORT", 1, 65535, err);
    if (p->launcher == LAUNCHER_SLURM) {
        m->port = slurm_port();
        return 0;
    }
    m->port = TORCH_PORT;
    if (variable("MASTER_PORT")) {
        int rc = read_number(&m->port, "MASTER_PORT", 1, 65534, err);
        if (rc)
            return rc;
    }
    m->port++;
    return 0;
}

/* A process that does not know these is of another job, or none of ours. */
static void make_token(RankMeeting *m, const RankPlace *p)
{
    static const char *const names[] = {"MYXTTS_TOKEN", "TORCHELASTIC_RUN_ID", "SLURM_JOB_ID",
                                        "SLURM_STEP_ID"};
    char text[1024] = "";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = variable(names[i]);
        size_t n = strlen(text);
        snprintf(text + n, sizeof text - n, "%.200s|", value ? value : "");
    }
    size_t n = strlen(text);
    snprintf(text + n, sizeof text - n, "%d|%d", (int)p->launcher, m->port);
    Hash128 h = hash_bytes(text, strlen(text));
    memcpy(m->token, &h, sizeof m->token);
}

int rank_place_meeting(RankMeeting *m, const RankPlace *p, Err *err)
{
    *m = (RankMeeting){0};
    int rc = find_address(m, p, err);
    if (!rc)
        rc = find_port(m, p, err);
    if (!rc)
        make_token(m, p);
    return rc;
}
