/* judge.h - how many words of a text are heard wrong in sound that was made from it.
 * Loss, length and alignment do not see whether speech can be understood; a recogniser does. Its own errors
 * are many, so a share of wrong words means something beside another of the same sentences: those of the
 * recordings, or of the voice some steps earlier. */
#ifndef MYXTTS_JUDGE_H
#define MYXTTS_JUDGE_H

#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "judge/recogniser.h"

typedef struct JudgeClip {
    const float *samples; /* [count], full scale at -1 and 1 */
    int64_t count;
    int rate;         /* Hz */
    const char *said; /* the text, spelled out (words.h) */
    char *heard;      /* result, malloc'd: what the recogniser understood */
    int words, wrong; /* result: words said; of them substituted, left out, and added to them */
} JudgeClip;

/* Fills the results of one clip; heard is scratch, kept from call to call. The errors of recogniser_listen
 * and words_wrong; the results are empty then. Threads: as recogniser_listen. */
int judge_clip(JudgeClip *clip, Recogniser *r, Buf *heard, Err *err);

/* All clips, on up to `threads` threads (1 for anything less) with a recogniser each; the results do not
 * depend on their number. The errors of recogniser_open, before anything is listened to; of judge_clip, with
 * the number of the clip (from 1); all results are empty then. Results that were there are overwritten, not
 * freed. */
int judge_clips(JudgeClip *clips, int n, const char *language, int threads, Err *err);
void judge_clips_clear(JudgeClip *clips, int n); /* frees and empties the results, keeps sound and text */
/* Frees results, sound, text and the array itself, all of which are malloc'd. NULL is fine. */
void judge_clips_free(JudgeClip *clips, int n);

typedef struct WordScore {
    int words, wrong;
    double share; /* wrong / words; may exceed 1. Of no words at all: wrong */
} WordScore;
WordScore judge_score(const JudgeClip *clips, int n);

/* a - b in percentage points, where clip i of both is the same sentence. low .. high is the 95 % interval of
 * a bootstrap over sentences (10,000 draws, always the same ones); a difference is sure when 0 lies outside.
 * All 0 for n < 1. */
typedef struct WordDifference {
    double points, low, high;
} WordDifference;
WordDifference judge_difference(const JudgeClip *a, const JudgeClip *b, int n);

#endif
