/* sound_format.c - the table of kinds, and what the library at hand can do. */
#include "audio/sound_format.h"

#include <sndfile.h>
#include <stdio.h>
#include <string.h>

#include "audio/aac_encoder.h"
#include "base/err.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))
/* Names of libsndfile 1.1 (MP3) and 1.0.29 (Opus), as numbers: an older library says that it cannot. */
enum { MP3 = 0x230000 | 0x0082, OGG_OPUS = SF_FORMAT_OGG | 0x0064 };

const SoundFormatRow sound_formats[SOUND_FORMATS] = {
    [SOUND_WAV] = {"wav", "audio/wav", ".wav", {0, 0}},
    [SOUND_PCM] = {"pcm", "audio/pcm", NULL, {0, 0}},
    [SOUND_FLAC] = {"flac", "audio/flac", ".flac", {SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 0}},
    [SOUND_OPUS] = {"opus", "audio/ogg", NULL, {OGG_OPUS, 0}},
    [SOUND_OGG] = {"ogg", NULL, ".ogg", {SF_FORMAT_OGG | SF_FORMAT_VORBIS, OGG_OPUS}},
    [SOUND_MP3] = {"mp3", "audio/mpeg", ".mp3", {MP3, 0}},
    [SOUND_AAC] = {"aac", "audio/aac", NULL, {0, 0}},
};

/* libsndfile itself says so only when a file is opened. */
static int holds(int codec, int rate)
{
    SF_INFO info = {.samplerate = rate, .channels = 1, .format = codec};
    const char *rates = codec == OGG_OPUS ? " 8000 12000 16000 24000 48000 "
                        : codec == MP3    ? " 8000 11025 12000 16000 22050 24000 32000 44100 48000 "
                                          : NULL;
    char wanted[16];
    snprintf(wanted, sizeof wanted, " %d ", rate);
    return sf_format_check(&info) && (!rates || strstr(rates, wanted));
}

int sound_format_codec(SoundFormat f, int rate)
{
    const int *codec = sound_formats[f].codec;
    for (int i = 0; i < COUNT(sound_formats[f].codec) && codec[i]; i++)
        if (holds(codec[i], rate))
            return codec[i];
    return 0;
}

int sound_format_rate(SoundFormat f, int rate)
{
    static const int usual[] = {8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000};
    int found = 0;
    if (f == SOUND_AAC)
        return aac_encoder_is_here() ? aac_encoder_rate(rate) : 0;
    if (!sound_formats[f].codec[0] || sound_format_codec(f, rate))
        return rate;
    for (int i = 0; i < COUNT(usual) && found < rate; i++)
        if (sound_format_codec(f, usual[i]))
            found = usual[i];
    return found;
}

int sound_format_find(SoundFormat *f, const char *name)
{
    for (int i = 0; i < SOUND_FORMATS; i++)
        if (sound_formats[i].type && strcmp(sound_formats[i].name, name) == 0 &&
            sound_format_rate((SoundFormat)i, 48000)) {
            *f = (SoundFormat)i;
            return 0;
        }
    return ERR_MISSING;
}
