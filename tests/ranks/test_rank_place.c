/* Which rank a process is, from what launchers put into the environment; and which of several ranks is to
 * blame, from their heartbeats. */
#include "support/folder_testing.h"

#include "ranks/rank_place.h"
#include "ranks/rank_verdict.h"

/* Every variable that is looked at. */
static const char *const names[] = {"RANK",
                                    "WORLD_SIZE",
                                    "LOCAL_RANK",
                                    "LOCAL_WORLD_SIZE",
                                    "MASTER_ADDR",
                                    "MASTER_PORT",
                                    "TORCHELASTIC_RUN_ID",
                                    "OMPI_COMM_WORLD_RANK",
                                    "OMPI_COMM_WORLD_SIZE",
                                    "OMPI_COMM_WORLD_LOCAL_RANK",
                                    "OMPI_COMM_WORLD_LOCAL_SIZE",
                                    "PMI_RANK",
                                    "PMI_SIZE",
                                    "MPI_LOCALRANKID",
                                    "MPI_LOCALNRANKS",
                                    "SLURM_PROCID",
                                    "SLURM_NTASKS",
                                    "SLURM_LOCALID",
                                    "SLURM_JOB_ID",
                                    "SLURM_STEP_ID",
                                    "SLURM_STEPID",
                                    "SLURM_STEP_NUM_TASKS",
                                    "SLURM_STEP_NODELIST",
                                    "SLURM_JOB_NODELIST",
                                    "SLURM_NODELIST",
                                    "SLURM_SRUN_COMM_PORT",
                                    "ENVIRONMENT",
                                    "MYXTTS_ADDRESS",
                                    "MYXTTS_PORT",
                                    "MYXTTS_TOKEN"};

/* "A=1 B=2" and nothing else of those. */
static void set_environment(const char *text)
{
    char copy[1024], *rest = copy;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
    snprintf(copy, sizeof copy, "%s", text);
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(word, '=');
        *value = 0;
        setenv(word, value + 1, 1);
    }
}

static void test_places(void **state)
{
    static const struct {
        const char *environment;
        int rank, count, local, locals;
        Launcher launcher;
    } cases[] = {
        {"", 0, 1, 0, 1, LAUNCHER_NONE},
        {"RANK=3 WORLD_SIZE=8 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2", 3, 8, 1, 2, LAUNCHER_TORCH},
        {"RANK=3 WORLD_SIZE=8 LOCAL_RANK=3", 3, 8, 3, 0, LAUNCHER_TORCH},
        {"RANK=0 WORLD_SIZE=1 LOCAL_RANK=0", 0, 1, 0, 1, LAUNCHER_TORCH},
        {"OMPI_COMM_WORLD_RANK=5 OMPI_COMM_WORLD_SIZE=6 OMPI_COMM_WORLD_LOCAL_RANK=1 "
         "OMPI_COMM_WORLD_LOCAL_SIZE=2",
         5, 6, 1, 2, LAUNCHER_OPENMPI},
        {"PMI_RANK=1 PMI_SIZE=2 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=2", 1, 2, 1, 2, LAUNCHER_PMI},
        {"SLURM_PROCID=7 SLURM_NTASKS=8 SLURM_LOCALID=3 SLURM_JOB_ID=5 SLURM_STEP_ID=0", 7, 8, 3, 0,
         LAUNCHER_SLURM},
        {"SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_LOCALID=1", 1, 2, 1, 0, LAUNCHER_SLURM},
        /* In that order. */
        {"RANK=1 WORLD_SIZE=4 LOCAL_RANK=1 OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 "
         "OMPI_COMM_WORLD_LOCAL_RANK=0",
         1, 4, 1, 0, LAUNCHER_TORCH},
        {"OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=1 SLURM_PROCID=0 "
         "SLURM_NTASKS=2 "
         "SLURM_LOCALID=0",
         1, 4, 1, 0, LAUNCHER_OPENMPI},
        /* mpirun of OpenMPI inside a job's script. */
        {"OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=1 SLURM_PROCID=0 "
         "SLURM_NTASKS=2 "
         "SLURM_LOCALID=0 ENVIRONMENT=BATCH",
         1, 2, 1, 0, LAUNCHER_OPENMPI},
        /* srun --mpi=pmi2 */
        {"PMI_RANK=1 PMI_SIZE=2 SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_LOCALID=1 SLURM_STEP_ID=0", 1, 2, 1, 0,
         LAUNCHER_SLURM},
        /* The step has fewer tasks than the job. */
        {"SLURM_PROCID=1 SLURM_NTASKS=8 SLURM_STEP_NUM_TASKS=2 SLURM_LOCALID=0 SLURM_STEP_ID=3", 1, 2, 0, 0,
         LAUNCHER_SLURM},
        /* Not ranks: a batch script, a shell in an allocation, a step of one task, no number of tasks. */
        {"SLURM_PROCID=0 SLURM_NTASKS=8 SLURM_LOCALID=0 SLURM_JOB_ID=5 ENVIRONMENT=BATCH", 0, 1, 0, 1,
         LAUNCHER_NONE},
        {"SLURM_PROCID=0 SLURM_NTASKS=8 SLURM_LOCALID=0 SLURM_STEP_ID=4294967291", 0, 1, 0, 1, LAUNCHER_NONE},
        {"SLURM_PROCID=0 SLURM_NTASKS=8 SLURM_LOCALID=0 SLURM_STEP_ID=4294967290 SLURM_STEP_NUM_TASKS=1", 0,
         1, 0, 1, LAUNCHER_NONE},
        {"SLURM_NTASKS=8 SLURM_JOB_ID=5", 0, 1, 0, 1, LAUNCHER_NONE},
        {"SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_STEP_ID=0", 0, 1, 0, 1, LAUNCHER_NONE},
        {"SLURM_PROCID=0 SLURM_NTASKS=1 SLURM_LOCALID=0 SLURM_STEP_ID=0", 0, 1, 0, 1, LAUNCHER_SLURM},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        RankPlace p;
        Err err = {0};
        set_environment(cases[i].environment);
        if (rank_place_read(&p, &err) || p.rank != cases[i].rank || p.count != cases[i].count ||
            p.local != cases[i].local || p.locals != cases[i].locals || p.launcher != cases[i].launcher)
            fail_msg("%s: rank %d of %d, %d of %d on the host, by %s (%s)", cases[i].environment, p.rank,
                     p.count, p.local, p.locals, launcher_name(p.launcher), err.msg);
        assert_true(p.host[0] != 0);
    }
    set_environment("");
}

static void test_broken_environments(void **state)
{
    static const struct {
        const char *environment, *words;
    } cases[] = {
        {"RANK=1", "WORLD_SIZE is not set"},
        {"WORLD_SIZE=4", "RANK is not set"},
        {"RANK=1 WORLD_SIZE=4", "LOCAL_RANK is not set"},
        {"RANK=4 WORLD_SIZE=4 LOCAL_RANK=0", "contradicts itself: RANK=4, WORLD_SIZE=4"},
        {"RANK=-1 WORLD_SIZE=4 LOCAL_RANK=0", "RANK is '-1'"},
        {"RANK=1x WORLD_SIZE=4 LOCAL_RANK=0", "RANK is '1x'"},
        {"RANK=1 WORLD_SIZE=0 LOCAL_RANK=0", "WORLD_SIZE is '0'"},
        {"RANK=1 WORLD_SIZE=99999999999999999999 LOCAL_RANK=0", "WORLD_SIZE is '9999"},
        {"RANK=1 WORLD_SIZE=4 LOCAL_RANK=2 LOCAL_WORLD_SIZE=2", "contradicts itself"},
        {"RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 LOCAL_WORLD_SIZE=3", "contradicts itself"},
        {"RANK=1 WORLD_SIZE=2 LOCAL_RANK=5", "contradicts itself"},
        {"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE is not set"},
        {"PMI_RANK=1 PMI_SIZE=2", "MPI_LOCALRANKID is not set"},
        {"SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_STEP_ID=0", "SLURM_LOCALID is not set"},
        {"SLURM_PROCID=2 SLURM_NTASKS=2 SLURM_LOCALID=0 SLURM_STEP_ID=0", "contradicts itself"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        RankPlace p;
        Err err = {0};
        set_environment(cases[i].environment);
        int rc = rank_place_read(&p, &err);
        if (rc != ERR_USAGE || !strstr(err.msg, cases[i].words))
            fail_msg("%s: %d, %s", cases[i].environment, rc, err.msg);
    }
    set_environment("");
}

static RankMeeting meeting_of(const char *environment)
{
    RankPlace p;
    RankMeeting m;
    Err err = {0};
    set_environment(environment);
    assert_int_equal(rank_place_read(&p, &err), 0);
    if (rank_place_meeting(&m, &p, &err))
        fail_msg("%s: %s", environment, err.msg);
    return m;
}

#define SLURM "SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_LOCALID=0 SLURM_STEP_ID=0 "
#define TORCH "RANK=1 WORLD_SIZE=2 LOCAL_RANK=0 "

static void test_meetings(void **state)
{
    static const struct {
        const char *environment, *address;
        int port;
    } cases[] = {
        {TORCH "MASTER_ADDR=host-a MASTER_PORT=4000", "host-a", 4001},
        {TORCH "MASTER_ADDR=10.1.2.3", "10.1.2.3", 29501},
        {TORCH, "127.0.0.1", 29501},
        {TORCH "MASTER_ADDR=a MASTER_PORT=4000 MYXTTS_ADDRESS=b MYXTTS_PORT=77", "b", 77},
        {SLURM "SLURM_JOB_ID=1234567 SLURM_STEP_NODELIST=n[03-07,9]", "n03", 24567},
        {SLURM "SLURM_JOB_ID=12 SLURM_JOB_NODELIST=big7,small[1-2]", "big7", 20012},
        {SLURM "SLURM_JOB_ID=12 SLURM_STEP_NODELIST=r[1-2]n[4,8]-ib", "r1n4-ib", 20012},
        {SLURM "SLURM_STEP_NODELIST=x[", "x", 20000},
        {SLURM, "127.0.0.1", 20000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        RankMeeting m = meeting_of(cases[i].environment);
        if (strcmp(m.address, cases[i].address) != 0 || m.port != cases[i].port)
            fail_msg("%s: %s, port %d", cases[i].environment, m.address, m.port);
    }
    /* Two steps of a job do not meet each other, nor do two runs of torchrun. */
    RankMeeting a = meeting_of(SLURM "SLURM_JOB_ID=12"),
                b = meeting_of(SLURM "SLURM_JOB_ID=12 SLURM_STEP_ID=1");
    assert_true(a.port != b.port && memcmp(a.token, b.token, sizeof a.token) != 0);
    a = meeting_of(TORCH "TORCHELASTIC_RUN_ID=x");
    b = meeting_of(TORCH "TORCHELASTIC_RUN_ID=y");
    assert_memory_not_equal(a.token, b.token, sizeof a.token);
    b = meeting_of("RANK=0 WORLD_SIZE=2 LOCAL_RANK=1 TORCHELASTIC_RUN_ID=x");
    assert_memory_equal(a.token, b.token, sizeof a.token);
    /* Several hosts, and nothing says where rank 0 is. */
    RankPlace p;
    RankMeeting m;
    Err err = {0};
    set_environment("RANK=1 WORLD_SIZE=4 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2");
    assert_int_equal(rank_place_read(&p, &err), 0);
    assert_int_equal(rank_place_meeting(&m, &p, &err), ERR_USAGE);
    assert_non_null(strstr(err.hint, "MASTER_ADDR"));
    set_environment("");
}

/* ---- verdicts ---- */

enum { COUNT = 4 };

typedef struct Scene {
    RankState states[COUNT];
    WireHost hosts[COUNT];
    double now;
} Scene;

/* Four ranks in the middle of training, all well. */
static void scene_set(Scene *s)
{
    memset(s, 0, sizeof *s);
    s->now = 1000;
    for (int i = 0; i < COUNT; i++) {
        RankState *r = &s->states[i];
        snprintf(s->hosts[i].host, sizeof s->hosts[i].host, "host-%c", 'a' + i);
        r->heard = r->moved = s->now - 0.2;
        r->beat = (RankBeat){.doing = RANK_STEPPING, .steps = 100, .step = 100, .entered = {5, 100}};
    }
}

static int judge(Scene *s, Err *err)
{
    *err = (Err){0};
    return rank_verdict(err, s->states, s->hosts, COUNT, s->now, RANK_PATIENCE);
}

/* The others are in the sum of step 100, rank `but` is not. */
static void others_wait(Scene *s, int but, double seconds)
{
    for (int i = 0; i < COUNT; i++) {
        s->states[i].moved = s->now - seconds;
        if (i == but)
            continue;
        s->states[i].beat.call[1] = CALL_SUM;
        s->states[i].beat.entered[1] = 101;
        s->states[i].beat.doing = RANK_SUMMING;
    }
}

static void test_verdict_all_is_well(void **state)
{
    Scene s;
    Err err;
    scene_set(&s);
    assert_int_equal(judge(&s, &err), -1);
    /* Waiting for a slow rank is no fault yet. */
    others_wait(&s, 2, 6.5);
    assert_int_equal(judge(&s, &err), -1);
    /* Nor is a rank that takes long for what takes long, or whose steps are long, or who has just begun. */
    static const RankDoing doings[] = {RANK_STARTING, RANK_PREPARING, RANK_WAITING_FOR_DATA, RANK_SPEAKING,
                                       RANK_SAVING};
    for (size_t i = 0; i < sizeof doings / sizeof *doings; i++) {
        scene_set(&s);
        others_wait(&s, 2, 50);
        s.states[2].beat.doing = doings[i];
        assert_int_equal(judge(&s, &err), -1);
    }
    scene_set(&s);
    others_wait(&s, 2, 20);
    s.states[2].beat.longest = 5;
    assert_int_equal(judge(&s, &err), -1);
    scene_set(&s);
    others_wait(&s, 2, 50);
    s.states[2].beat.steps = 2;
    assert_int_equal(judge(&s, &err), -1);
    /* A disk that all of them wait for. */
    scene_set(&s);
    for (int i = 0; i < COUNT; i++) {
        s.states[i].moved = s.now - 30;
        s.states[i].beat.doing = RANK_WAITING_FOR_DATA;
    }
    assert_int_equal(judge(&s, &err), -1);
    /* One has much to do while the others have come to the end. */
    scene_set(&s);
    for (int i = 1; i < COUNT; i++) {
        s.states[i].beat.call[0] = CALL_CLOSE;
        s.states[i].beat.entered[0] = 6;
        s.states[i].moved = s.now - 500;
    }
    s.states[0].beat.doing = RANK_ENDING;
    s.states[0].moved = s.now - 500;
    assert_int_equal(judge(&s, &err), -1);
}

static void test_verdict_names_the_rank(void **state)
{
    Scene s;
    Err err;
    scene_set(&s);
    s.states[3].heard = s.now - 5.5;
    assert_int_equal(judge(&s, &err), 3);
    assert_non_null(strstr(err.msg, "rank 3 on host-d has not answered for "));
    scene_set(&s);
    others_wait(&s, 2, 7.5);
    assert_int_equal(judge(&s, &err), 2);
    assert_non_null(strstr(err.msg, "it has been computing"));
    others_wait(&s, 2, 160);
    s.states[2].beat.doing = RANK_WAITING_FOR_DATA;
    assert_int_equal(judge(&s, &err), 2);
    assert_non_null(
        strstr(err.msg, "rank 2 on host-c is stuck: it has been waiting for data at step 100 for "));
    assert_non_null(strstr(err.msg, "and 3 ranks wait for it"));
    others_wait(&s, 2, 130);
    s.states[2].beat.doing = RANK_SAVING;
    assert_int_equal(judge(&s, &err), 2);
    assert_non_null(strstr(err.msg, "it has been saving"));
    /* One that is in an earlier call than the others. */
    scene_set(&s);
    others_wait(&s, -1, 8);
    s.states[1].beat.entered[1] = 100;
    assert_int_equal(judge(&s, &err), 1);
    /* One that has left. */
    scene_set(&s);
    others_wait(&s, 1, 0.1);
    s.states[1].gone = 1;
    assert_int_equal(judge(&s, &err), 1);
    assert_non_null(strstr(err.msg, "rank 1 on host-b has finished, but 3 ranks still wait for it"));
    /* On GPUs nobody is in a call: the one whose step is the lowest. */
    scene_set(&s);
    for (int i = 0; i < COUNT; i++) {
        s.states[i].moved = s.now - 8;
        s.states[i].beat.step = i == 2 ? 100 : 104;
    }
    assert_int_equal(judge(&s, &err), 2);
    assert_non_null(strstr(err.msg, "rank 2 on host-c is stuck"));
    /* Nobody can be blamed. */
    s.states[2].beat.step = 104;
    assert_int_equal(judge(&s, &err), 0);
    assert_non_null(strstr(err.msg, "no rank has made progress for "));
    assert_non_null(strstr(err.hint, "network"));
}

static void test_beats_tell_who_gets_ahead(void **state)
{
    RankState s = {.heard = 1, .moved = 1};
    RankBeat b = {.moved = 7};
    rank_state_beat(&s, &b, 5);
    assert_true(s.heard == 5 && s.moved == 5);
    rank_state_beat(&s, &b, 6);
    assert_true(s.heard == 6 && s.moved == 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_broken_environments),
        cmocka_unit_test(test_meetings),
        cmocka_unit_test(test_verdict_all_is_well),
        cmocka_unit_test(test_verdict_names_the_rank),
        cmocka_unit_test(test_beats_tell_who_gets_ahead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
