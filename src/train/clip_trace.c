/* clip_trace.c - records which clips a run has learned from, so that a test can count them: with
 * MYXTTS_TRACE_CLIPS=FOLDER every rank appends a line for each of its batches to FOLDER/rank-N.tsv: step,
 * epoch, then the ids. It waits for the device at every batch. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "train/run_parts.h"

int clip_trace_open(Trainer *t, Err *err)
{
    const char *folder = getenv("MYXTTS_TRACE_CLIPS");
    char path[CHECKPOINT_PATH_SIZE];
    if (!folder || !*folder)
        return 0;
    int rc = file_make_dirs(folder, err);
    if (rc)
        return rc;
    snprintf(path, sizeof path, "%s/rank-%d.tsv", folder, ranks_rank(t->o.ranks));
    t->trace = fopen(path, "ae");
    return t->trace ? 0 : err_set_errno(err, ERR_IO, "cannot write %s", path);
}

/* The batch that the engine has just taken. */
int clip_trace_batch(Trainer *t, Err *err)
{
    if (!t->trace)
        return 0;
    const BatchLayout *l;
    const BatchInfo *info;
    const uint8_t *batch = engine_batch(t->engine, &l, &info);
    const size_t rows = (size_t)engine_rows(t->engine);
    const DeviceOps *d = t->o.model->ops;
    int32_t *clips = malloc(rows * sizeof *clips);
    int rc =
        clips ? d->copy_out(engine_stream(t->engine), clips, batch + l->utterance, rows * sizeof *clips, err)
              : err_set(err, ERR_NOMEM, "no memory to trace %zu clips", rows);
    if (!rc)
        rc = d->stream_wait_idle(engine_stream(t->engine), err);
    if (!rc)
        fprintf(t->trace, "%lld\t%lld", (long long)t->state.step + 1, (long long)info->epoch);
    for (size_t i = 0; i < rows && !rc; i++)
        if (clips[i] >= 0) {
            const Str *id = &t->o.train->dataset.utterances[clips[i]].id;
            fprintf(t->trace, "\t%.*s", (int)id->n, id->p);
        }
    if (!rc && (fputc('\n', t->trace) == EOF || fflush(t->trace)))
        rc = err_set_errno(err, ERR_IO, "cannot write the trace of clips");
    free(clips);
    return rc;
}

void clip_trace_close(Trainer *t)
{
    if (t->trace)
        fclose(t->trace);
}
