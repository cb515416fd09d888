/* speak.c - the voice of a speaker, and clips of a corpus spoken from their texts. */
#include "voice/speak.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cache/features.h"

/* The tokens of an item of a corpus; returns how many, at most `most`. */
static int item_tokens(int32_t *out, const Corpus *c, uint32_t item, int most)
{
    StoreEntry e;
    TextView v;
    store_entry(&c->text, c->items[item].text_entry, &e);
    if (text_view(&v, &e))
        return 0;
    int n = (int)v.token_count < most ? (int)v.token_count : most;
    for (int i = 0; i < n; i++)
        out[i] = v.tokens[i];
    return n;
}

/* Every clip that is kept of the speaker is listened to. */
int speaker_voice(Synthesiser *s, float *voice, const VoiceClips *clips, int32_t speaker, int size, Err *err)
{
    float *one = mem_calloc((size_t)size, sizeof *one);
    int taken = 0, rc = one ? 0 : err_set(err, ERR_NOMEM, "no memory for a voice");
    memset(voice, 0, (size_t)size * sizeof *voice);
    for (int i = 0; i < clips->count && !rc; i++)
        if (clips->speaker[i] == speaker) {
            rc = synthesiser_listen(s, one,
                                    clips->mel + (size_t)i * (size_t)clips->frames * (size_t)clips->bands,
                                    clips->length[i], err);
            for (int k = 0; k < size && !rc; k++)
                voice[k] += one[k];
            taken++;
        }
    /* The mean of several clips is closer to the voice than any one of them. */
    for (int k = 0; k < size && taken; k++)
        voice[k] /= (float)taken;
    free(one);
    if (!rc && !taken)
        return err_set(err, ERR_MISSING, "there is no reference clip of speaker %d", speaker);
    return rc;
}

/* For validation: a clip is spoken in some voice rather than not at all. */
int speaker_voice_or_first(Synthesiser *s, float *voice, const VoiceClips *clips, int32_t speaker, int size,
                           Err *err)
{
    int rc = speaker_voice(s, voice, clips, speaker, size, err);
    if (rc != ERR_MISSING || !clips->count)
        return rc;
    err_clear(err);
    return speaker_voice(s, voice, clips, clips->speaker[0], size, err);
}

/* Durations, pitch and energy are the network's own; of the clip only its text and its speaker are used. */
int speak_item(Synthesiser *s, Speech *out, const Config *cfg, const Corpus *c, uint32_t item,
               const VoiceClips *clips, Err *err)
{
    const int most = (int)c->lengths[item].tokens;
    int32_t *tokens = mem_calloc((size_t)most, sizeof *tokens);
    float *voice = mem_calloc((size_t)cfg->speaker_embedding_dim, sizeof *voice);
    int rc = tokens && voice ? 0 : err_set(err, ERR_NOMEM, "no memory to speak");
    memset(out, 0, sizeof *out);
    if (!rc && cfg->use_voice_conditioning)
        rc = speaker_voice_or_first(s, voice, clips, c->items[item].speaker, cfg->speaker_embedding_dim, err);
    SynthesisText text = {
        .tokens = tokens, .voice = voice, .language = c->language_number[c->items[item].language]};
    if (!rc)
        text.count = item_tokens(tokens, c, item, most);
    if (!rc && !text.count)
        rc = err_set(err, ERR_DAMAGED, "the text of a clip in the cache is damaged");
    if (!rc)
        rc = synthesiser_speak(s, out, &text, 1, err);
    free(tokens);
    free(voice);
    return rc;
}
