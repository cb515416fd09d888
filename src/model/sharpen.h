/* sharpen.h - gives a mel its detail back. A network predicts the mean of many ways to say a sound, and in a
 * mean the formants are flatter than in any of them. What sets each band apart from the bands around it is
 * therefore amplified: x + amount (x - smooth(x)), where smooth is a Gaussian over the bands, which keeps
 * its weight at the edges. How much is measured on held-out clips (train/listen/manner.h). It is linear, so
 * one matrix describes it. Mels are normalised, as the network sees them. Threads: any. */
#ifndef MYXTTS_SHARPEN_H
#define MYXTTS_SHARPEN_H

#define SHARPEN_MOST 0.4 /* more was not listened to */

/* out [bands, bands]: row b holds what of each band goes into band b. amount 0 is the identity. */
void sharpen_matrix(float *out, int bands, double amount);
/* mel [frames, bands], in place; row [bands] is scratch. */
void sharpen_mel(float *mel, float *row, int frames, int bands, const float *matrix);

#endif
