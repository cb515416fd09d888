/* manner.c - see manner.h. */
#include "train/listen/manner.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

#define FEW_CLIPS 3
#define FEW_SYMBOLS 3 /* a rarer symbol lasts as long as symbols do on average */
/* How many clips say as much as the belief that lengths are right. Of one person's voice, which was 6 % off,
 * a clip told it within a tenth by its recording's length, within 4 % by what is usual. */
#define DOUBT 2.0
#define DOUBT_USUAL 0.5
#define MOST_PACE 1.25  /* and as much less */
#define MOST_SPREAD 1.6 /* at least 1: no voice is made flatter */
#define LONGEST_LOG 7.6 /* of a duration, in frames: what a broken network may ask for at most */

int usual_lengths_open(UsualLengths *u, int symbols, Err *err)
{
    *u = (UsualLengths){.frames = mem_calloc(2 * (size_t)symbols, sizeof *u->frames)};
    if (!u->frames)
        return err_set(err, ERR_NOMEM, "no memory for the lengths of %d symbols", symbols);
    u->count = u->frames + symbols;
    return 0;
}

void usual_lengths_close(UsualLengths *u)
{
    free(u->frames);
    *u = (UsualLengths){0};
}

/* The silence at both ends, which the first and the last symbol have, says nothing about the pace. */
int usual_lengths_add(void *arg, const ClipAlignment *clip, Err *err)
{
    UsualLengths *u = arg;
    for (int t = 1; t < clip->text - 1; t++) {
        u->frames[clip->tokens[t]] += clip->durations[t];
        u->count[clip->tokens[t]]++;
        u->all_frames += clip->durations[t];
        u->all++;
    }
    return 0;
}

static double usual_length(const UsualLengths *u, int32_t token)
{
    return u->count[token] >= FEW_SYMBOLS ? u->frames[token] / u->count[token] : u->all_frames / u->all;
}

/* Squares of the distance from the mean, weighted by frames. stride: numbers from one symbol's pitch to the
 * next. */
static double strays(const float *pitch, int stride, const int32_t *frames, int n)
{
    double weight = 0, mean = 0, sum = 0;
    for (int t = 0; t < n; t++) {
        weight += frames[t];
        mean += frames[t] * (double)pitch[t * stride];
    }
    mean = weight > 0 ? mean / weight : 0;
    for (int t = 0; t < n; t++)
        sum += frames[t] * pow((double)pitch[t * stride] - mean, 2);
    return sum;
}

static int usual_is_known(const MannerSums *s) { return s->usual && s->usual->all > 0; }

void manner_add(MannerSums *s, const EngineLook *clip)
{
    if (!clip->text || !clip->durations)
        return;
    s->clips++;
    const int known = usual_is_known(s);
    for (int t = 1; t < clip->text - 1; t++) {
        s->frames += known ? usual_length(s->usual, clip->tokens[t]) : clip->durations[t];
        s->predicted_frames +=
            fmax(1, exp(fmin((double)clip->traits[t * TRAIT_COUNT + TRAIT_DURATION], LONGEST_LOG)));
    }
    s->pitch += strays(clip->pitch, 1, clip->durations, clip->text);
    s->predicted_pitch += strays(clip->traits + TRAIT_PITCH, TRAIT_COUNT, clip->durations, clip->text);
}

void manner_measure(const MannerSums *s, Manner *out)
{
    out->pace = out->spread = 1;
    if (s->clips < FEW_CLIPS)
        return;
    const double longer = s->frames / s->predicted_frames, wider = sqrt(s->pitch / s->predicted_pitch);
    /* Of a few texts the voice may say some just right. */
    const double doubt = usual_is_known(s) ? DOUBT_USUAL : DOUBT;
    if (isfinite(longer))
        out->pace = 1 + (fmin(fmax(longer, 1 / MOST_PACE), MOST_PACE) - 1) * s->clips / (s->clips + doubt);
    if (isfinite(wider))
        out->spread = fmin(fmax(wider, 1), MOST_SPREAD);
}
