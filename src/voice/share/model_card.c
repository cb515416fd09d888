/* model_card.c - see model_card.h. */
#include "voice/share/model_card.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "voice/best_note.h"

#define TITLE "# Model card of %s"

static void add(Buf *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(Buf *out, const char *format, ...)
{
    char line[1024];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    buf_add(out, line, n < (int)sizeof line ? (size_t)n : sizeof line - 1);
}

/* A text of somebody else's: its line breaks would look like ours. */
static void add_item(Buf *out, const char *name, const char *text)
{
    add(out, "* %s: ", name);
    const size_t at = out->size;
    buf_str(out, text);
    for (size_t i = at; i < out->size; i++)
        if ((unsigned char)out->data[i] < ' ')
            out->data[i] = ' ';
    buf_str(out, "\n");
}

static void add_voice(Buf *out, const PiperVoice *p)
{
    add(out, TITLE "\n\n* Language: %s%s%s%s\n", p->name, p->code, *p->language ? " (" : "", p->language,
        *p->language ? ")" : "");
    add(out, "* Speakers: %d\n", p->speaker_count > 1 ? p->speaker_count : 1);
    for (int i = 0; i < p->speaker_count && p->speaker_count > 1; i++) {
        char number[24];
        snprintf(number, sizeof number, "speaker %d", i);
        add_item(out, number, p->voice->speakers[p->speakers[i]]);
    }
    add(out, "* Quality: %s\n* Sample rate: %d Hz\n* Phonemes: espeak-ng, voice %s\n", p->quality,
        p->voice->cfg.sample_rate, p->espeak);
}

static void add_data(Buf *out, const PiperVoice *p)
{
    const CheckpointData *d = &p->voice->data;
    buf_str(out, "\n## Recordings\n\n");
    add_item(out, "Source", p->credits->source);
    add_item(out, "Licence", p->credits->licence);
    if (p->credits->note)
        add_item(out, "Note", p->credits->note);
    if (d->seconds > 0)
        add(out, "* Speech: %.1f minutes\n", (double)d->seconds / 60);
    if (d->clips > 0)
        add(out, "* Clips: %lld, and %lld that were held out\n", (long long)d->clips,
            (long long)d->validation_clips);
}

/* What it began with has owners too. */
static void add_base(Buf *out, const Checkpoint *voice)
{
    const char *text = checkpoint_text(voice, "base");
    json_t *base = text && *text ? json_loads(text, 0, NULL) : NULL;
    static const char *const keys[][2] = {{"name", "Started from the voice"},
                                          {"licence", "Licence of that voice"},
                                          {"source", "Source of that voice"},
                                          {"note", "Note of that voice"}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (*json_get_text(base, keys[i][0]))
            add_item(out, keys[i][1], json_get_text(base, keys[i][0]));
    json_decref(base);
}

static void add_training(Buf *out, const Checkpoint *voice, const Checkpoint *vocoder)
{
    buf_str(out, "\n## Training\n\n* Program: myxtts\n");
    add(out, "* Steps: %lld of the voice, %lld of the vocoder\n", (long long)voice->content.state.step,
        (long long)vocoder->content.state.step);
    add_base(out, voice);
}

static void add_judged(Buf *out, const Checkpoint *voice)
{
    Judged best = {0};
    char why[400];
    checkpoint_why(voice, &best, why, sizeof why);
    buf_str(out, "\n## Judged\n\n");
    add(out, "* %s\n", *why ? why : "Its file does not say how it was judged.");
    if (best.words > 0)
        add(out, "* Words wrong, of %lld that a recogniser listened to: %.1f %%\n", (long long)best.words,
            100.0 * (double)best.wrong / (double)best.words);
}

static void join(Buf *name, const char *path, const char *file)
{
    const char *slash = strrchr(path, '/');
    buf_add(name, path, slash ? (size_t)(slash - path) + 1 : 0);
    buf_str(name, file);
    buf_add(name, "", 1);
}

CardOwner model_card_look(const PiperVoice *p, const char *path)
{
    Buf card = {0}, tokens = {0};
    char title[200], line[200] = "";
    join(&card, path, "MODEL_CARD");
    join(&tokens, path, "tokens.txt");
    FILE *f = card.failed ? NULL : fopen(card.data, "r");
    const int is_titled = f && fgets(line, sizeof line, f);
    CardOwner owner = f ? CARD_OF_OTHERS : CARD_OF_NOBODY;
    snprintf(title, sizeof title, TITLE "\n", p->name);
    if (is_titled && strcmp(line, title) == 0)
        owner = CARD_OF_VOICE;
    else if (!tokens.failed && file_exists(tokens.data))
        owner = CARD_OF_OTHERS;
    if (f)
        fclose(f);
    buf_free(&card);
    buf_free(&tokens);
    return owner;
}

int model_card_write(const PiperVoice *p, const Checkpoint *vocoder, const char *path, Err *err)
{
    Buf name = {0}, text = {0};
    join(&name, path, "MODEL_CARD");
    add_voice(&text, p);
    add_data(&text, p);
    add_training(&text, p->voice, vocoder);
    add_judged(&text, p->voice);
    int rc = name.failed || text.failed ? err_set(err, ERR_NOMEM, "no memory for the model card of %s", path)
                                        : file_replace(name.data, text.data, text.size, err);
    buf_free(&name);
    buf_free(&text);
    return rc;
}
