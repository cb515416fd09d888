/* voice_clips.c - see voice_clips.h. */
#include "voice_clips.h"

/* The recogniser takes clips of 300 s at most, and its search slows down in long ones: clips over PIECE_MOST
 * are cut. */
#define PIECE_MOST 60.0

#define PIECE_FROM 20.0

#define PIECE_TO 35.0

/* ---- sentences ---- */

void text_free(Text *t)
{
    for (int i = 0; i < t->count; i++)
        free(t->items[i].text);
    free(t->items);
    memset(t, 0, sizeof *t);
}

int text_read(Text *t, const char *path, Err *err)
{
    Buf file = {0};
    size_t cap = 0;
    memset(t, 0, sizeof *t);
    int rc = file_read(&file, path, (size_t)64 << 20, err), line = 0;
    for (size_t at = 0; !rc && at < file.size;) {
        const char *p = file.data + at, *end = memchr(p, '\n', file.size - at);
        size_t n = end ? (size_t)(end - p) : file.size - at;
        at += n + 1;
        line++;
        char *copy = strndup(p, n);
        int words = 0;
        if (!copy || words_wrong(copy, "", &words) < 0 ||
            mem_grow(&t->items, &cap, (size_t)t->count + 1, sizeof *t->items)) {
            free(copy);
            rc = err_set(err, ERR_DATA, "%s:%d: too many words for one sentence", path, line);
            break;
        }
        copy[strcspn(copy, "\r")] = 0;
        if (words)
            t->items[t->count++] = (Sentence){line, copy, words}, t->words += words;
        else
            free(copy);
    }
    buf_free(&file);
    if (!rc && !t->count)
        rc = err_set(err, ERR_DATA, "%s has no sentence in it", path);
    if (rc)
        text_free(t);
    return rc;
}

/* ---- clips ---- */

/* folder/NN.wav: two digits, or more with zeros before them. 0 when there is none. */
static int clip_path(char path[PATH_SIZE], const char *folder, int line)
{
    for (int width = 2; width <= 6; width++) {
        snprintf(path, PATH_SIZE, "%s/%0*d.wav", folder, width, line);
        if (file_exists(path))
            return 1;
    }
    snprintf(path, PATH_SIZE, "%s/%02d.wav", folder, line);
    return 0;
}

static int clip_load(AudioBuffer *a, const char *path, Err *err)
{
    Buf file = {0};
    char detail[300];
    int rc = file_read(&file, path, (size_t)1 << 30, err);
    if (!rc && audio_decode(a, file.data, file.size, path, 0, detail, sizeof detail) != REJECT_NONE)
        rc = err_set(err, ERR_DATA, "%s: %s", path, detail);
    buf_free(&file);
    return rc;
}

/* Where to cut the first piece off a long clip: the middle of the quietest tenth of a second between
 * PIECE_FROM and PIECE_TO. */
static int64_t cut_place(const float *x, int rate)
{
    int64_t span = rate / 10, step = rate / 100 + 1, best = 0;
    double least = -1;
    for (int64_t at = (int64_t)(PIECE_FROM * rate); at + span <= (int64_t)(PIECE_TO * rate); at += step) {
        double sum = 0;
        for (int64_t i = at; i < at + span; i++)
            sum += (double)x[i] * x[i];
        if (least < 0 || sum < least)
            least = sum, best = at + span / 2;
    }
    return best;
}

void heard_free(Heard *h)
{
    for (int i = 0; i < h->count && h->clips; i++)
        free(h->clips[i].heard);
    free(h->clips);
    free(h->seconds);
    free(h->there);
    memset(h, 0, sizeof *h);
}

/* The sound of all sentences in pieces; owner[p] is the sentence of piece p. */
typedef struct Pieces {
    JudgeClip *items; /* sound malloc'd, said is "" */
    int *owner, count;
    size_t cap, owner_cap;
} Pieces;

static void pieces_free(Pieces *p)
{
    for (int i = 0; i < p->count; i++) {
        free((void *)(uintptr_t)p->items[i].samples);
        free(p->items[i].heard);
    }
    free(p->items);
    free(p->owner);
    memset(p, 0, sizeof *p);
}

static int pieces_add(Pieces *p, const float *x, int64_t n, int rate, int owner, Err *err)
{
    while (n > 0) {
        int64_t take = n > (int64_t)(PIECE_MOST * rate) ? cut_place(x, rate) : n;
        float *copy = mem_calloc((size_t)take, sizeof *copy);
        if (!copy || mem_grow(&p->items, &p->cap, (size_t)p->count + 1, sizeof *p->items) ||
            mem_grow(&p->owner, &p->owner_cap, (size_t)p->count + 1, sizeof *p->owner)) {
            free(copy);
            return err_set(err, ERR_NOMEM, "no memory for the clips");
        }
        memcpy(copy, x, (size_t)take * sizeof *copy);
        p->owner[p->count] = owner;
        p->items[p->count++] = (JudgeClip){.samples = copy, .count = take, .rate = rate, .said = ""};
        x += take, n -= take;
    }
    return 0;
}

/* What was heard in the pieces of each sentence, one after the other, against the whole sentence. */
static int heard_join(Heard *h, const Pieces *p, const Text *t, Err *err)
{
    for (int i = 0, k = 0; i < h->count; i++) {
        Buf all = {0};
        buf_str(&all, "");
        for (; k < p->count && p->owner[k] == i; k++)
            if (p->items[k].heard && *p->items[k].heard)
                buf_printf(&all, "%s%s", all.size ? " " : "", p->items[k].heard);
        JudgeClip *c = &h->clips[i];
        int wrong = all.failed ? ERR_NOMEM : words_wrong(t->items[i].text, all.data, &c->words);
        if (wrong < 0) {
            buf_free(&all);
            return err_set(err, wrong, "line %d: its words cannot be compared", t->items[i].line);
        }
        c->wrong = wrong;
        c->said = t->items[i].text;
        c->heard = all.data;
    }
    return 0;
}

/* ---- what was heard before ---- */

void memory_free(Memory *m)
{
    for (int i = 0; i < m->count; i++)
        free(m->lines[i].heard);
    free(m->lines);
    memset(m, 0, sizeof *m);
}

static int memory_add(Memory *m, const char *key, const char *heard, size_t n, Err *err)
{
    char *copy = strndup(heard, n);
    if (!copy || mem_grow(&m->lines, &m->cap, (size_t)m->count + 1, sizeof *m->lines)) {
        free(copy);
        return err_set(err, ERR_NOMEM, "no memory for what was heard");
    }
    snprintf(m->lines[m->count].key, sizeof m->lines->key, "%.32s", key);
    m->lines[m->count++].heard = copy;
    return 0;
}

int memory_open(Memory *m, const char *path, const char *recogniser, Err *err)
{
    Buf file = {0};
    int rc = 0;
    *m = (Memory){.path = path, .recogniser = recogniser};
    if (!file_exists(path) || (rc = file_read(&file, path, (size_t)256 << 20, err)))
        return rc;
    for (const char *p = file.data, *all = p + file.size, *end;
         !rc && p < all && (end = memchr(p, '\n', (size_t)(all - p))); p = end + 1)
        if (end - p > 32 && p[32] == '\t' && strspn(p, "0123456789abcdef") == 32)
            rc = memory_add(m, p, p + 33, (size_t)(end - p) - 33, err);
    buf_free(&file);
    return rc;
}

static void memory_key(char key[33], const Memory *m, const JudgeClip *c)
{
    Hasher h;
    Hash128 sum = {0};
    if (hasher_open(&h) == 0) {
        hasher_str(&h, m->recogniser);
        hasher_u64(&h, (uint64_t)c->rate);
        hasher_bytes(&h, c->samples, (size_t)c->count * sizeof *c->samples);
        sum = hasher_close(&h);
    }
    snprintf(key, 33, "%016llx%016llx", (unsigned long long)sum.hi, (unsigned long long)sum.lo);
}

/* The recogniser hears what it has not heard before; all pieces have their words then. */
static int memory_hear(Memory *m, Pieces *p, const char *language, int threads, Err *err)
{
    JudgeClip *fresh = mem_calloc((size_t)p->count + 1, sizeof *fresh);
    int *at = mem_calloc((size_t)p->count + 1, sizeof *at), n = 0, rc = 0;
    char(*keys)[33] = mem_calloc((size_t)p->count + 1, sizeof *keys);
    Buf file = {0};
    if (!fresh || !at || !keys)
        rc = err_set(err, ERR_NOMEM, "no memory for %d clips", p->count);
    for (int i = 0; i < p->count && !rc; i++) {
        memory_key(keys[i], m, &p->items[i]);
        for (int k = 0; k < m->count && !p->items[i].heard; k++)
            if (!strcmp(m->lines[k].key, keys[i]) && !(p->items[i].heard = strdup(m->lines[k].heard)))
                rc = err_set(err, ERR_NOMEM, "no memory for what was heard");
        if (!p->items[i].heard)
            at[n] = i, fresh[n++] = p->items[i];
    }
    if (!rc && n)
        rc = judge_clips(fresh, n, language, threads, err);
    for (int i = 0; i < n && !rc; i++) {
        p->items[at[i]].heard = fresh[i].heard;
        rc = memory_add(m, keys[at[i]], fresh[i].heard, strlen(fresh[i].heard), err);
    }
    for (int k = 0; k < m->count && n && !rc; k++)
        buf_printf(&file, "%s\t%s\n", m->lines[k].key, m->lines[k].heard);
    if (!rc && n)
        rc = file.failed ? err_set(err, ERR_NOMEM, "no memory for %s", m->path)
                         : file_replace(m->path, file.data, file.size, err);
    buf_free(&file);
    free(fresh);
    free(at);
    free(keys);
    return rc;
}

int heard_make(Heard *h, const Text *t, const char *folder, int some, const Config *cfg, Memory *memory,
               const char *language, int threads, Err *err)
{
    AudioBuffer audio = {0};
    AudioProcessor *processor = NULL;
    Pieces pieces = {0};
    size_t n = (size_t)t->count;
    memset(h, 0, sizeof *h);
    h->count = t->count;
    h->clips = mem_calloc(n, sizeof *h->clips);
    h->seconds = mem_calloc(n, sizeof *h->seconds);
    h->there = mem_calloc(n, sizeof *h->there);
    int rc = h->clips && h->seconds && h->there ? audio_processor_open(&processor, cfg, err)
                                                : err_set(err, ERR_NOMEM, "no memory");
    for (int i = 0; i < t->count && !rc; i++) {
        char path[PATH_SIZE], detail[300];
        const float *trimmed;
        int64_t length;
        if (!clip_path(path, folder, t->items[i].line)) {
            if (!some)
                rc = err_set(err, ERR_MISSING, "there is no %s", path);
            continue;
        }
        if ((rc = clip_load(&audio, path, err)) ||
            (rc = pieces_add(&pieces, audio.samples, audio.frames, audio.rate, i, err)))
            break;
        h->there[i] = 1;
        if (audio_process(processor, &trimmed, &length, &audio, 1, 0, detail, sizeof detail) == REJECT_NONE)
            h->seconds[i] = (double)length / cfg->sample_rate;
    }
    if (!rc)
        rc = memory_hear(memory, &pieces, language, threads, err);
    if (!rc)
        rc = heard_join(h, &pieces, t, err);
    pieces_free(&pieces);
    audio_buffer_free(&audio);
    audio_processor_close(processor);
    if (rc)
        heard_free(h);
    return rc;
}

/* ---- through mel and Griffin-Lim ---- */

typedef struct Copier {
    AudioProcessor *processor;
    MelScratch *scratch;
    GriffinLim *griffin;
    AudioBuffer audio;
    Err err;
    int rc; /* of the first clip that failed */
} Copier;

typedef struct CopyJob {
    const Config *cfg;
    const MelPlan *plan;
    const Text *text;
    const char *from, *to;
    Copier *copiers; /* [threads] */
    int iterations;
} CopyJob;

/* As `prepare` treats a recording and `synth` a mel. */
static int copy_clip(const CopyJob *j, Copier *c, int line, Err *err)
{
    char from[PATH_SIZE], to[PATH_SIZE], detail[300];
    const float *x;
    int64_t n;
    if (!clip_path(from, j->from, line))
        return err_set(err, ERR_MISSING, "there is no %s", from);
    int rc = clip_load(&c->audio, from, err);
    if (rc)
        return rc;
    if (audio_process(c->processor, &x, &n, &c->audio, j->cfg->trim_silence,
                      j->cfg->enable_loudness_normalization, detail, sizeof detail) != REJECT_NONE)
        return err_set(err, ERR_DATA, "%s: %s", from, detail);
    int64_t frames = mel_frames(j->plan, n), samples = griffin_lim_samples(c->griffin, frames);
    float *mel = mem_calloc((size_t)frames, sizeof *mel * (size_t)j->cfg->n_mels),
          *out = mem_calloc((size_t)samples, sizeof *out);
    if (mel && out) {
        mel_compute(j->plan, c->scratch, mel, x, n);
        rc = griffin_lim_run(c->griffin, out, mel, frames, j->iterations, 1, err);
        snprintf(to, sizeof to, "%s/%02d.wav", j->to, line);
        if (!rc)
            rc = wav_write(to, out, samples, j->cfg->sample_rate, err);
    } else
        rc = err_set(err, ERR_NOMEM, "no memory for %s", from);
    free(mel);
    free(out);
    return rc;
}

static void copy_work(void *user, int thread, int slot, uint64_t item)
{
    CopyJob *j = user;
    Copier *c = &j->copiers[thread];
    if (!c->rc)
        c->rc = copy_clip(j, c, j->text->items[item].line, &c->err);
}

static int copy_finish(void *user, int slot, uint64_t item, Err *err) { return 0; }

int copies_make(const Text *t, const char *from, const char *to, const Config *cfg, int iterations,
                int threads, Err *err)
{
    MelPlan *plan = NULL;
    Copier *copiers = mem_calloc((size_t)threads, sizeof *copiers);
    int rc = copiers ? file_make_dirs(to, err) : err_set(err, ERR_NOMEM, "no memory");
    if (!rc)
        rc = mel_plan_open(&plan, cfg, err);
    for (int i = 0; i < threads && !rc; i++)
        if (!(rc = audio_processor_open(&copiers[i].processor, cfg, err)) &&
            !(rc = mel_scratch_open(&copiers[i].scratch, plan, err)))
            rc = griffin_lim_open(&copiers[i].griffin, cfg, err);
    CopyJob j = {cfg, plan, t, from, to, copiers, iterations};
    OrderedJob job = {"griffin-lim", (uint64_t)t->count, threads, threads * 4, &j, copy_work, copy_finish};
    if (!rc)
        rc = ordered_run(&job, err);
    for (int i = 0; i < threads && copiers; i++) {
        if (!rc && copiers[i].rc) {
            rc = copiers[i].rc;
            *err = copiers[i].err;
        }
        audio_processor_close(copiers[i].processor);
        mel_scratch_close(copiers[i].scratch);
        griffin_lim_close(copiers[i].griffin);
        audio_buffer_free(&copiers[i].audio);
    }
    free(copiers);
    mel_plan_close(plan);
    return rc;
}
