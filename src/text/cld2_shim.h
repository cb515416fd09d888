/* cld2_shim.h - a C interface to the part of Compact Language Detector 2 (C++) that we use. */
#ifndef MYXTTS_CLD2_SHIM_H
#define MYXTTS_CLD2_SHIM_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct Cld2Guess {
    char code[8]; /* "en", "zh", "zh-Hant"; "" if there are fewer guesses */
    int percent;  /* of the text */
} Cld2Guess;

/* The three most likely languages of n bytes of valid UTF-8, best first. Threads: any. */
void cld2_detect(Cld2Guess guess[3], const char *text, int n);

/* 1: CLD2 calls its guess reliable, nearly all of the text is in it, and the text is much like what CLD2 has
 * learned the language from; code gets it. */
int cld2_sure(char code[8], const char *text, int n);

#ifdef __cplusplus
}
#endif

#endif
