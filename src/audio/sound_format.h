/* sound_format.h - the kinds of sound that can be written, for files (audio_writer.h) and for streams
 * (sound_encoder.h). What libsndfile encodes depends on how it was built; AAC
 * is libavcodec's. Threads: any. */
#ifndef MYXTTS_SOUND_FORMAT_H
#define MYXTTS_SOUND_FORMAT_H

typedef enum {
    SOUND_WAV,
    SOUND_PCM, /* the samples of a WAV without its header */
    SOUND_FLAC,
    SOUND_OPUS, /* in Ogg */
    SOUND_OGG,  /* Vorbis, or Opus; files alone */
    SOUND_MP3,
    SOUND_AAC, /* in ADTS (aac_encoder.h); streams alone */
    SOUND_FORMATS
} SoundFormat;

typedef struct SoundFormatRow {
    const char *name;   /* "wav", as requests name it */
    const char *type;   /* media type; NULL: not for streams */
    const char *ending; /* ".wav"; NULL: not for files */
    int codec[2];       /* of libsndfile: the first that can hold the rate; 0: none, or not by libsndfile */
} SoundFormatRow;
extern const SoundFormatRow sound_formats[SOUND_FORMATS];
#define SOUND_ENDINGS ".wav, .flac, .ogg, .mp3" /* those of the table, for messages */

/* 0, or ERR_MISSING: no stream has that name, or none can be written here. */
int sound_format_find(SoundFormat *f, const char *name);
static inline const char *sound_format_type(SoundFormat f) { return sound_formats[f].type; }

/* libsndfile's format that holds the rate; 0: none here does. */
int sound_format_codec(SoundFormat f, int rate);
/* The rate to resample to where the kind cannot hold this one: the next higher, or its highest. 0: the kind
 * cannot be written here. */
int sound_format_rate(SoundFormat f, int rate);

#endif
