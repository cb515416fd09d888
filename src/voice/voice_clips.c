/* voice_clips.c - choosing the clips that stand for the speakers. */
#include "voice/voice_clips.h"

#include <stdlib.h>
#include <string.h>

#include "audio/normaliser.h"
#include "base/mem.h"
#include "cache/features.h"
#include "cache/half.h"

#define CLIPS_OF_ONE 4    /* clips kept of each speaker */
#define CLIPS_IN_ALL 64   /* when that gives more, one clip of each */
#define SPEAKERS_KEPT 256 /* that have clips at all */
#define CLIP_FRAMES 256

/* As the loader does it, so that a network hears the clips as it learned from them. */
int corpus_mel(float *out, const Corpus *corpus, uint32_t item, int most, Err *err)
{
    StoreEntry e;
    MelView v;
    store_entry(&corpus->mel, corpus->items[item].mel_entry, &e);
    if (!store_entry_whole(&corpus->mel, corpus->items[item].mel_entry) || mel_view(&v, &e))
        return err_set(err, ERR_DAMAGED, "the mel of %.*s in the cache is damaged", (int)e.id_size, e.id);
    int frames = (int)v.frames < most ? (int)v.frames : most;
    size_t n = (size_t)frames * v.bands;
    if (v.storage == STORE_FLOAT16)
        half_to_float(out, v.data, n);
    else
        memcpy(out, v.data, n * sizeof *out);
    float *statistics = mem_calloc(2 * (size_t)v.bands, sizeof *statistics);
    if (!statistics)
        return err_set(err, ERR_NOMEM, "no memory for the statistics of %u bands", v.bands);
    normaliser_statistics(statistics, statistics + v.bands, corpus->mean, corpus->deviation, (int)v.bands);
    normaliser_mel(out, out, statistics, statistics + v.bands, frames, (int)v.bands);
    free(statistics);
    return frames;
}

/* Room that is being filled. */
typedef struct Filling {
    float *mel;
    int32_t *length, *speaker;
    int count, bands;
} Filling;

/* Takes up to `each` clips of a speaker, spread evenly over all that there are. */
static int take_clips(Filling *f, const Corpus *corpus, int speaker, int each, Err *err)
{
    int64_t own = 0, seen = 0, taken = 0;
    for (uint32_t i = 0; i < corpus->count; i++)
        own += corpus->items[i].speaker == speaker;
    for (uint32_t i = 0; i < corpus->count && taken < each; i++) {
        if (corpus->items[i].speaker != speaker)
            continue;
        int early = seen * each < taken * own;
        seen++;
        if (early)
            continue;
        /* A damaged record is left out here; the loader reports it. */
        Err skipped = {0};
        float *mel = f->mel + (size_t)f->count * CLIP_FRAMES * (size_t)f->bands;
        int frames = corpus_mel(mel, corpus, i, CLIP_FRAMES, &skipped);
        /* Without memory the voice would lose a clip for good. */
        if (frames == ERR_NOMEM) {
            *err = skipped;
            return ERR_NOMEM;
        }
        if (frames <= 0)
            continue;
        f->length[f->count] = frames;
        f->speaker[f->count] = speaker;
        f->count++;
        taken++;
    }
    return 0;
}

/* Few speakers get several clips each, many get one: a checkpoint must not grow with the corpus. */
int voice_clips_open(VoiceClips *v, const Corpus *corpus, Err *err)
{
    int speakers = corpus->speaker_count < SPEAKERS_KEPT ? corpus->speaker_count : SPEAKERS_KEPT;
    int each = speakers * CLIPS_OF_ONE <= CLIPS_IN_ALL ? CLIPS_OF_ONE : 1;
    size_t most = (size_t)(speakers * each);
    Filling f = {.bands = (int)corpus->statistics.bands};
    f.mel = mem_calloc(most * CLIP_FRAMES * (size_t)f.bands, sizeof *f.mel);
    f.length = mem_calloc(most, sizeof *f.length);
    f.speaker = mem_calloc(most, sizeof *f.speaker);
    *v = (VoiceClips){.frames = CLIP_FRAMES,
                      .bands = f.bands,
                      .mel = f.mel,
                      .length = f.length,
                      .speaker = f.speaker,
                      .memory = {f.mel, f.length, f.speaker}};
    if (!f.mel || !f.length || !f.speaker) {
        voice_clips_close(v);
        return err_set(err, ERR_NOMEM, "no memory for clips of %d speakers", speakers);
    }
    int rc = 0;
    for (int s = 0; s < speakers && !rc; s++)
        rc = take_clips(&f, corpus, s, each, err);
    v->count = f.count;
    if (rc)
        voice_clips_close(v);
    return rc;
}

void voice_clips_close(VoiceClips *v)
{
    for (size_t i = 0; i < sizeof v->memory / sizeof *v->memory; i++)
        free(v->memory[i]);
    memset(v, 0, sizeof *v);
}
