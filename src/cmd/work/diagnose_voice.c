/* diagnose_voice.c - a run's folder, its checkpoint and its dataset, opened for the voice doctor. */
#include "cmd/work/diagnose_voice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/plural.h"
#include "cmd/line/output.h"
#include "cmd/work/voice_data.h"
#include "diag/report/run_record.h"
#include "diag/voice/voice_report.h"
#include "pipeline/data.h"

typedef struct Patient {
    char *folder; /* of the run */
    int has_file; /* there is a checkpoint in it: */
    VoiceData voice;
    CorpusSource *source; /* where there is no checkpoint; else voice has it */
    Corpus train, validation;
    Corpus all; /* both; its arrays are its own, the rest is train's */
    VoiceReport report;
} Patient;

/* RUN may also be the log or a checkpoint in the folder. */
static int find_folder(Patient *p, const char *run, Err *err)
{
    struct stat st;
    const char *slash = strrchr(run, '/');
    if (stat(run, &st))
        return err_set_errno(err, ERR_MISSING, "there is no run at %s", run);
    size_t length = strlen(run);
    int is_checkpoint = length > 12 && strcmp(run + length - 12, ".safetensors") == 0;
    if (!is_checkpoint && run_record_check(run, err))
        return err->code;
    if (S_ISDIR(st.st_mode))
        p->folder = strdup(run);
    else
        p->folder = slash ? strndup(run, slash > run ? (size_t)(slash - run) : 1) : strdup(".");
    return p->folder ? 0 : err_set(err, ERR_NOMEM, "no memory for the name of a folder");
}

static int compare_items(const void *a, const void *b)
{
    uint32_t x = ((const CorpusItem *)a)->utterance, y = ((const CorpusItem *)b)->utterance;
    return (x > y) - (x < y);
}

/* Both splits in the order of the dataset. */
static int join_splits(Patient *p, Err *err)
{
    const Corpus *both[2] = {&p->train, &p->validation};
    Corpus *c = &p->all;
    *c = p->train;
    c->count = 0;
    const size_t room = (size_t)both[0]->count + both[1]->count;
    c->items = mem_calloc(room, sizeof *c->items);
    c->lengths = mem_calloc(room, sizeof *c->lengths);
    if (!c->items || !c->lengths)
        return err_set(err, ERR_NOMEM, "no memory for %zu clips", room);
    for (int k = 0; k < 2; k++)
        for (uint32_t i = 0; i < both[k]->count; i++)
            c->items[c->count++] = both[k]->items[i];
    qsort(c->items, c->count, sizeof *c->items, compare_items);
    for (uint32_t i = 0, at[2] = {0}; i < c->count; i++) { /* each split is in that order already */
        int first = at[0] < both[0]->count && both[0]->items[at[0]].utterance == c->items[i].utterance;
        int k = first ? 0 : 1;
        c->lengths[i] = both[k]->lengths[at[k]++];
    }
    return 0;
}

/* The dataset as the checkpoint's network sees it, and the network. */
static int open_voice(Patient *p, const char *checkpoint, const CmdLine *line, Log *log, Err *err)
{
    VoiceData *v = &p->voice;
    int rc = voice_data_open(v, checkpoint, line, log, err);
    if (!rc)
        rc = voice_data_corpus(v, &p->train, SPLIT_TRAIN, log, err);
    if (!rc)
        rc = voice_data_corpus(v, &p->validation, SPLIT_VAL, log, err);
    if (!rc)
        rc = join_splits(p, err);
    if (rc)
        return rc;
    if (p->all.count < 2)
        return err_set(err, ERR_DATA, "%s has fewer than two clips that can be used", line->cfg.data_path);
    EngineShape largest = corpus_shape(&v->file.cfg, 1, &p->all, NULL);
    log_info(log, "aligning %u clip%s, first with their own texts, then with others", p->all.count,
             plural(p->all.count));
    return voice_data_engine(v, &largest, log, err);
}

/* A run that has no checkpoint yet: its recordings all the same. */
static int open_recordings(Patient *p, const Config *cfg, Log *log, Err *err)
{
    int rc = data_open(&p->source, cfg, &(DataOptions){.quiet = 1}, log, err);
    if (!rc)
        rc = corpus_open_split(&p->train, p->source, cfg, SPLIT_TRAIN, log, err);
    if (!rc)
        rc = corpus_open_split(&p->validation, p->source, cfg, SPLIT_VAL, log, err);
    return rc;
}

/* With data and checkpoint everything is looked at; with one of them what it allows; the log always. */
static int examine(Patient *p, const CmdLine *line, const char *run, Log *log, Err *err)
{
    VoiceReportOptions o = {.run = run, .look = VOICE_LOOK, .step = -1};
    Checkpoint *file = &p->voice.file;
    const int has_data = line->cfg.data_path[0] != 0;
    char checkpoint[CHECKPOINT_PATH_SIZE];
    int rc = find_folder(p, run, err);
    if (rc)
        return rc;
    rc = checkpoint_find(checkpoint, p->folder, p->folder, log, err);
    if (rc && rc != ERR_MISSING)
        return rc;
    p->has_file = !rc;
    err_clear(err);
    if (p->has_file && has_data)
        rc = open_voice(p, checkpoint, line, log, err);
    else if (p->has_file)
        rc = checkpoint_open(file, checkpoint, p->folder, line->setting_count, line->settings, log, err);
    else
        rc = has_data ? open_recordings(p, &line->cfg, log, err) : 0;
    if (!rc && p->has_file)
        rc = checkpoint_check_voice(file, err);
    if (rc)
        return rc;
    /* The settings of the checkpoint say how its network sees the data. */
    if (p->has_file) {
        o.cfg = &file->cfg;
        o.step = file->content.state.step;
    }
    if (has_data) {
        o.cfg = p->has_file ? &file->cfg : &line->cfg;
        o.train = &p->train;
        o.validation = &p->validation;
    }
    EvaluateOptions eo = {.cfg = o.cfg, .corpus = &p->all, .log = log};
    eo.data = p->voice.devices.data;
    eo.model = p->voice.devices.model;
    if (p->voice.engine) {
        o.engine = p->voice.engine;
        o.align = &eo;
    }
    rc = voice_report(&p->report, &o, err);
    if (!rc && !p->report.has_log && !p->has_file) {
        err_set(err, ERR_MISSING, "%s holds neither a log nor a checkpoint", run);
        rc = err_hint(err, "give a folder that `myxtts train` wrote, or the log.jsonl in it");
    }
    return rc;
}

/* A folder that cannot be written to is no reason to keep the report back. */
static void write_suspects(const Patient *p, Log *log)
{
    Err err = {0};
    char *path = file_join(p->folder, "suspects.tsv");
    if (path && voice_report_suspects(&p->report, path, &err))
        log_warn(log, "the list of suspects was not written: %s", err.msg);
    else if (path && p->report.facts.suspects)
        log_info(log, "the lines to listen to are in %s", path);
    free(path);
}

/* The report; a folder that has no checkpoint has no headline. */
static int print(const Patient *p, const char *output, int json, Err *err)
{
    Buf text = {0};
    if (p->has_file)
        buf_printf(&text, "%s (step %lld)\n\n", p->voice.file.path,
                   (long long)p->voice.file.content.state.step);
    voice_report_text(&text, &p->report);
    int rc = text.failed ? err_set(err, ERR_NOMEM, "no memory for the report") : 0;
    if (!rc && output)
        rc = file_replace(output, text.data, text.size, err);
    if (!rc && json)
        rc = output_print(voice_report_json(&p->report), 6, err);
    else if (!rc)
        fwrite(text.data, 1, text.size, stdout);
    buf_free(&text);
    return rc;
}

int diagnose_voice(const CmdLine *line, const char *run, const char *output, int *findings, Log *log,
                   Err *err)
{
    Patient *p = mem_calloc(1, sizeof *p);
    int rc = p ? examine(p, line, run, log, err) : err_set(err, ERR_NOMEM, "no memory to diagnose");
    if (!rc && p->report.has_alignment)
        write_suspects(p, log);
    if (!rc)
        rc = print(p, output, line->json, err);
    if (!p || rc == ERR_WORKER) /* a reader is stuck and may come back: what it looks at stays */
        return rc;
    *findings = p->report.count;
    voice_report_close(&p->report);
    free(p->all.items);
    free(p->all.lengths);
    free(p->folder);
    corpus_close(&p->train);
    corpus_close(&p->validation);
    corpus_source_close(p->source);
    voice_data_close(&p->voice);
    free(p);
    return rc;
}
