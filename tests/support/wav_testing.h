/* wav_testing.h - WAV files that tests make themselves. */
#ifndef MYXTTS_WAV_TESTING_H
#define MYXTTS_WAV_TESTING_H

#include <stdint.h>

/* The header of a file with `bytes` of samples. format: 1 PCM, 3 float. */
void put_wav_header(uint8_t h[44], int format, int channels, int rate, int bits, uint32_t bytes);
/* A mono file of 16 bits: a rising tone with an overtone, higher for a higher kind. */
void write_sweep(const char *path, int kind, double seconds, int rate);

#endif
