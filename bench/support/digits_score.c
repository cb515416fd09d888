/* digits_score.c - see digits_score.h. */
#include "digits_score.h"

const JudgeSettings judge = {.name = "the judge",
                             .n_fft = 512,
                             .win = 400,
                             .hop = 100,
                             .n_mels = 40,
                             .trim_db = 30,
                             .range_db = 60,
                             .cepstra = 13,
                             .slopes = 2,
                             .variance = 1,
                             .band = 0.3,
                             .diagonal = 2,
                             .local = LOCAL_ABSOLUTE,
                             .k = 3};

const char *const digit_words[10] = {"zero", "one", "two",   "three", "four",
                                     "five", "six", "seven", "eight", "nine"};

void set_free(Set *s)
{
    for (size_t i = 0; i < s->count; i++)
        clip_free(&s->clips[i]);
    free(s->clips);
    memset(s, 0, sizeof *s);
}

static int compare_names(const void *a, const void *b) { return strcmp(a, b); }

static int speaker_find(const Set *s, const char *name)
{
    for (int i = 0; i < s->speaker_count; i++)
        if (!strcmp(s->speakers[i], name))
            return i;
    return -1;
}

static int digit_of(Str text)
{
    for (int d = 0; d < 10; d++)
        if (text.n == strlen(digit_words[d]) && !strncasecmp(text.p, digit_words[d], text.n))
            return d;
    return -1;
}

static int set_name_speakers(Set *s, const Dataset *d, Err *err)
{
    for (size_t i = 0; i < d->count; i++) {
        char name[64];
        Str who = d->utterances[i].speaker;
        if (!who.n || who.n >= sizeof name)
            return err_set(err, ERR_DATA, "%s:%u: no speaker, or one with a name over 63 bytes",
                           d->metadata_path[0], d->utterances[i].line);
        snprintf(name, sizeof name, "%.*s", (int)who.n, who.p);
        if (speaker_find(s, name) >= 0)
            continue;
        if (s->speaker_count == MAX_SPEAKERS)
            return err_set(err, ERR_DATA, "%s names more than %d speakers", d->metadata_path[0],
                           MAX_SPEAKERS);
        memcpy(s->speakers[s->speaker_count++], name, sizeof name);
    }
    qsort(s->speakers, (size_t)s->speaker_count, sizeof s->speakers[0], compare_names);
    return 0;
}

static int set_fill(Set *s, Ear *e, const Dataset *d, Err *err)
{
    if (d->rejected_count || !d->count)
        return err_set(err, ERR_DATA, "%s: %zu of %zu lines cannot be used", d->metadata_path[0],
                       d->rejected_count, d->lines);
    int rc = set_name_speakers(s, d, err);
    s->clips = rc ? NULL : mem_calloc(d->count, sizeof *s->clips);
    if (!s->clips)
        return rc ? rc : err_set(err, ERR_NOMEM, "no memory for %zu clips", d->count);
    for (size_t i = 0; i < d->count && !rc; i++) {
        const Utterance *u = &d->utterances[i];
        Clip *c = &s->clips[s->count++];
        char path[4096], speaker[64];
        snprintf(c->name, sizeof c->name, "%.*s", (int)u->id.n, u->id.p);
        snprintf(speaker, sizeof speaker, "%.*s", (int)u->speaker.n, u->speaker.p);
        c->speaker = speaker_find(s, speaker);
        c->digit = digit_of(u->text);
        if (c->digit < 0)
            return err_set(err, ERR_DATA, "%s:%u: the text is '%.*s', not a digit in words",
                           d->metadata_path[0], u->line, (int)u->text.n, u->text.p);
        rc = dataset_audio_path(d, u, path, sizeof path, err);
        if (!rc)
            rc = ear_listen_file(e, c, path, err);
        if (!rc && !c->frames)
            rc = err_set(err, ERR_DATA, "%s holds only silence", path);
    }
    return rc;
}

int set_open(Set *s, const JudgeSettings *settings, const char *folder, Err *err)
{
    Dataset d = {0};
    Ear e;
    memset(s, 0, sizeof *s);
    int rc = ear_open(&e, settings, err);
    if (rc)
        return rc;
    e.cfg.data_path = folder;
    rc = dataset_open(&d, &e.cfg, err);
    if (!rc) {
        rc = set_fill(s, &e, &d, err);
        dataset_close(&d);
    }
    ear_close(&e);
    if (rc)
        set_free(s);
    return rc;
}

int set_open_synth(Set *s, const JudgeSettings *settings, const Set *real, const char *folder, Err *err)
{
    Ear e;
    memset(s, 0, sizeof *s);
    memcpy(s->speakers, real->speakers, sizeof s->speakers);
    s->speaker_count = real->speaker_count;
    int rc = ear_open(&e, settings, err);
    if (rc)
        return rc;
    s->clips = mem_calloc((size_t)real->speaker_count * 10, sizeof *s->clips);
    if (!s->clips)
        rc = err_set(err, ERR_NOMEM, "no memory for %d clips", real->speaker_count * 10);
    for (int i = 0; i < real->speaker_count * 10 && !rc; i++) {
        Clip *c = &s->clips[s->count++];
        c->speaker = i / 10;
        c->digit = i % 10;
        snprintf(c->name, sizeof c->name, "%d_%s", c->digit, s->speakers[c->speaker]);
        char path[4096];
        snprintf(path, sizeof path, "%s/%s.wav", folder, c->name);
        rc = ear_listen_file(&e, c, path, err);
    }
    ear_close(&e);
    if (rc)
        set_free(s);
    return rc;
}

void result_free(Result *r)
{
    free(r->answers);
    free(r->nearest);
    memset(r, 0, sizeof *r);
}

double result_share(const Result *r) { return r->asked_all ? (double)r->right_all / r->asked_all : 0; }

int result_make(Result *r, const JudgeSettings *settings, const float *distances, const Set *clips,
                const Set *real, Against rule, Err *err)
{
    memset(r, 0, sizeof *r);
    r->count = clips->count;
    r->answers = mem_calloc(clips->count, sizeof *r->answers);
    r->nearest = mem_calloc(clips->count, sizeof *r->nearest);
    if (!r->answers || !r->nearest) {
        result_free(r);
        return err_set(err, ERR_NOMEM, "no memory for %zu answers", clips->count);
    }
    for (size_t i = 0; i < clips->count; i++) {
        const Clip *c = &clips->clips[i];
        size_t skip = rule == AGAINST_OTHER_CLIPS ? i : real->count;
        int heard = judge_digit(&r->nearest[i], settings, distances + i * real->count, real->clips,
                                real->count, skip, rule == AGAINST_OTHER_SPEAKERS ? c->speaker : -1);
        int right = heard == c->digit;
        r->answers[i] = heard;
        r->right[c->speaker] += right;
        r->asked[c->speaker]++;
        r->right_all += right;
        r->asked_all++;
        r->confusion[c->digit][heard < 0 ? 10 : heard]++;
        r->same_voice += heard >= 0 && real->clips[r->nearest[i]].speaker == c->speaker;
    }
    return 0;
}

void baseline_free(Baseline *b)
{
    result_free(&b->speakers);
    result_free(&b->clips);
}

int baseline_make(Baseline *b, const JudgeSettings *settings, const Set *real, int threads, Err *err)
{
    float *distances;
    memset(b, 0, sizeof *b);
    int rc = pairs_measure(&distances, settings, real->clips, real->count, NULL, 0, threads, err);
    if (!rc)
        rc = result_make(&b->speakers, settings, distances, real, real, AGAINST_OTHER_SPEAKERS, err);
    if (!rc)
        rc = result_make(&b->clips, settings, distances, real, real, AGAINST_OTHER_CLIPS, err);
    free(distances);
    if (rc)
        baseline_free(b);
    return rc;
}
