/* griffin_lim_rule.h - what all Griffin-Lims here have in common: the one that makes sound from a mel alone
 * (griffin_lim.h), and the rounds after a vocoder, on the host and on a GPU (sound_refine in ops/ops.h).
 * For C and CUDA. */
#ifndef MYXTTS_GRIFFIN_LIM_RULE_H
#define MYXTTS_GRIFFIN_LIM_RULE_H

/* Of the fast algorithm (Perraudin, Balazs, Sondergaard 2013), in the form of librosa 0.11: the share of the
 * spectrum before that is taken from the present one, whose direction is then kept. */
#define GRIFFIN_LIM_MOMENTUM 0.99
#define GRIFFIN_LIM_SHARE (GRIFFIN_LIM_MOMENTUM / (1 + GRIFFIN_LIM_MOMENTUM))

/* A band of a log mel holds something where it is more than this above the logarithm of the floor, ... */
#define GRIFFIN_LIM_ABOVE_FLOOR 1e-4f
/* ... and at most so much: a sine at full scale is below 5 for any usual setting. */
#define GRIFFIN_LIM_LOUDEST 10.0f
/* Of the floor, in the other bands: they may hold anything up to it; this much, so that what comes out stays
 * below. */
#define GRIFFIN_LIM_BELOW_FLOOR 0.3f

#endif
