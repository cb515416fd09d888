/* run_parts.h - parts of a run that are in separate files. Private to src/train. */
#ifndef MYXTTS_RUN_PARTS_H
#define MYXTTS_RUN_PARTS_H

#include <stdio.h>

#include "base/stats.h"
#include "device/monitor.h"
#include "model/synthesis.h"
#include "pipeline/step_meter.h"
#include "train/listen/hearing.h"
#include "train/listen/manner.h"
#include "train/log/event_log.h"
#include "train/log/run_log.h"
#include "train/log/telling.h"
#include "train/trainer.h"
#include "voice/sound.h"

/* First steps that are not measured: the pipeline fills, graphs are captured. */
#define METER_SKIP 10

/* No augmentation, few buffers; strings stay those of cfg. */
void validation_config(Config *out, const Config *cfg);

/* Sums of the steps since the last line. */
typedef struct Interval {
    double terms[TERM_COUNT], loss, norm;
    int64_t steps, skipped;
    double frames, utterances; /* enqueued, in `batches` */
    int64_t batches;
    int64_t padded, real; /* frames, of the pipeline's report at the start */
    int64_t sample;       /* of the meter */
    double phase[PHASE_COUNT];
} Interval;

/* What a validation has measured. */
typedef struct Validation {
    double terms[TERM_COUNT], loss;
    double
        own_text;   /* what the clips' own texts explain that others do not (other_texts.h); NaN: not known */
    EarFigures ear; /* of rank 0; zeroed: nothing could be spoken */
    int sentences;  /* that it is of */
} Validation;

/* Where the weights of a run come from. */
typedef enum { BEGINS_NEW, BEGINS_RESUMED, BEGINS_WITH_WEIGHTS } Beginning;

struct Trainer {
    TrainerOptions o;       /* its corpora are the two below */
    int leads;              /* rank 0, or alone: it writes, listens and reports */
    Corpus train, held_out; /* views of the caller's, with the statistics that the weights expect */
    double *statistics;     /* [2, n_mels] of a checkpoint; NULL: those of the corpus */
    int languages;          /* that the network tells apart; the corpora list them */
    Beginning begins;
    Checkpoint begun_with; /* open until its weights are loaded */
    const Config *cfg;
    Log *log;
    Engine *engine;
    Pipeline *pipeline;
    StepMeter meter;
    Monitor *monitor;
    Synthesiser *synthesiser;
    struct Copies *copies; /* of a vocoder; NULL: this is a voice */
    Hearing *hearing;      /* NULL: there is nothing to listen to */
    Heard heard;           /* newest; clips 0: none yet */
    Sound *sound;          /* of the samples */
    VoiceClips clips;
    Snapshot snapshot;
    CheckpointWriter *writer;
    EventLog *events;
    RunLog *run_log;
    TrainPlan plan;
    Config pipeline_cfg; /* cfg with the buffers of the plan and the batch of the run */
    int each;            /* shares that a step is made of */
    TrainState state;
    TrainState before_empty; /* where the run stood before the newest steps in a row without a clip */
    int64_t empty_steps;     /* this many of them */
    int64_t total;           /* last step */
    int64_t val_step, save_step, sample_step;
    int64_t most_steps;  /* by max_steps and epochs */
    int measuring;       /* --minutes: the last step is not known yet */
    int critics_wait;    /* --minutes: less than critic_from of the time is over, whatever the steps say */
    double measure_from; /* clock; 0: not yet */
    double settles;      /* clock: before it steps are not what they will be */
    int looks_soon;      /* the last step may be wrong by much */
    int64_t measure_step;
    double aside;                        /* seconds between steps, for validations and checkpoints */
    double measure_aside, measure_apart; /* at measure_from: these, and the meter's */
    int64_t measure_apart_count;
    double beside[BESIDE_PREPARING]; /* seconds; the meter knows the others */
    int64_t since;      /* batch, since the start, at which critics began to take part; 0: none */
    int64_t first_step; /* before this run */
    int64_t saved;      /* step of the newest checkpoint of this run */
    /* Running mean of the losses of steps that were made, the lowest that it was, and of the newest steps in
     * a row that were not made: sum and number. */
    double usual_loss, lowest_loss, left_out_loss;
    int64_t made, left_out;
    /* choosing.c */
    Choice unwritten;  /* how it stood before the best checkpoint that is being written */
    int best_pending;  /* it is */
    Judged before;     /* previous-best.safetensors; step 0: none */
    Judged submitted;  /* whose clips the listeners have */
    Judged heard_mark; /* whose words `heard` has; to be looked at when has_heard */
    int has_heard;
    Interval interval;
    Telling telling;
    double loss, validation; /* newest */
    EarFigures ear;          /* of the newest validation */
    Stats phase[PHASE_COUNT];
    double started; /* clock, before the first step */
    double seconds;
    int64_t utterances, frames, skipped;
    uint64_t peak_model, peak_data; /* bytes in use at most */
    FILE *trace;                    /* clip_trace.c; NULL: nobody counts */
    int64_t stop_after;             /* step after which all ranks stop; 0: nobody has asked */
    int hurried;                    /* saved for a launcher that does not wait */
    Stats exposed;                  /* seconds of a step in which it waited for the sum over ranks */
    int stopped, early, gave_up, event_failed, checkpoint_failed;
    int32_t **sample_tokens; /* of text2audio_texts */
    int *sample_counts, *sample_languages;
    int samples;
};

/* trainer.c: the learning rate of a step, by the schedule that it belongs to. */
double trainer_rate(const Trainer *t, int64_t step);
/* Its warm-up: warmup_steps, or a share of the steps that --minutes gives where these are few. */
int64_t trainer_warmup(const Trainer *t);

/* beginning.c: finds and checks what the run begins with, and sets state and statistics; then, when there is
 * memory for it, loads the weights. */
int beginning_open(Trainer *t, Err *err);
int beginning_load(Trainer *t, Err *err);
/* The corpora number their languages as the voice does. */
void trainer_take_languages(Trainer *t, const LanguageList *languages);
/* beginning.c: as trainer_check; settings that were not given follow the checkpoint (settings_follow). */
int beginning_settle(int *batch, Beginning *begins, Config *cfg, int ranks, Err *err);
/* same_data.c: ERR_USAGE where a run that would be resumed has learned from another dataset. */
int same_data_check(const Checkpoint *v, const Corpus *train, const Config *cfg, Err *err);
/* settle.c: those of its network become v's. resumed: v is a checkpoint of the run itself. */
int settings_follow(Config *cfg, const Checkpoint *v, int resumed, Err *err);

/* report.c */
void report_start(Trainer *t);
void report_step(Trainer *t, const StepResult *r);
void report_line(Trainer *t, int64_t step, int last); /* of the steps up to this one */
void report_validation(Trainer *t, const Validation *v);
void report_best(Trainer *t); /* the choice has changed, or more is known of the best */
/* What the run does from now on; with the time that is left. */
void report_phase(Trainer *t, const char *phase);
void report_event(Trainer *t, const char *event, int64_t step, const char *text);
/* The guard ends the run, and not because of its clips: their loss, and the lowest before. */
void report_divergence(Trainer *t, double loss, double lowest);
void report_flush(Trainer *t);
void report_curve(Trainer *t); /* curve.c: loss.png */

/* budget.c: --minutes. step is called after every step. */
void budget_open(Trainer *t);
void budget_steps_change(Trainer *t);
int budget_step(Trainer *t, Err *err);

/* clip_trace.c */
int clip_trace_open(Trainer *t, Err *err);
int clip_trace_batch(Trainer *t, Err *err);
void clip_trace_close(Trainer *t);

/* choosing.c, for rank 0. validate: 1 when the newest weights are to be written as the best; forget: they
 * could not be written; hear: when words may have come (hear_results), and no checkpoint is being written;
 * end: no more will come. */
int choosing_validate(Trainer *t, const Validation *v);
void choosing_forget(Trainer *t);
void choosing_hear(Trainer *t);
void choosing_end(Trainer *t);

/* evaluate.c: what was heard since the last call is reported; wait: for what is under way. */
int hear_results(Trainer *t, int wait, Err *err);
void report_heard(Trainer *t, const Heard *h);
/* evaluate.c: teacher-forced loss of the validation clips, pictures, then some of them spoken freely. 1: too
 * many clips could not be loaded, which was said; the loss does not count. */
int evaluate_run(Trainer *t, Validation *v, int last, Err *err);
int samples_open(Trainer *t, Err *err);
void samples_close(Trainer *t);
int samples_speak(Trainer *t, Err *err); /* text2audio_texts, into the event file and RUN/samples */
void sample_write(const Trainer *t, const char *name, const float *samples,
                  int64_t n); /* RUN/samples/NAME.wav */

/* copies.c: what a vocoder makes of the mels of the first clips of validation. */
int copies_open(Trainer *t, Err *err);
void copies_close(Trainer *t);
int copies_show(Trainer *t, Err *err);  /* the mels of the first clip and of its copy, as a picture */
int copies_judge(Trainer *t, Err *err); /* into the state: how far copies are from the recordings */
/* Steps that are still needed until they are as close as Griffin-Lim's, if they go on as they did in the
 * second half of this run; INFINITY: very many; NaN: there were too few validations to tell. */
double copies_steps_left(const Trainer *t);
int copies_write(Trainer *t, Err *err); /* all of them, into the event file and RUN/samples */

#endif
