/* after_training.h - what the person who waited for a training wants to know: how it sounds, and what to type
 * next. Threads: any. */
#ifndef MYXTTS_AFTER_TRAINING_H
#define MYXTTS_AFTER_TRAINING_H

#include "base/json.h"
#include "config/config.h"
#include "diag/pipeline/doctor.h"
#include "train/trainer.h"

/* One or two sentences about what was measured; "" where nothing was. */
void after_sounds(const TrainSummary *s, const Config *cfg, char *out, size_t cap);
/* A command; "" if there is no checkpoint to speak with. */
void after_next(const TrainSummary *s, const Config *cfg, char *out, size_t cap);

/* What the run did beside its steps, and for how long; "" where it took no time. */
void after_beside(const TrainSummary *s, char *out, size_t cap);
json_t *after_beside_json(const TrainSummary *s); /* seconds, share of the run's, seconds of each kind */

/* A line of the summary in the language of findings, on stdout. */
void after_print(const char *name, const char *sentence, const char *advice);
/* How fast it was, and what would make it faster. */
void after_print_verdict(const Verdict *v);

#endif
