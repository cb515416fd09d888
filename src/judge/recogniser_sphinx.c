/* recogniser_sphinx.c - PocketSphinx as a recogniser. The library is loaded when one is opened and is not
 * needed to build. The prototypes below are those of the two libraries' headers. */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "config/languages.h"
#include "judge/recogniser_kind.h"

/* ---- the library ---- */

/* As in err.h of sphinxbase 0.8+5prealpha and of PocketSphinx 5. */
enum { LEVEL_FATAL_OLD = 5, LEVEL_FATAL_NEW = 4 };

typedef struct Sphinx {
    void *(*init)(void *config);
    int (*free)(void *decoder);
    int (*start_stream)(void *decoder);
    int (*start_utt)(void *decoder);
    int (*process_raw)(void *decoder, const int16_t *samples, size_t n, int no_search, int full_utt);
    int (*end_utt)(void *decoder);
    const char *(*hyp)(void *decoder, int32_t *score);
    void (*set_callback)(void (*callback)(void *user, int level, const char *fmt, ...), void *user);
    void (*set_logfp)(FILE *file);
    int is_new; /* 5.x: has the second group below, else the first */
    const void *(*args)(void);
    void *(*cmd_ln_init)(void *config, const void *args, int32_t strict, ...);
    int (*cmd_ln_free)(void *config);
    void *(*config_init)(const void *args);
    int (*config_free)(void *config);
    const void *(*config_set_str)(void *config, const char *name, const char *value);
    const void *(*config_set_bool)(void *config, const char *name, int value);
} Sphinx;

typedef struct Listener {
    Sphinx sphinx;
    void *decoder;          /* NULL: it has given up */
    const int16_t *samples; /* [count] of the present clip */
    size_t count;
    const char *words; /* of the present clip, the library's */
    char model[PATH_MAX];
    char name[64];
} Listener;

/* Never unloaded: its log goes to a function of ours, which it keeps. */
static void *load_library(Err *err)
{
    const char *chosen = getenv("MYXTTS_POCKETSPHINX_LIBRARY");
    const char *const names[] = {chosen && *chosen ? chosen : "libpocketsphinx.so.3", "libpocketsphinx.so.5"};
    char why[300] = "";
    /* The name of the environment is final; otherwise the older version is tried first. */
    for (int i = 0; i < (chosen && *chosen ? 1 : 2); i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (library)
            return library;
        const char *said = dlerror();
        if (i == 0)
            snprintf(why, sizeof why, "%s", said ? said : names[i]);
    }
    err_set(err, ERR_MISSING, "the words cannot be judged: PocketSphinx is not installed (%s)", why);
    err_hint(err, "Debian and Ubuntu: apt-get install libpocketsphinx3 pocketsphinx-en-us");
    return NULL;
}

/* The symbols of sphinxbase are found through the library that needs it. */
static int find_symbols(Sphinx *s, void *library, Err *err)
{
    s->is_new = dlsym(library, "ps_config_init") != NULL;
    const struct {
        const char *name;
        void *place; /* of a function pointer */
        int is_in;   /* 1: old, 2: new, 3: both */
    } symbols[] = {
        {"ps_init", &s->init, 3},
        {"ps_free", &s->free, 3},
        {"ps_start_stream", &s->start_stream, 3}, /* not in 0.8, whose ps_start_utt is another */
        {"ps_start_utt", &s->start_utt, 3},
        {"ps_process_raw", &s->process_raw, 3},
        {"ps_end_utt", &s->end_utt, 3},
        {"ps_get_hyp", &s->hyp, 3},
        {"err_set_callback", &s->set_callback, 3},
        {"err_set_logfp", &s->set_logfp, 3},
        {"ps_args", &s->args, 1},
        {"cmd_ln_init", &s->cmd_ln_init, 1},
        {"cmd_ln_free_r", &s->cmd_ln_free, 1},
        {"ps_config_init", &s->config_init, 2},
        {"ps_config_free", &s->config_free, 2},
        {"ps_config_set_str", &s->config_set_str, 2},
        {"ps_config_set_bool", &s->config_set_bool, 2},
    };
    /* Only what this version has. */
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        if (!(symbols[i].is_in & (s->is_new ? 2 : 1)))
            continue;
        void *symbol = dlsym(library, symbols[i].name);
        if (!symbol) {
            err_set(err, ERR_MISSING, "the words cannot be judged: the installed PocketSphinx has no %s",
                    symbols[i].name);
            err_hint(err, "versions 0.8+5prealpha and 5 are supported");
            return ERR_MISSING;
        }
        memcpy(symbols[i].place, &symbol, sizeof symbol);
    }
    return 0;
}

/* ---- when the library gives up ---- */

/* Its log comes here instead of stderr. After a message of the level "fatal" it would call exit(): a training
 * must not end because a model is damaged, so the thread jumps back to where it called the library from. What
 * the library had allocated is lost then. */
typedef struct Guard {
    jmp_buf place;
    char said[300]; /* the last error */
} Guard;

static _Thread_local Guard *guard; /* of the call this thread is in */

/* The library's log levels differ between versions; user points to the fatal one. */
static void take_message(void *user, int level, const char *fmt, ...)
{
    int fatal = *(const int *)user;
    if (!guard || level < fatal - 1)
        return;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(guard->said, sizeof guard->said, fmt, ap);
    va_end(ap);
    guard->said[strcspn(guard->said, "\n")] = 0;
    if (level >= fatal)
        longjmp(guard->place, 1);
}

/* Negative also when the library wanted to end the process. */
static int call_guarded(Guard *g, int (*call)(Listener *r), Listener *r)
{
    g->said[0] = 0;
    guard = g;
    if (setjmp(g->place)) {
        guard = NULL;
        return -1;
    }
    int rc = call(r);
    guard = NULL;
    return rc;
}

/* ---- opening ---- */

/* All three parts must be readable: the library gives up on a model that is only half there. */
static int is_model(const char *dir)
{
    static const char *const files[] = {"en-us/mdef", "en-us.lm.bin", "cmudict-en-us.dict"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[PATH_MAX];
        if (snprintf(path, sizeof path, "%s/%s", dir, files[i]) >= (int)sizeof path ||
            access(path, R_OK) != 0)
            return 0;
    }
    return 1;
}

/* share/pocketsphinx/en-us beside the folder of the program; "" when that cannot be told. */
static void bundle_model(char *out, size_t cap)
{
    char folder[PATH_MAX];
    if (file_own_folder(folder, sizeof folder, 1) ||
        snprintf(out, cap, "%s/share/pocketsphinx/en-us", folder) >= (int)cap)
        *out = 0;
}

/* The environment, the bundle, the usual places. */
static int find_model(char *out, size_t cap, Err *err)
{
    const char *chosen = getenv("MYXTTS_POCKETSPHINX_MODEL");
    if (chosen && *chosen) {
        if (snprintf(out, cap, "%s", chosen) < (int)cap && is_model(out))
            return 0;
        err_set(err, ERR_MISSING,
                "the words cannot be judged: %.300s (MYXTTS_POCKETSPHINX_MODEL) is not a folder with en-us/, "
                "en-us.lm.bin and cmudict-en-us.dict",
                chosen);
        err_hint(err, "unset it to use the model that is installed");
        return ERR_MISSING;
    }
    /* The bundle first: it brings the model it was tested with. */
    static const char *const places[] = {"", "/usr/share/pocketsphinx/model/en-us",
                                         "/usr/local/share/pocketsphinx/model/en-us"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (i == 0)
            bundle_model(out, cap);
        else
            snprintf(out, cap, "%s", places[i]);
        if (is_model(out))
            return 0;
    }
    err_set(err, ERR_MISSING, "the words cannot be judged: the English model of PocketSphinx is not in %s",
            places[1]);
    err_hint(err, "Debian and Ubuntu: apt-get install pocketsphinx-en-us; elsewhere name its folder in %s",
             "MYXTTS_POCKETSPHINX_MODEL");
    return ERR_MISSING;
}

/* The decoder keeps a reference to the configuration. remove_noise is on by default in 0.8 and by 5's own
 * model, but not by 5 with Debian's model. */
static int init_decoder(Listener *r)
{
    Sphinx *s = &r->sphinx;
    char hmm[PATH_MAX + 32], lm[PATH_MAX + 32], dict[PATH_MAX + 32];
    snprintf(hmm, sizeof hmm, "%s/en-us", r->model);
    snprintf(lm, sizeof lm, "%s/en-us.lm.bin", r->model);
    snprintf(dict, sizeof dict, "%s/cmudict-en-us.dict", r->model);
    void *config;
    if (s->is_new) {
        config = s->config_init(NULL);
        if (!config)
            return -1;
        s->config_set_str(config, "hmm", hmm);
        s->config_set_str(config, "lm", lm);
        s->config_set_str(config, "dict", dict);
        s->config_set_bool(config, "remove_noise", 1);
    } else {
        config = s->cmd_ln_init(NULL, s->args(), 1, "-hmm", hmm, "-lm", lm, "-dict", dict, "-remove_noise",
                                "yes", (char *)NULL);
        if (!config)
            return -1;
    }
    r->decoder = s->init(config);
    if (s->is_new)
        s->config_free(config);
    else
        s->cmd_ln_free(config);
    return r->decoder ? 0 : -1;
}

/* One at a time in the process: reading numbers, sphinxbase uses memory that all threads share (dtoa.c). */
static int open_decoder(Listener *r, Err *err)
{
    static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
    static const int fatal_old = LEVEL_FATAL_OLD, fatal_new = LEVEL_FATAL_NEW;
    Guard g;
    pthread_mutex_lock(&opening);
    r->sphinx.set_callback(take_message, (void *)(uintptr_t)(r->sphinx.is_new ? &fatal_new : &fatal_old));
    r->sphinx.set_logfp(NULL); /* 0.8 writes its table of settings there, past the callback */
    int rc = call_guarded(&g, init_decoder, r);
    pthread_mutex_unlock(&opening);
    if (!rc)
        return 0;
    err_set(err, ERR_FORMAT, "PocketSphinx cannot use its model in %s: %s", r->model,
            g.said[0] ? g.said : "no reason given");
    err_hint(err, "install it again (Debian and Ubuntu: apt-get install --reinstall pocketsphinx-en-us)");
    return ERR_FORMAT;
}

static void sphinx_close(void *own)
{
    Listener *r = own;
    if (r && r->decoder)
        r->sphinx.free(r->decoder);
    free(r);
}

static int sphinx_knows(const char *code)
{
    const Language *known = language_find(code);
    return known && known->is_heard;
}

/* Library, model, decoder: the first that is missing is named. */
static int sphinx_open(void **out, Err *err)
{
    *out = NULL;
    Listener *r = mem_calloc(1, sizeof *r);
    if (!r)
        return err_set(err, ERR_NOMEM, "no memory for a recogniser");
    void *library = load_library(err);
    int rc = library ? find_symbols(&r->sphinx, library, err) : ERR_MISSING;
    if (!rc)
        rc = find_model(r->model, sizeof r->model, err);
    if (!rc)
        rc = open_decoder(r, err);
    if (rc) {
        sphinx_close(r);
        return rc;
    }
    snprintf(r->name, sizeof r->name, "PocketSphinx %s, en-us", r->sphinx.is_new ? "5" : "0.8+5prealpha");
    *out = r;
    return 0;
}

static const char *sphinx_name(const void *own) { return ((const Listener *)own)->name; }

/* The whole clip in one call: the means of the cepstra are taken of this clip alone. A new stream forgets the
 * noise that was estimated in the clip before; in 5.x it returns -1 if there is no such estimate. */
static int hear(Listener *r)
{
    Sphinx *s = &r->sphinx;
    r->words = NULL;
    s->start_stream(r->decoder);
    if (s->start_utt(r->decoder) < 0)
        return -1;
    int rc = s->process_raw(r->decoder, r->samples, r->count, 0, 1);
    if (s->end_utt(r->decoder) < 0 || rc < 0)
        return -1;
    int32_t score;
    r->words = s->hyp(r->decoder, &score);
    return 0;
}

static int sphinx_listen(void *own, const char **words, const int16_t *samples, size_t count, Err *err)
{
    Listener *r = own;
    Guard g;
    if (!r->decoder)
        return err_set(err, ERR_WORKER, "PocketSphinx failed on an earlier clip");
    r->samples = samples;
    r->count = count;
    if (call_guarded(&g, hear, r)) {
        r->decoder = NULL; /* in no state to be used or freed */
        return err_set(err, ERR_WORKER, "PocketSphinx failed on a clip of %.1f s: %s",
                       (double)(count - 2 * RECOGNISER_MARGIN) / RECOGNISER_RATE,
                       g.said[0] ? g.said : "no reason given");
    }
    *words = r->words;
    return 0;
}

const RecogniserKind recogniser_sphinx = {.title = "PocketSphinx",
                                          .languages = "English (en)",
                                          .knows = sphinx_knows,
                                          .open = sphinx_open,
                                          .close = sphinx_close,
                                          .name = sphinx_name,
                                          .listen = sphinx_listen};
