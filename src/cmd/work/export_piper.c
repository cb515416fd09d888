/* export_piper.c - see export_piper.h. */
#include "cmd/work/export_piper.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "voice/share/model_card.h"
#include "voice/share/piper_voice.h"
#include "voice/voice_language.h"

/* tokens.txt and MODEL_CARD have no name of their own: the card says whose they are. */
static int check_folder(const PiperVoice *p, const char *path, int overwrite, Err *err)
{
    if (overwrite || model_card_look(p, path) != CARD_OF_OTHERS)
        return 0;
    err_set(err, ERR_USAGE, "the folder of %s has a tokens.txt or a MODEL_CARD of another voice", path);
    return err_hint(err, "give each voice a folder of its own, or replace them with --overwrite");
}

static void warn(const PiperVoice *p, Log *log)
{
    if (!p->is_usual)
        log_warn(log,
                 "NVDA's add-on does not accept a voice called %s; Piper, sherpa-onnx and Home Assistant, "
                 "which lists "
                 "it as %s, do\n  hint: use %s-%s-%s.onnx: language, a name of letters, quality (x_low, low, "
                 "medium or high)",
                 p->name, p->name, p->code, "anna", p->quality);
    if (*p->voice->cfg.lexicon_text)
        log_warn(log, "the lexicon of %s is not exported: these programs say its words as espeak-ng does",
                 p->voice->path);
}

/* A voice of several languages speaks the one that is wished, else that of its settings. */
static int choose_language(Checkpoint *voice, Log *log, Err *err)
{
    char code[LANGUAGE_MAX];
    int rc = voice_language_check(voice, &(LanguageWish){0}, NULL, 0, log, err);
    if (rc == ERR_LANGUAGE)
        err_hint(err, "--language names one that it speaks");
    voice_language_column(code, voice, NULL);
    if (!rc && *code)
        snprintf(voice->language, sizeof voice->language, "%s", code);
    return rc;
}

/* What is there before anything is written: speakers, language, name, folder. *speakers is malloc'd. */
static int prepare(PiperVoice *p, Checkpoint *voice, int **speakers, const OnnxOptions *o, int overwrite,
                   Log *log, Err *err)
{
    const int count = onnx_speakers(NULL, voice);
    *speakers = mem_calloc((size_t)count + 1, sizeof **speakers);
    int rc = *speakers ? choose_language(voice, log, err)
                       : err_set(err, ERR_NOMEM, "no memory for %d speakers", count);
    if (rc)
        return rc;
    onnx_speakers(*speakers, voice);
    rc = piper_voice_open(p, o->output, voice, &o->credits, *speakers, count, err);
    return rc ? rc : check_folder(p, o->output, overwrite, err);
}

int export_piper_check(const OnnxOptions *o, int overwrite, Err *err)
{
    PiperVoice p;
    Checkpoint voice = *o->voice;
    int *speakers;
    int rc = prepare(&p, &voice, &speakers, o, overwrite, NULL, err);
    free(speakers);
    return rc;
}

int export_piper(Exported *made, const OnnxOptions *o, int overwrite, Log *log, Err *err)
{
    PiperVoice p;
    Checkpoint voice = *o->voice; /* a view, with a language of its own */
    OnnxOptions options = *o;
    int *speakers;
    options.voice = &voice;
    int rc = prepare(&p, &voice, &speakers, o, overwrite, log, err);
    if (!rc) {
        warn(&p, log);
        options.front = ONNX_PIPER;
        options.entries = p.entries;
        options.entry_count = PIPER_ENTRIES;
        rc = onnx_export(made, &options, err);
    }
    if (!rc)
        rc = piper_voice_write(&p, o->output, err);
    if (!rc)
        rc = model_card_write(&p, o->vocoder, o->output, err);
    free(speakers);
    return rc;
}
