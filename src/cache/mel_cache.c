/* mel_cache.c - audio -> log-mel and pitch, kept on disk.
 *
 * An entry holds for the bytes of its audio file and the settings. Hashing the bytes of a whole corpus at
 * every start would take as long as reading it, so an entry also holds the file's stamp (size, both times,
 * inode): the same stamp means the same bytes, and only a file whose stamp has changed is read again; if its
 * bytes turn out the same, the entry stays and gets the new stamp. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audio/mel.h"
#include "audio/pitch.h"
#include "audio/process.h"
#include "base/clock.h"
#include "base/ordered.h"
#include "base/progress.h"
#include "cache/accept.h"
#include "cache/features.h"
#include "cache/mel_features.h"
#include "dataset/audio_file.h"

#define SLOTS_PER_WORKER 4               /* results that may wait for their turn */
#define MAX_AUDIO_FILE ((size_t)1 << 30) /* bytes; no clip within max_audio_length comes near it */

enum { FROM_NOWHERE, FROM_OLD, FROM_SALVAGE, FROM_FILE };
typedef struct Plan {
    FileStamp stamp;
    int64_t number; /* old entry or salvage token; for FROM_FILE the old entry to compare with, or -1 */
    uint8_t from;
} Plan;

typedef struct WorkerState { /* one per thread */
    MelScratch *scratch;
    PitchScratch *pitch_scratch;
    AudioProcessor *processor;
    AudioBuffer audio;
    Buf bytes;
    float *mel, *pitch;
    size_t mel_cap, pitch_cap;
} WorkerState;

typedef struct Result { /* one per slot */
    Hash128 key;
    int same_as_old, transient;
    RejectReason reason;
    char detail[256];
    double seconds;
    uint32_t frames;
    Buf payload;
} Result;

struct MelStage {
    Stage *stage;
    StoreBuild *build;
    Store old_store;
    const Store *old; /* NULL when there is no old state to use */
    uint8_t *damaged; /* [old->count], or NULL when it was not verified */
    Hash128 settings;
    MelPlan *mel;
    PitchPlan *pitch;
    Plan *plan;      /* [dataset->count] */
    uint8_t *counts; /* [entries of the new state] 1: the clip is in the statistics */
    uint32_t *work;  /* [work_count] utterances to read, in order */
    size_t work_count;
    size_t placed;
    WorkerState *workers;
    Result *results;
    int slots;
    int threads;
    StageReport *report;
    Progress progress;
};

/* The file's bytes, and a check that they did not change while being read. 0, or a negative code with the
 * reason in detail. */
static int read_audio(Buf *bytes, const char *path, const FileStamp *expected, char *detail, size_t cap)
{
    Err err = {0};
    FileStamp after;
    buf_clear(bytes);
    int rc = file_read(bytes, path, MAX_AUDIO_FILE, &err);
    if (!rc)
        rc = file_stamp(&after, path, &err);
    if (rc)
        snprintf(detail, cap, "%s", err.msg);
    else if (memcmp(&after, expected, sizeof after) != 0) {
        snprintf(detail, cap, "the file changed while it was being read");
        rc = ERR_DATA;
    }
    return rc;
}

static int make_mel(MelStage *m, WorkerState *w, Result *r, const char *path)
{
    const Config *cfg = m->stage->cfg;
    const float *samples;
    int64_t n;
    r->reason = audio_decode(&w->audio, w->bytes.data, w->bytes.size, path, cfg->max_audio_length, r->detail,
                             sizeof r->detail);
    if (r->reason != REJECT_NONE)
        return 0;
    r->seconds = (double)w->audio.frames / w->audio.rate;
    r->reason = audio_process(w->processor, &samples, &n, &w->audio, cfg->trim_silence,
                              cfg->enable_loudness_normalization, r->detail, sizeof r->detail);
    if (r->reason != REJECT_NONE)
        return 0;
    int64_t frames = mel_frames(m->mel, n);
    int bands = mel_bands(m->mel);
    if (frames > UINT32_MAX / 2 ||
        mem_grow(&w->mel, &w->mel_cap, (size_t)frames * (size_t)bands, sizeof *w->mel) ||
        mem_grow(&w->pitch, &w->pitch_cap, (size_t)frames, sizeof *w->pitch))
        return ERR_NOMEM;
    mel_compute(m->mel, w->scratch, w->mel, samples, n);
    if (pitch_compute(m->pitch, w->pitch_scratch, w->pitch, NULL, samples, n))
        return ERR_NOMEM;
    r->frames = (uint32_t)frames;
    return mel_encode_payload(&r->payload, w->mel, w->pitch, frames, bands, cfg->mel_storage);
}

static void work(void *user, int thread, int slot, uint64_t item)
{
    MelStage *m = user;
    WorkerState *w = &m->workers[thread];
    Result *r = &m->results[slot];
    size_t i = m->work[item];
    const Utterance *u = &m->stage->dataset->utterances[i];
    const Plan *plan = &m->plan[i];
    char path[PATH_MAX];
    Buf payload = r->payload;
    *r = (Result){.payload = payload};
    Err err = {0};
    int rc = dataset_audio_path(m->stage->dataset, u, path, sizeof path, &err);
    if (rc)
        snprintf(r->detail, sizeof r->detail, "%s", err.msg);
    else
        rc = read_audio(&w->bytes, path, &plan->stamp, r->detail, sizeof r->detail);
    if (!rc) {
        r->key = mel_key(m->settings, u->id, hash_bytes(w->bytes.data, w->bytes.size));
        if (plan->number >= 0) {
            StoreEntry e;
            store_entry(m->old, (uint64_t)plan->number, &e);
            r->same_as_old = hash_equal(e.key, r->key) && !(m->damaged && m->damaged[plan->number]);
        }
        if (!r->same_as_old) {
            rc = make_mel(m, w, r, path);
            if (rc)
                snprintf(r->detail, sizeof r->detail, "no memory for a clip of %.0f s", r->seconds);
        }
    }
    if (rc)
        r->reason = rc == ERR_MISSING ? REJECT_AUDIO_MISSING : REJECT_AUDIO_UNREADABLE;
    r->transient = r->reason != REJECT_NONE && !accept_is_lasting(r->reason);
}

static int place_reused(MelStage *m, Err *err)
{
    int rc = 0;
    for (; !rc && m->placed < m->stage->dataset->count && m->plan[m->placed].from != FROM_FILE; m->placed++) {
        const Plan *p = &m->plan[m->placed];
        if (p->from == FROM_NOWHERE)
            continue;
        rc = p->from == FROM_OLD ? store_build_keep(m->build, (uint64_t)p->number, &p->stamp, err)
                                 : store_build_salvage(m->build, p->number, &p->stamp, err);
        m->report->reused += m->stage->reason[m->placed] == REJECT_NONE;
    }
    return rc;
}

static int finish(void *user, int slot, uint64_t item, Err *err)
{
    MelStage *m = user;
    Result *r = &m->results[slot];
    (void)item;
    int rc = place_reused(m, err);
    if (rc)
        return rc;
    size_t i = m->placed++;
    const Utterance *u = &m->stage->dataset->utterances[i];
    const Plan *p = &m->plan[i];
    progress_add(&m->progress, 1);
    if (r->transient)
        return stage_reject(m->stage, i, r->reason, r->detail, err);
    if (r->same_as_old) {
        StoreEntry e;
        store_entry(m->old, (uint64_t)p->number, &e);
        m->report->reused += e.status == 0;
        return store_build_keep(m->build, (uint64_t)p->number, &p->stamp, err);
    }
    StoreRecord rec = {
        .id = u->id.p, .id_size = u->id.n, .key = r->key, .stamp = p->stamp, .status = (uint32_t)r->reason};
    rec.extra = (uint64_t)llround(r->seconds *
                                  1e6); /* cut off, a clip of exactly min_audio_length would be too short */
    if (r->reason != REJECT_NONE) {
        rec.payload = r->detail;
        rec.payload_size = strlen(r->detail);
    } else {
        rec.items = r->frames;
        rec.format = mel_format(m->stage->cfg->mel_storage, m->stage->cfg->n_mels);
        rec.payload = r->payload.data;
        rec.payload_size = r->payload.size;
        m->report->built++;
    }
    return store_build_add(m->build, &rec, err);
}

/* Stamps every audio file and decides where each entry comes from. */
static int make_plan(MelStage *m, Err *err)
{
    const Dataset *d = m->stage->dataset;
    int rc = 0;
    for (size_t i = 0; i < d->count && !rc; i++) {
        const Utterance *u = &d->utterances[i];
        Plan *p = &m->plan[i];
        char path[PATH_MAX];
        Err why = {0};
        int missing = dataset_audio_path(d, u, path, sizeof path, &why);
        if (!missing)
            missing = file_stamp(&p->stamp, path, &why);
        if (missing) {
            rc = stage_reject(m->stage, i,
                              missing == ERR_MISSING ? REJECT_AUDIO_MISSING : REJECT_AUDIO_UNREADABLE,
                              why.msg, err);
            continue;
        }
        p->number = m->old ? store_find(m->old, u->id.p, u->id.n) : -1;
        int usable = p->number >= 0 && hash_equal(m->old->settings, m->settings) &&
                     !(m->damaged && m->damaged[p->number]);
        if (usable) {
            StoreEntry e;
            MelView v;
            store_entry(m->old, (uint64_t)p->number, &e);
            usable = e.status != 0 || mel_view(&v, &e) == 0;
            if (usable && memcmp(&e.stamp, &p->stamp, sizeof p->stamp) == 0)
                p->from = FROM_OLD;
        }
        if (!usable)
            p->number = -1;
        if (p->from == FROM_NOWHERE) {
            int64_t token = store_build_find_by_stamp(m->build, u->id.p, u->id.n, &p->stamp);
            if (token >= 0) {
                p->from = FROM_SALVAGE;
                p->number = token;
            }
        }
        if (p->from == FROM_NOWHERE && m->stage->reason[i] == REJECT_NONE) {
            p->from = FROM_FILE;
            m->work[m->work_count++] = (uint32_t)i;
        }
    }
    return rc;
}

/* The pre-flight: the header of every file that has to be read, before the long work begins. */
typedef struct Probe {
    MelStage *m;
    RejectReason *reason; /* [slots] */
    char (*detail)[256];  /* [slots] */
    size_t kept;
} Probe;

static void probe_work(void *user, int thread, int slot, uint64_t item)
{
    Probe *p = user;
    const Config *cfg = p->m->stage->cfg;
    char path[PATH_MAX];
    AudioInfo info;
    Err err = {0};
    p->detail[slot][0] = 0;
    if (dataset_audio_path(p->m->stage->dataset, &p->m->stage->dataset->utterances[p->m->work[item]], path,
                           sizeof path, &err)) {
        p->reason[slot] = REJECT_AUDIO_MISSING;
        snprintf(p->detail[slot], sizeof p->detail[slot], "%s", err.msg);
        return;
    }
    p->reason[slot] = audio_probe(&info, path, cfg->min_audio_length, cfg->max_audio_length, p->detail[slot],
                                  sizeof p->detail[slot]);
}

static int probe_finish(void *user, int slot, uint64_t item, Err *err)
{
    Probe *p = user;
    MelStage *m = p->m;
    uint32_t i = m->work[item];
    progress_add(&m->progress, 1);
    if (p->reason[slot] == REJECT_NONE) {
        m->work[p->kept++] = i; /* kept <= item: the list shrinks in place behind the reader */
        return 0;
    }
    m->plan[i].from = FROM_NOWHERE;
    return stage_reject(m->stage, i, p->reason[slot], p->detail[slot], err);
}

static int preflight(MelStage *m, int workers, Err *err)
{
    Probe p = {.m = m};
    p.reason = mem_calloc((size_t)m->slots, sizeof *p.reason);
    p.detail = mem_calloc((size_t)m->slots, sizeof *p.detail);
    int rc = p.reason && p.detail ? 0 : err_set(err, ERR_NOMEM, "no memory for the pre-flight");
    if (!rc) {
        OrderedJob job = {
            .name = "probe", .items = m->work_count, .workers = workers, .slots = m->slots, .user = &p};
        job.work = probe_work;
        job.finish = probe_finish;
        progress_begin(&m->progress, m->stage->log, "audio headers", "files", m->work_count);
        rc = ordered_run(&job, err);
        progress_end(&m->progress);
    }
    m->work_count = rc ? 0 : p.kept;
    free(p.reason);
    free(p.detail);
    return rc;
}

static int open_workers(MelStage *m, Err *err)
{
    int threads = m->threads;
    m->workers = mem_calloc((size_t)threads, sizeof *m->workers);
    m->results = mem_calloc((size_t)m->slots, sizeof *m->results);
    if (!m->workers || !m->results)
        return err_set(err, ERR_NOMEM, "no memory for %d workers", threads);
    int rc = mel_plan_open(&m->mel, m->stage->cfg, err);
    if (!rc)
        rc = pitch_plan_open(&m->pitch, m->stage->cfg, err);
    for (int i = 0; i < threads && !rc; i++) {
        rc = mel_scratch_open(&m->workers[i].scratch, m->mel, err);
        if (!rc)
            rc = pitch_scratch_open(&m->workers[i].pitch_scratch, m->pitch, err);
        if (!rc)
            rc = audio_processor_open(&m->workers[i].processor, m->stage->cfg, err);
    }
    return rc;
}

static void close_workers(MelStage *m)
{
    for (int i = 0; m->workers && i < m->threads; i++) {
        mel_scratch_close(m->workers[i].scratch);
        pitch_scratch_close(m->workers[i].pitch_scratch);
        audio_processor_close(m->workers[i].processor);
        audio_buffer_free(&m->workers[i].audio);
        buf_free(&m->workers[i].bytes);
        free(m->workers[i].mel);
        free(m->workers[i].pitch);
    }
    for (int i = 0; m->results && i < m->slots; i++)
        buf_free(&m->results[i].payload);
    mel_plan_close(m->mel);
    pitch_plan_close(m->pitch);
    free(m->workers);
    free(m->results);
    m->workers = NULL;
    m->results = NULL;
    m->mel = NULL;
    m->pitch = NULL;
}

static int no_memory_for_statistics(Err *err)
{
    return err_set(err, ERR_NOMEM, "no memory for the statistics");
}

/* The clips that count, by their keys alone: the same set has the same statistics. */
static int hash_of_set(MelStage *m, uint64_t *set, Err *err)
{
    Hasher h;
    int rc = hasher_open(&h) ? no_memory_for_statistics(err) : 0;
    if (rc)
        return rc;
    for (uint64_t i = 0; i < store_build_count(m->build) && !rc; i++) {
        StoreEntry e;
        rc = store_build_entry(m->build, i, &e, err);
        if (!rc && m->counts[i])
            hasher_bytes(&h, &e.key, sizeof e.key);
    }
    *set = hasher_close(&h).lo;
    return rc;
}

/* Adds up the sums of the clips that count, in entry order, so that the result never depends on who finished
 * first. sums [2 * bands + 2]: as in the records, the pitch at the end. */
static int add_sums(MelStage *m, MelStatistics *head, double *sums, Err *err)
{
    size_t bands = head->bands;
    for (uint64_t i = 0; i < store_build_count(m->build); i++) {
        StoreEntry e;
        MelView v;
        int rc = store_build_entry(m->build, i, &e, err);
        if (rc)
            return rc;
        if (!m->counts[i] || mel_view(&v, &e) || v.bands != bands)
            continue;
        if (i % 64 == 0) /* each look maps a piece of the segment */
            store_build_forget(m->build);
        head->clips++;
        head->frames += v.frames;
        for (size_t b = 0; b < bands; b++) {
            sums[b] += v.sum[b];
            sums[bands + b] += v.sum_squares[b];
        }
        sums[2 * bands] += v.pitch_sums[0];
        sums[2 * bands + 1] += v.pitch_sums[1];
    }
    return 0;
}

/* Turns sum and sum of squares into mean and deviation. */
static void finish_sums(double *sum, double *squares, uint64_t frames)
{
    double n = frames ? (double)frames : 1, average = *sum / n, variance = *squares / n - average * average;
    *sum = average;
    *squares = variance > 0 ? sqrt(variance) : 0;
}

/* Mean and deviation per band and of the pitch over the clips that are accepted so far: a function of the
 * dataset and the settings, not of earlier runs. */
static int finish_blob(MelStage *m, Buf *blob, Err *err)
{
    const Config *cfg = m->stage->cfg;
    MelStatistics head = {.bands = (uint32_t)cfg->n_mels,
                          .sample_rate = (uint32_t)cfg->sample_rate,
                          .n_fft = (uint32_t)cfg->n_fft,
                          .win_length = (uint32_t)cfg->win_length,
                          .hop_length = (uint32_t)cfg->hop_length,
                          .fmin = cfg->mel_fmin,
                          .fmax = cfg->mel_fmax};
    MelStatistics before;
    const double *mean, *deviation;
    int rc = hash_of_set(m, &head.set, err);
    if (rc)
        return rc;
    if (m->old && hash_equal(m->old->settings, m->settings) &&
        mel_statistics(&before, &mean, &deviation, m->old) == 0 && before.set == head.set) {
        buf_add(blob, m->old->blob, m->old->blob_size);
        return blob->failed ? no_memory_for_statistics(err) : 0;
    }
    size_t bands = head.bands;
    double *sums = mem_calloc(bands * 2 + 2, sizeof *sums);
    rc = sums ? add_sums(m, &head, sums, err) : no_memory_for_statistics(err);
    for (size_t b = 0; b < bands && !rc; b++)
        finish_sums(&sums[b], &sums[bands + b], head.frames);
    if (!rc) {
        finish_sums(&sums[2 * bands], &sums[2 * bands + 1], head.frames);
        head.pitch_mean = sums[2 * bands];
        head.pitch_deviation = sums[2 * bands + 1];
        buf_add(blob, &head, sizeof head);
        buf_add(blob, sums, bands * 2 * sizeof *sums);
        rc = blob->failed ? no_memory_for_statistics(err) : 0;
    }
    free(sums);
    return rc;
}

/* Rejections that stand in the records, and the limits on length, which are a choice and not a property of
 * the features. */
static int pass_on_rejections(MelStage *m, Err *err)
{
    const Config *cfg = m->stage->cfg;
    uint64_t at = 0, n = store_build_count(m->build);
    int rc = 0;
    m->counts = mem_calloc(n, 1);
    if (!m->counts)
        return err_set(err, ERR_NOMEM, "no memory for %llu clips", (unsigned long long)n);
    for (size_t i = 0; i < m->stage->dataset->count && at < n && !rc; i++) {
        const Utterance *u = &m->stage->dataset->utterances[i];
        StoreEntry e;
        rc = store_build_entry(m->build, at, &e, err);
        if (rc || e.id_size != u->id.n || memcmp(e.id, u->id.p, u->id.n) != 0)
            continue;
        uint64_t entry = at++;
        if (m->stage->reason[i] != REJECT_NONE)
            continue;
        char detail[512];
        RejectReason reason;
        double seconds = (double)e.extra * 1e-6;
        int reused = m->plan[i].from == FROM_OLD || m->plan[i].from == FROM_SALVAGE;
        if (e.status != 0) {
            snprintf(detail, sizeof detail, "%.*s", (int)(e.payload_size < 500 ? e.payload_size : 500),
                     (const char *)e.payload);
            m->report->reused -= (uint64_t)reused;
            rc = stage_reject(m->stage, i,
                              e.status < REJECT_COUNT ? (RejectReason)e.status : REJECT_AUDIO_UNREADABLE,
                              detail, err);
        } else if ((reason = accept_seconds(cfg, seconds, detail, sizeof detail)) != REJECT_NONE) {
            m->report->reused -= (uint64_t)reused;
            rc = stage_reject(m->stage, i, reason, detail, err);
        } else
            m->counts[entry] = 1;
    }
    return rc;
}

int mel_stage_open(MelStage **out, Stage *s, StageReport *report, Err *err)
{
    double start = clock_now();
    size_t count = s->dataset->count;
    int threads = s->workers > 0 ? s->workers : 1, present = 0;
    MelStage *m = *out = mem_calloc(1, sizeof *m);
    if (!m)
        return err_set(err, ERR_NOMEM, "no memory for the mel stage");
    m->stage = s;
    m->report = report;
    m->settings = mel_settings_hash(s->cfg);
    m->threads = threads;
    m->slots = threads * SLOTS_PER_WORKER;
    int rc = hash_equal(m->settings, (Hash128){0, 0})
                 ? err_set(err, ERR_NOMEM, "no memory to hash the settings")
                 : 0;
    if (!rc)
        rc = stage_open_old(s, MEL_STORE, &m->old_store, &present, &m->damaged, report, err);
    if (!rc) {
        m->old = present ? &m->old_store : NULL;
        rc = store_build_open(&m->build, s->dir, MEL_STORE, m->old, m->settings, err);
    }
    if (!rc) {
        m->plan = mem_calloc(count, sizeof *m->plan);
        m->work = mem_calloc(count, sizeof *m->work);
        rc = m->plan && m->work ? make_plan(m, err)
                                : err_set(err, ERR_NOMEM, "no memory for %zu utterances", count);
    }
    if (!rc && m->work_count > 0)
        rc = preflight(m, s->workers, err);
    report->seconds += clock_now() - start;
    return rc;
}

/* Utterances whose text was rejected in the meantime need no mel. */
static void drop_rejected(MelStage *m)
{
    size_t kept = 0;
    for (size_t k = 0; k < m->work_count; k++) {
        uint32_t i = m->work[k];
        if (m->stage->reason[i] == REJECT_NONE)
            m->work[kept++] = i;
        else
            m->plan[i].from = FROM_NOWHERE;
    }
    m->work_count = kept;
}

int mel_stage_run(MelStage *m, Err *err)
{
    double start = clock_now();
    Stage *s = m->stage;
    Buf blob = {0};
    int rc = 0;
    drop_rejected(m);
    if (m->work_count > 0) {
        rc = open_workers(m, err);
        if (!rc) {
            OrderedJob job = {
                .name = "mel", .items = m->work_count, .workers = s->workers, .slots = m->slots, .user = m};
            job.work = work;
            job.finish = finish;
            progress_begin(&m->progress, s->log, "mel", "clips", m->work_count);
            rc = ordered_run(&job, err);
            progress_end(&m->progress);
        }
        close_workers(m);
    }
    if (!rc)
        rc = place_reused(m, err);
    if (!rc)
        rc = pass_on_rejections(m, err);
    if (!rc)
        rc = finish_blob(m, &blob, err);
    if (!rc)
        rc = store_build_commit(m->build, blob.data, blob.size, m->report->damaged > 0, err);
    buf_free(&blob);
    m->report->seconds += clock_now() - start;
    return rc;
}

void mel_stage_close(MelStage *m)
{
    if (!m)
        return;
    store_build_close(m->build);
    store_close(&m->old_store);
    free(m->damaged);
    free(m->plan);
    free(m->counts);
    free(m->work);
    free(m);
}
