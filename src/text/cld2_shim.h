/* cld2_shim.h - Compact Language Detector 2 has only a C++ interface; this is the part we use, for C. */
#ifndef MYXTTS_CLD2_SHIM_H
#define MYXTTS_CLD2_SHIM_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct Cld2Guess {
    char code[8]; /* "en", "zh", "zh-Hant"; "" when there are fewer guesses */
    int percent;  /* share of the text */
} Cld2Guess;

/* The three likeliest languages of valid UTF-8, best first. Threads: any. */
void cld2_detect(Cld2Guess guess[3], const char *text, int n);

#ifdef __cplusplus
}
#endif

#endif
