/* augmentations.h - THE list of augmentations, random changes of clips that make a small corpus larger. A
 * row of AUGMENTATIONS is:
 *   - its name and its setting, whose range is 0 (off) .. most, and the help of the setting;
 *   - what it changes: the mel, also one from the cache, or the recording, which has to be decoded for it;
 *   - neutral: the value that changes nothing, which every row of a batch has where the setting is 0;
 *   - how the value of a row is drawn, and a salt, which keeps its numbers apart from all others. Salt 0, the
 *     numbers of the clip itself, belongs to the first row;
 *   - which segments of a vocoder get it.
 * The field of Config, the option, the place in a batch, the drawing and the switches on host and GPU are
 * derived from the row. What it does to a value is in pipeline/preprocess_math.h, once for both. */
#ifndef MYXTTS_AUGMENTATIONS_H
#define MYXTTS_AUGMENTATIONS_H

#include <stdint.h>

#define AUGMENTATIONS(X) \
    X(GAIN, augment_gain_db, 24, OF_MEL, 0, DRAWN_FOR_CLIP, 0, SEGMENTS_ALL, \
      "Random gain of up to this many decibels, up or down; 0 is off.") \
    X(NOISE, augment_noise_db, 80, OF_MEL, 0, DRAWN_AS_SET, 0, SEGMENTS_NONE, \
      "White noise this many decibels below the clip; 0 is off.") \
    X(SPEED, augment_speed, 0.5, OF_RECORDING, 1, DRAWN_FOR_VOICE, 0x7370656564000000u, \
      SEGMENTS_OF_RECORDINGS, \
      "Random change of speed (and so of the pitch and timbre of the voice) by up to this share, the same " \
      "for all clips of a speaker in a batch; 0 is off.")

/* Places in the numbers drawn for a row of a batch; the last is a seed, as bits. */
#define AUGMENT_ID(name, ...) AUGMENT_##name,
enum { AUGMENTATIONS(AUGMENT_ID) AUGMENT_SEED, AUGMENT_COUNT };
#undef AUGMENT_ID

typedef enum { OF_MEL, OF_RECORDING } AugmentationOf;

typedef enum {
    DRAWN_AS_SET,   /* the setting itself */
    DRAWN_FOR_CLIP, /* neutral +- the setting, drawn for every clip in every epoch */
    /* The same for all clips of a speaker in a batch: what makes another voice of the clip must make the same
     * of the one that is its reference. A segment has none, but its own value. */
    DRAWN_FOR_VOICE
} AugmentationDrawn;

typedef enum {
    SEGMENTS_NONE,          /* what the mel says and what the samples sound like would differ */
    SEGMENTS_OF_RECORDINGS, /* not those that come with their mels */
    SEGMENTS_ALL
} AugmentationSegments;

typedef struct Augmentation {
    const char *key;
    AugmentationOf of;
    float neutral;
    AugmentationDrawn drawn;
    uint64_t salt;
    AugmentationSegments segments;
} Augmentation;

struct Config;

/* which: 0 .. AUGMENT_SEED - 1. */
const Augmentation *augmentation(int which);
double augmentation_setting(const struct Config *cfg, int which); /* 0: off */
void augmentations_on(int on[AUGMENT_SEED], const struct Config *cfg);
/* The key of the first that is on and changes recordings; NULL: none does. */
const char *augmentation_of_recordings(const struct Config *cfg);
void augmentations_turn_off(struct Config *cfg);

#endif
