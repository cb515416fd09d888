/* test_train_memory.c - the memory plan of a run against what it really takes, and caps as hard limits, on
 * simulated GPUs and on the CPU. */
#include "support/train_testing.h"

static const JobOptions plain;

/* Most bytes a device ever had in use: looked at whenever memory is taken. */
typedef struct Spy {
    Device *device;
    const DeviceOps *real;
    DeviceOps ops;
    uint64_t most;
} Spy;

static Spy spies[2];

static int spied_alloc(Device *d, void **p, size_t bytes, Err *err)
{
    Spy *s = d == spies[0].device ? &spies[0] : &spies[1];
    uint64_t used = __atomic_load_n(&d->used, __ATOMIC_RELAXED),
             most = __atomic_load_n(&s->most, __ATOMIC_RELAXED);
    while (used > most &&
           !__atomic_compare_exchange_n(&s->most, &most, used, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    return s->real->memory_alloc(d, p, bytes, err);
}

static void spy_on(Job *j)
{
    Device *devices[2] = {j->devices.model, j->devices.data};
    for (int i = 0; i < 2; i++) {
        spies[i] = (Spy){.device = devices[i], .real = devices[i]->ops, .ops = *devices[i]->ops};
        if (i && devices[0] == devices[1])
            continue;
        spies[i].ops.memory_alloc = spied_alloc;
        devices[i]->ops = &spies[i].ops;
    }
    if (devices[0] == devices[1])
        spies[1] = spies[0];
}

static void spy_off(Job *j)
{
    j->devices.model->ops = spies[0].real;
    if (j->devices.data != j->devices.model)
        j->devices.data->ops = spies[1].real;
}

static double away(uint64_t used, uint64_t planned)
{
    return planned ? (double)used / (double)planned - 1 : used ? 1 : 0;
}

static const char *const machines[] = {"--model-gpu sim0 --data-gpu sim1", "--model-gpu sim0 --data-gpu sim0",
                                       "--model-gpu sim0 --data-gpu cpu", "--model-gpu cpu --data-gpu cpu"};
static const char *const settings[] = {
    "", "--batch-size 9 --val-split 0 --pad-to-fixed-length true --max-mel-frames 70 --max-text-length 60",
    "--decoder-dim 64 --use-voice-conditioning false --gradient-accumulation-steps 2"};

/* With the three buffers that the plan is made for. */
static void plan_is_what_is_used(void **state)
{
    double worst = 0;
    for (int m = 0; m < 4; m++)
        for (int k = 0; k < 3; k++) {
            char more[500];
            Job j;
            snprintf(
                more, sizeof more,
                "%s %s --pipeline-buffer-size 3 --val-step 4 --max-steps 8 --text2audio-interval-steps 4",
                machines[m], settings[k]);
            job_prepare(&j, new_folder(), more, plain);
            assert_int_equal(train_plan(&j.plan, &j.options, &j.err), 0);
            assert_int_equal(j.devices.model->used, 0);
            j.options.plan = &j.plan; /* as the program does */
            spy_on(&j);
            if (trainer_open(&j.trainer, &j.options, &j.err))
                fail_msg("%s", j.err.msg);
            uint64_t opened = j.devices.model->used, opened_data = j.devices.data->used;
            if (trainer_run(j.trainer, &j.err))
                fail_msg("%s", j.err.msg);
            double model = away(spies[0].most, j.plan.model_total),
                   data = m == 1 || m == 3 ? model : away(spies[1].most, j.plan.data_total);
            uint64_t last = j.devices.model->used;
            spy_off(&j);
            printf("%-34s %-8.8s planned %8llu / %8llu bytes, used %+.2f %% / %+.2f %%; open %llu / %llu, at "
                   "the end %llu\n",
                   machines[m], settings[k], (unsigned long long)j.plan.model_total,
                   (unsigned long long)j.plan.data_total, 100 * model, 100 * data, (unsigned long long)opened,
                   (unsigned long long)opened_data, (unsigned long long)last);
            worst = fmax(worst, fmax(fabs(model), fabs(data)));
            assert_true(spies[0].most <= j.plan.model_total && spies[1].most <= j.plan.data_total);
            assert_int_equal(last, opened); /* validation gave back what it took */
            job_close(&j);
        }
    printf("the plan is within %.2f %% of what is used\n", 100 * worst);
    assert_true(worst < 0.02);
}

/* A cap to the byte, on a machine whose pipeline would like more buffers: it runs through, validation and
 * speech included. */
static void cap_as_planned_runs_through(void **state)
{
    static const char slow[] =
        "--sim step_ms=1,h2d_us=500,preprocess_ms=9,peer_us=9000 --val-step 12 --max-steps 30 --log-step 30 "
        "--text2audio-interval-steps 12";
    for (int m = 0; m < 2; m++) {
        char more[500];
        Job j;
        TrainPlan p;
        snprintf(more, sizeof more, "%s %s", machines[m], slow);
        job_prepare(&j, new_folder(), more, plain);
        assert_int_equal(train_plan(&p, &j.options, &j.err), 0);
        job_close(&j);
        for (int extra = 0; extra < 2; extra++) {
            JobOptions caps = {.model_cap = p.model_total + (uint64_t)extra * 80000,
                               .data_cap = p.data_total + (uint64_t)extra * 80000};
            job_prepare(&j, new_folder(), more, caps);
            spy_on(&j);
            int rc = trainer_open(&j.trainer, &j.options, &j.err);
            if (!rc)
                rc = trainer_run(j.trainer, &j.err);
            spy_off(&j);
            if (rc)
                fail_msg("%s: %s\n%s", machines[m], j.err.msg, job_log(&j));
            trainer_summary(j.trainer, &j.summary);
            assert_int_equal(j.summary.step, 30);
            assert_true(spies[0].most <= caps.model_cap && (m == 1 || spies[1].most <= caps.data_cap));
            printf("%s, caps %llu and %llu: 30 steps, most used %llu and %llu\n", machines[m],
                   (unsigned long long)caps.model_cap, (unsigned long long)caps.data_cap,
                   (unsigned long long)spies[0].most, (unsigned long long)spies[1].most);
            job_close(&j);
        }
    }
}

/* Too small a cap: refused before anything is taken, with the largest batch that fits; that one runs, one
 * more does not. */
static void largest_batch_that_fits_runs(void **state)
{
    for (int m = 0; m < 3; m++)
        for (int on_model = 0; on_model < 2; on_model++) {
            char more[500];
            Job j;
            TrainPlan p, q;
            if (m != 0 && !on_model)
                continue;
            snprintf(more, sizeof more, "%s --batch-size 6 --max-steps 3 --val-step 2", machines[m]);
            job_prepare(&j, new_folder(), more, plain);
            assert_int_equal(train_plan(&p, &j.options, &j.err), 0);
            job_close(&j);
            JobOptions caps = {0};
            if (on_model)
                caps.model_cap = p.model_total - 1;
            else
                caps.data_cap = p.data_total - 1;
            snprintf(more, sizeof more, "%s --batch-size 16 --max-steps 3 --val-step 2", machines[m]);
            const char *folder = new_folder();
            job_prepare(&j, folder, more, caps);
            assert_int_equal(train_plan(&q, &j.options, &j.err), ERR_CONFIG);
            assert_int_equal(q.largest_batch, 5);
            memset(&j.err, 0, sizeof j.err);
            assert_int_equal(trainer_open(&j.trainer, &j.options, &j.err), ERR_CONFIG);
            assert_null(j.trainer);
            printf("%s: %s (%s)\n", machines[m], j.err.msg, j.err.hint);
            assert_non_null(strstr(j.err.hint, "--batch-size 5 --global-batch-size 16 fits"));
            assert_non_null(strstr(j.err.msg, on_model ? j.devices.model->name : j.devices.data->name));
            assert_int_equal(j.devices.model->used + j.devices.data->used, 0);
            assert_false(is_there(folder)); /* nothing was begun */
            job_close(&j);
            snprintf(more, sizeof more, "%s --batch-size 5 --global-batch-size 16 --max-steps 3 --val-step 2",
                     machines[m]);
            TrainSummary s = train(folder, more, caps);
            assert_int_equal(s.step, 3);
            snprintf(more, sizeof more, "%s --batch-size 6 --global-batch-size 6 --max-steps 4 --val-step 2",
                     machines[m]);
            assert_int_equal(job_try(&j, folder, more, caps), ERR_CONFIG);
            job_close(&j);
        }
    /* Not even one clip. */
    Job j;
    assert_int_equal(job_try(&j, new_folder(), machines[0], (JobOptions){.model_cap = 100000}), ERR_CONFIG);
    printf("%s (%s)\n", j.err.msg, j.err.hint);
    assert_int_equal(j.summary.step, 0);
    assert_non_null(strstr(j.err.hint, "not even one clip"));
    job_close(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plan_is_what_is_used),
        cmocka_unit_test(cap_as_planned_runs_through),
        cmocka_unit_test(largest_batch_that_fits_runs),
    };
    return cmocka_run_group_tests(tests, setup_lab, teardown_lab);
}
