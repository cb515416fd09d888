/* audio_damage.h - damage that decoders hide: they skip what they cannot read and go on, so that a clip comes
 * out shorter than its text, or with a hole. Everything here only looks at bytes. Threads: any. */
#ifndef MYXTTS_AUDIO_DAMAGE_H
#define MYXTTS_AUDIO_DAMAGE_H

#include <stddef.h>
#include <stdint.h>

/* What the first block of a FLAC file says. */
typedef struct FlacHeader {
    size_t length_at; /* offset of the five bytes that end with the number of samples */
    uint8_t length[5];
    int rate, channels, bits;
    uint64_t samples; /* 0: its writer could not know */
} FlacHeader;
/* head: the beginning of a file. 1 if it is a FLAC file (not FLAC in an OGG stream) with a whole header. */
int flac_header(FlacHeader *h, const uint8_t *head, size_t size);
/* The five bytes with the largest number of samples a header can hold. */
void flac_longest(uint8_t out[5], const FlacHeader *h);

/* An MP3 file that does not state its length: libsndfile would stop where a constant bit rate, that of its
 * first frame, would end. Returns the size of a frame in out that announces the true length, and where it
 * belongs: instead of the first *skip bytes. 0: not needed. */
#define MPEG_MAX_FRAME 1500
size_t mpeg_announcement(uint8_t out[MPEG_MAX_FRAME], size_t *skip, const uint8_t *bytes, size_t size);

/* A whole file. 1 and a sentence in why if it is a FLAC file whose frames contradict its header, an MP3 file
 * that ends too early, or an OGG stream with a page that is damaged or missing; else 0. */
int audio_damage(const uint8_t *bytes, size_t size, char *why, size_t cap);

#endif
