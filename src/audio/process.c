/* process.c - the chain of one clip: resampling by soxr, trimming, loudness. See process.h. */
#include "audio/process.h"

#include <math.h>
#include <soxr.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

struct AudioProcessor {
    int sample_rate, frame, hop;
    double trim_top_db, target_lufs;
    soxr_t resampler; /* for rate_in -> rate_out, kept while clips have the same rate */
    int rate_in, rate_out;
    float *resampled, *adjusted;
    size_t resampled_cap, adjusted_cap;
};

int audio_processor_open(AudioProcessor **out, const Config *cfg, Err *err)
{
    AudioProcessor *p = mem_calloc(1, sizeof *p);
    *out = p;
    if (!p)
        return err_set(err, ERR_NOMEM, "no memory for audio processing");
    p->sample_rate = cfg->sample_rate;
    p->frame = cfg->n_fft;
    p->hop = cfg->hop_length;
    p->trim_top_db = cfg->trim_top_db;
    p->target_lufs = cfg->target_loudness_lufs;
    return 0;
}

void audio_processor_close(AudioProcessor *p)
{
    if (!p)
        return;
    soxr_delete(p->resampler);
    free(p->resampled);
    free(p->adjusted);
    free(p);
}

/* The resampler for these rates, in its first state: nothing of the clip before is left in it. */
static int set_rates(AudioProcessor *p, int rate_in, int rate_out, Err *err)
{
    soxr_error_t failed = NULL;
    /* Most clips of a corpus have the same rate; clearing is much cheaper than making a new one. */
    if (p->resampler && p->rate_in == rate_in && p->rate_out == rate_out) {
        failed = soxr_clear(p->resampler);
    } else {
        soxr_io_spec_t io = soxr_io_spec(SOXR_FLOAT32_I, SOXR_FLOAT32_I);
        soxr_quality_spec_t quality = soxr_quality_spec(SOXR_HQ, 0);
        /* One thread: clips are worked on side by side already. */
        soxr_runtime_spec_t runtime = soxr_runtime_spec(1);
        soxr_delete(p->resampler);
        p->resampler = soxr_create(rate_in, rate_out, 1, &failed, &io, &quality, &runtime);
        p->rate_in = rate_in;
        p->rate_out = rate_out;
    }
    if (failed || !p->resampler) {
        soxr_delete(p->resampler);
        p->resampler = NULL;
        return err_set(err, ERR_NOMEM, "soxr cannot resample %d Hz to %d Hz: %s", rate_in, rate_out,
                       failed ? failed : "no memory");
    }
    return 0;
}

int audio_resample(AudioProcessor *p, const float **out, int64_t *n_out, const float *in, int64_t n,
                   int rate_in, int rate_out, Err *err)
{
    *out = in;
    *n_out = n;
    if (rate_in == rate_out || n == 0)
        return 0;
    int rc = set_rates(p, rate_in, rate_out, err);
    if (rc)
        return rc;
    /* As many as librosa gives. */
    size_t want = (size_t)ceil((double)n * rate_out / rate_in), have = 0, used = 0;
    if (want == 0)
        want = 1;
    if (mem_grow(&p->resampled, &p->resampled_cap, want, sizeof(float)))
        return err_set(err, ERR_NOMEM, "no memory for %zu samples", want);
    /* Without input soxr is told that the clip has ended, and gives what it still holds. */
    while (have < want) {
        size_t took = 0, gave = 0;
        int ended = used == (size_t)n;
        soxr_error_t failed = soxr_process(p->resampler, ended ? NULL : in + used, (size_t)n - used, &took,
                                           p->resampled + have, want - have, &gave);
        if (failed)
            return err_set(err, ERR_NOMEM, "soxr failed on %lld samples from %d Hz to %d Hz: %s",
                           (long long)n, rate_in, rate_out, failed);
        used += took;
        have += gave;
        if (ended && gave == 0)
            break;
    }
    /* soxr may give a sample less than asked for. */
    while (have < want)
        p->resampled[have++] = 0.0f;
    *out = p->resampled;
    *n_out = (int64_t)want;
    return 0;
}

RejectReason audio_process(AudioProcessor *p, const float **samples, int64_t *n, const AudioBuffer *in,
                           int trim, int loudness, char *detail, size_t cap)
{
    Err err;
    *samples = NULL;
    *n = 0;
    if (cap)
        detail[0] = 0;
    /* A file that holds no sound at all. */
    if (in->frames < 1 || in->rate < 1) {
        snprintf(detail, cap, "%lld samples at %d Hz", (long long)in->frames, in->rate);
        return REJECT_AUDIO_EMPTY;
    }
    const float *x;
    int64_t count;
    if (audio_resample(p, &x, &count, in->samples, in->frames, in->rate, p->sample_rate, &err)) {
        snprintf(detail, cap, "%s", err.msg);
        return err.code == ERR_NOMEM ? REJECT_NO_MEMORY : REJECT_AUDIO_UNREADABLE;
    }
    /* Silence before and after the speech. */
    if (trim) {
        int64_t first, last;
        double loudest = audio_trim_range(&first, &last, x, count, p->frame, p->hop, p->trim_top_db);
        if (!(loudest >= AUDIO_SILENCE_RMS)) {
            snprintf(detail, cap, "the loudest %d samples have an RMS of %.3g", p->frame, loudest);
            return REJECT_AUDIO_SILENT;
        }
        x += first;
        count = last - first;
    }
    /* A copy: the samples may still be those of the file. */
    if (loudness) {
        float gain = (float)audio_gain(x, count, p->sample_rate, p->target_lufs);
        if (isnan(gain) || mem_grow(&p->adjusted, &p->adjusted_cap, (size_t)count, sizeof(float))) {
            snprintf(detail, cap, "no memory for %lld samples", (long long)count);
            return REJECT_NO_MEMORY;
        }
        for (int64_t i = 0; i < count; i++) {
            float v = x[i] * gain;
            /* Only rounding of the gain can exceed 1. */
            if (v > 1.0f)
                v = 1.0f;
            if (v < -1.0f)
                v = -1.0f;
            p->adjusted[i] = v;
        }
        x = p->adjusted;
    }
    *samples = x;
    *n = count;
    return REJECT_NONE;
}
