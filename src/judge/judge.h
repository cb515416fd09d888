/* judge.h - how many words of a text a recogniser gets wrong in speech that was made from it.
 * Loss, length and alignment do not tell whether speech can be understood; a recogniser does. The recogniser
 * itself makes many errors, so a share of wrong words means something only beside that of the recordings of
 * the same sentences, or of the same voice some steps earlier. */
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
    const char *said; /* the text, with numbers and signs spelled out (words.h) */
    char *heard;      /* result, malloc'd: the recogniser's words */
    int words, wrong; /* result: words of the text; words substituted, left out and added */
} JudgeClip;

/* Fills the results of one clip. heard is scratch memory, reused from call to call. Errors: those of
 * recogniser_listen and words_wrong; the results are then empty. Threads: as recogniser_listen. */
int judge_clip(JudgeClip *clip, Recogniser *r, Buf *heard, Err *err);

/* Fills the results of all clips, in `threads` threads (at least 1), each with its own recogniser. The
 * results do not depend on the number of threads. Old results are overwritten, not freed. Errors: those of
 * recogniser_open, and those of judge_clip with the number of the clip (from 1); all results
 * are then empty. */
int judge_clips(JudgeClip *clips, int n, const char *language, int threads, Err *err);
void judge_clips_clear(JudgeClip *clips, int n); /* frees the results, keeps sound and text */
/* Frees results, sound, text and the array itself, all of which must be malloc'd. NULL is allowed. */
void judge_clips_free(JudgeClip *clips, int n);

typedef struct WordScore {
    int words, wrong;
    double share; /* wrong / words, may exceed 1; `wrong` if there are no words */
} WordScore;
WordScore judge_score(const JudgeClip *clips, int n);

/* Share of a - share of b in percentage points, where clip i of both is the same sentence. low .. high is the
 * 95 % interval of a bootstrap over sentences (10,000 draws with a fixed seed); if it does not contain 0, the
 * difference is significant. All are 0 for n < 1. */
typedef struct WordDifference {
    double points, low, high;
} WordDifference;
WordDifference judge_difference(const JudgeClip *a, const JudgeClip *b, int n);

#endif
