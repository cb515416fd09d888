/* cmd_align.c - myxtts align: finds the position of every symbol of a dataset in its recording with a trained
 * network. */
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/plural.h"
#include "base/progress.h"
#include "cmd/cmd.h"
#include "cmd/line/options.h"
#include "cmd/line/output.h"
#include "cmd/work/voice_data.h"
#include "train/listen/alignment.h"
#include "train/listen/alignment_files.h"
#include "train/log/pictures.h"

static const char usage_text[] =
    "myxtts align --checkpoint R --data-path DIR [--output D] [--clips N] [--json]\n\n"
    "Finds where every symbol of every clip in DIR begins and ends, with a network that `myxtts train`\n"
    "has trained on these or similar recordings. Writes durations.tsv, textgrid/ID.TextGrid (for Praat:\n"
    "words and phones), cost.tsv (the clips, those that fit their texts worst first) and alignment.png to\n"
    "D. Times are seconds from the start of the recording. Exit code 1: some clips could not be loaded.";

typedef struct Align {
    VoiceData v;
    Corpus corpus[2];    /* of validation, of training */
    AlignedClip *clips;  /* [count] of both, in the order of the metadata */
    AlignedClip **of[2]; /* [corpus.count] by item */
    uint32_t count;
    int current;     /* corpus that is being aligned */
    Block durations; /* of all clips */
    EngineLook look; /* at the first clip of validation; of training where none is held out */
    char look_id[200];
    Progress progress;
    const char *checkpoint, *output, *most_clips; /* as they were typed */
    uint64_t aligned, symbols, frames;
    double cost; /* sum over the clips */
} Align;

static Str id_of(const AlignedClip *c) { return c->corpus->dataset.utterances[c->item->utterance].id; }

static int compare_clips(const void *a, const void *b)
{
    uint32_t x = ((const AlignedClip *)a)->item->utterance, y = ((const AlignedClip *)b)->item->utterance;
    return (x > y) - (x < y);
}

/* Both corpora, and one list of their clips. most: of each; 0: all. */
static int open_clips(Align *a, int most, Log *log, Err *err)
{
    int rc = voice_data_corpus(&a->v, &a->corpus[0], SPLIT_VAL, log, err);
    if (!rc)
        rc = voice_data_corpus(&a->v, &a->corpus[1], SPLIT_TRAIN, log, err);
    if (rc)
        return rc;
    /* Room for every clip, and the way from an item of a corpus to its clip. */
    for (int k = 0; k < 2; k++) {
        Corpus *c = &a->corpus[k];
        c->count = most && c->count > (uint32_t)most ? (uint32_t)most : c->count;
        a->count += c->count;
        if (!(a->of[k] = mem_calloc((size_t)c->count + 1, sizeof **a->of)))
            return err_set(err, ERR_NOMEM, "no memory for %u clips", c->count);
    }
    if (!a->count)
        return err_set(err, ERR_DATA, "%s has no clip that can be used", a->v.file.cfg.data_path);
    if (!(a->clips = mem_calloc(a->count, sizeof *a->clips)))
        return err_set(err, ERR_NOMEM, "no memory for %u clips", a->count);
    AlignedClip *at = a->clips;
    for (int k = 0; k < 2; k++)
        for (uint32_t i = 0; i < a->corpus[k].count; i++)
            *at++ = (AlignedClip){.corpus = &a->corpus[k], .item = &a->corpus[k].items[i]};
    qsort(a->clips, a->count, sizeof *a->clips, compare_clips);
    for (uint32_t i = 0; i < a->count; i++) {
        AlignedClip *c = &a->clips[i];
        a->of[c->corpus - a->corpus][c->item - c->corpus->items] = c;
    }
    return 0;
}

/* Keeps what was found for a clip; of the first clip also what the picture needs. */
static int take_clip(void *arg, const ClipAlignment *found, Err *err)
{
    Align *a = arg;
    AlignedClip *c = a->of[a->current][found->item];
    const size_t bytes = (size_t)found->text * sizeof *found->durations;
    int32_t *kept = block_alloc(&a->durations, bytes, sizeof *kept);
    if (!kept)
        return err_set(err, ERR_NOMEM, "no memory for the durations of %u clips", a->count);
    memcpy(kept, found->durations, bytes);
    c->durations = kept;
    c->text = found->text;
    c->frames = found->frames;
    c->cost = found->cost;
    a->aligned++;
    a->symbols += (uint64_t)found->text;
    a->frames += (uint64_t)found->frames;
    a->cost += (double)found->cost;
    progress_add(&a->progress, 1);
    if (found->item || a->current != (a->corpus[0].count ? 0 : 1))
        return 0;
    snprintf(a->look_id, sizeof a->look_id, "%.*s", (int)id_of(c).n, id_of(c).p);
    return engine_look(a->v.engine, found->row, &a->look, err);
}

/* Validation first, then training. */
static int find_durations(Align *a, Log *log, Err *err)
{
    const Config *cfg = &a->v.file.cfg;
    EngineShape largest = corpus_shape(cfg, 1, &a->corpus[0], &a->corpus[1]);
    int rc = voice_data_engine(&a->v, &largest, log, err);
    progress_begin(&a->progress, log, "alignment", "clips", a->count);
    for (a->current = 0; a->current < 2 && !rc; a->current++) {
        const Corpus *c = &a->corpus[a->current];
        EvaluateOptions o = {
            .cfg = cfg, .corpus = c, .data = a->v.devices.data, .model = a->v.devices.model, .log = log};
        if (c->count)
            rc = align_clips(a->v.engine, &o, take_clip, a, err);
    }
    progress_end(&a->progress);
    return rc;
}

/* One clip is enough to see whether the alignment is a staircase. */
static int write_picture(const Align *a, Err *err)
{
    const Checkpoint *f = &a->v.file;
    PictureScale s = {&f->cfg,       f->content.mean,    f->content.deviation,
                      f->pitch_mean, f->pitch_deviation, a->look_id};
    Rgb *pixels = NULL;
    int w, h;
    if (!a->look.text) /* the clip could not be loaded, which was said */
        return 0;
    char *path = file_join(a->output, "alignment.png");
    int rc = path ? 0 : err_set(err, ERR_NOMEM, "no memory for a path");
    if (!rc)
        rc = picture_alignment_pixels(&pixels, &w, &h, &a->look, &s, err);
    if (!rc)
        rc = picture_write_rgb(path, pixels, w, h, err);
    free(pixels);
    free(path);
    return rc;
}

static int report(const Align *a, const AlignedClip *worst, int json, Err *err)
{
    const Config *cfg = &a->v.file.cfg;
    /* Not one clip: no mean. */
    const double cost = a->aligned ? a->cost / (double)a->aligned : NAN;
    const double seconds = (double)a->frames * cfg->hop_length / cfg->sample_rate;
    if (json)
        return output_print(json_pack("{s:I, s:I, s:f, s:o, s:o}", "clips", (json_int_t)a->aligned, "symbols",
                                      (json_int_t)a->symbols, "seconds", seconds, "output",
                                      json_from_text(a->output), "mean_cost", json_from_double(cost)),
                            7, err);
    printf("%s: %llu clip%s, %llu symbols, %.1f s of speech, aligned with step %lld", a->output,
           (unsigned long long)a->aligned, plural(a->aligned), (unsigned long long)a->symbols, seconds,
           (long long)a->v.file.content.state.step);
    if (worst)
        printf("; mean cost %.4f, highest %.4f (%.*s)", cost, (double)worst->cost, (int)id_of(worst).n,
               id_of(worst).p);
    printf("\n");
    return 0;
}

/* `alignment` beside the checkpoint; malloc'd. */
static char *default_output(const char *checkpoint)
{
    char dir[CHECKPOINT_PATH_SIZE];
    snprintf(dir, sizeof dir, "%s", checkpoint);
    char *slash = strrchr(dir, '/');
    if (slash)
        *slash = 0;
    return file_join(slash ? dir : "", "alignment");
}

/* Open, align, write times and costs, draw, report. */
static int run(Align *a, const CmdLine *line, const char *checkpoint, int most, Log *log, Err *err)
{
    const AlignedClip *worst;
    char *folder = NULL;
    int rc = voice_data_open(&a->v, checkpoint, line, log, err);
    if (!rc)
        rc = open_clips(a, most, log, err);
    if (rc)
        return rc;
    if (!a->output && !(a->output = folder = default_output(a->v.file.path)))
        return err_set(err, ERR_NOMEM, "no memory for a path");
    rc = file_make_dirs(a->output, err);
    if (!rc)
        rc = find_durations(a, log, err);
    if (!rc)
        rc = alignment_write_times(a->output, a->clips, a->count, &a->v.file.cfg, log, err);
    if (!rc)
        rc = alignment_write_costs(a->output, a->clips, a->count, &worst, err);
    if (!rc)
        rc = write_picture(a, err);
    if (!rc)
        rc = report(a, worst, line->json, err);
    free(folder);
    return rc;
}

static int check_options(const char *checkpoint, const char *clips, const CmdLine *line, int *most, Err *err)
{
    char *end = NULL;
    long n = clips ? strtol(clips, &end, 10) : 0;
    if (!checkpoint)
        return err_set(err, ERR_USAGE, "align needs --checkpoint R, the folder that `myxtts train` wrote");
    if (!line->cfg.data_path[0])
        return err_set(err, ERR_USAGE,
                       "align needs --data-path DIR, the folder with recordings and their texts");
    if (clips && (end == clips || *end || n < 1 || n > INT_MAX))
        return err_set(err, ERR_USAGE, "--clips is '%s', but must be a number of at least 1", clips);
    *most = (int)n;
    return 0;
}

static const CmdOption options[] = {
    {"checkpoint", "R", TEXT_AT(Align, checkpoint), 0, "a checkpoint, or a folder that holds some"},
    {"output", "D", TEXT_AT(Align, output), 0,
     "folder for the results (default: alignment, beside the checkpoint)"},
    {"clips", "N", TEXT_AT(Align, most_clips), 0,
     "use only the first N training clips and the first N validation clips"},
};
const CmdUsage align_usage = {usage_text, options, OPTION_COUNT(options)};

/* Exit code 1: some clips could not be loaded. */
int cmd_align(int argc, char **argv, Log *log)
{
    Align a = {0};
    CmdLine line;
    Err err = {0};
    int code = 0, most = 0, rc = cmd_line_parse(&line, &align_usage, &a, argc, argv, &err);
    if (!rc && !line.help)
        rc = cmd_line_expect(&line, 0, 0, "options only", &err);
    if (rc || line.help)
        goto done;
    cmd_line_set_log(&line, log);
    rc = check_options(a.checkpoint, a.most_clips, &line, &most, &err);
    if (!rc)
        rc = run(&a, &line, a.checkpoint, most, log, &err);
    code = a.aligned < a.count;
done:
    if (rc)
        code = cmd_fail(log, &err);
    if (rc == ERR_WORKER) /* a reader is stuck and may come back: what it looks at stays until the end */
        return code;
    engine_look_free(&a.look);
    block_free(&a.durations);
    free(a.clips);
    free(a.of[0]);
    free(a.of[1]);
    corpus_close(&a.corpus[0]);
    corpus_close(&a.corpus[1]);
    voice_data_close(&a.v);
    cmd_line_close(&line);
    return code;
}
