/* recorder.c - see recorder.h. */
#include "serve/record/recorder.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/plural.h"
#include "base/utf8.h"
#include "serve/recorder_private.h"

#define LOCK_NAME ".recording.lock"
#define WAV_BYTES (WAV_HEADER_BYTES + (size_t)(TAKE_MAX_SECONDS * TAKE_MAX_RATE * 2))

char *recorder_path(const Recorder *r, const char *id, const char *ending)
{
    Buf name = {0};
    buf_printf(&name, "%s/%s%s", r->folder, id, ending);
    if (name.failed)
        buf_free(&name);
    return name.data;
}

/* ---- open and close ---- */

static int take_lock(Recorder *r, Err *err)
{
    long holder = 0;
    char *path = file_join(r->folder, LOCK_NAME);
    int rc = path ? file_lock(&r->only, path, 0, &holder, err)
                  : err_set(err, ERR_NOMEM, "no memory for a path in %s", r->folder);
    free(path);
    if (rc == ERR_STOPPED)
        rc = err_set(err, ERR_BUSY, "process %ld is recording into %s already", holder, r->folder);
    return rc;
}

/* A word that a shell takes as it stands. */
static void add_word(Buf *out, const char *word)
{
    if (strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-") == strlen(word)) {
        buf_str(out, word);
        return;
    }
    buf_str(out, "'");
    for (const char *p = word; *p; p++)
        if (*p == '\'')
            buf_str(out, "'\\''");
        else
            buf_add(out, p, 1);
    buf_str(out, "'");
}

/* What to type when there is enough. English is what a training takes a text for. */
static int make_command(Recorder *r, const char *language, Err *err)
{
    Buf text = {0};
    buf_str(&text, "myxtts train ");
    add_word(&text, r->folder);
    if (strcmp(language, "en") != 0) {
        buf_str(&text, " --language ");
        add_word(&text, language);
    }
    buf_str(&text, " --minutes 10");
    r->command = text.data;
    return text.failed ? err_set(err, ERR_NOMEM, "no memory for a command") : 0;
}

static void say_state(Recorder *r)
{
    log_info(r->log, "recording into %s: %zu of %zu sentences, %.1f minutes", r->folder, r->done,
             r->sentences.count, (r->seconds + r->other_seconds) / 60);
    if (r->others)
        log_info(r->log, "  %zu other recording%s there, which stay%s as %s", r->others, plural(r->others),
                 r->others == 1 ? "s" : "", r->others == 1 ? "it is" : "they are");
}

static void say_enough(Recorder *r)
{
    if (r->enough || r->seconds + r->other_seconds < RECORDER_WANTED_SECONDS)
        return;
    r->enough = 1;
    log_info(r->log, "%.1f minutes are enough to start: %s", (r->seconds + r->other_seconds) / 60,
             r->command);
}

int recorder_open(Recorder **out, const char *folder, const char *sentences, const char *language, Log *log,
                  Err *err)
{
    *out = NULL;
    Recorder *r = mem_calloc(1, sizeof *r);
    if (!r)
        return err_set(err, ERR_NOMEM, "no memory for recordings");
    pthread_mutex_init(&r->lock, NULL);
    r->log = log;
    r->folder = strdup(folder);
    r->language = strdup(language);
    int rc = r->folder && r->language ? sentences_open(&r->sentences, sentences, language, err)
                                      : err_set(err, ERR_NOMEM, "no memory for recordings");
    if (!rc)
        rc = file_make_dirs(folder, err);
    if (!rc)
        rc = take_lock(r, err);
    if (!rc)
        rc = make_command(r, language, err);
    if (!rc)
        rc = recorder_scan(r, err);
    if (rc) {
        recorder_close(r);
        return rc;
    }
    say_state(r);
    say_enough(r);
    *out = r;
    return 0;
}

void recorder_close(Recorder *r)
{
    if (!r)
        return;
    file_unlock(&r->only);
    sentences_close(&r->sentences);
    block_free(&r->names);
    pthread_mutex_destroy(&r->lock);
    free(r->items);
    free(r->folder);
    free(r->language);
    free(r->command);
    free(r);
}

/* ---- what there is ---- */

static json_t *item_of(const Recorder *r, size_t i)
{
    const RecorderItem *k = &r->items[i];
    return json_pack("{s:s, s:s, s:o, s:o}", "id", k->id, "text", r->sentences.texts[i], "seconds",
                     k->seconds > 0 ? json_real(k->seconds) : json_null(), "findings",
                     take_findings(k->findings));
}

/* Under the lock. */
static json_t *progress_of(const Recorder *r)
{
    const char *next = NULL;
    for (size_t i = 0; i < r->sentences.count && !next; i++)
        if (r->items[i].seconds <= 0)
            next = r->items[i].id;
    return json_pack("{s:I, s:I, s:f, s:f, s:s?, s:o}", "done", (json_int_t)r->done, "count",
                     (json_int_t)r->sentences.count, "seconds", r->seconds + r->other_seconds,
                     "wanted_seconds", RECORDER_WANTED_SECONDS, "next", next, "command",
                     json_from_text(r->command));
}

json_t *recorder_progress(Recorder *r)
{
    pthread_mutex_lock(&r->lock);
    json_t *o = progress_of(r);
    pthread_mutex_unlock(&r->lock);
    return o;
}

json_t *recorder_list(Recorder *r)
{
    pthread_mutex_lock(&r->lock);
    json_t *o = progress_of(r), *list = json_array();
    int failed = !o || !list;
    for (size_t i = 0; i < r->sentences.count && !failed; i++)
        failed = json_array_append_new(list, item_of(r, i));
    pthread_mutex_unlock(&r->lock);
    if (failed || json_object_set_new(o, "folder", json_from_text(r->folder)) ||
        json_object_set_new(o, "others", json_integer((json_int_t)r->others)) ||
        json_object_set(o, "sentences", list)) {
        json_decref(o);
        o = NULL;
    }
    json_decref(list);
    return o;
}

static int find(const Recorder *r, size_t *at, const char *id, Err *err)
{
    for (size_t i = 0; i < r->sentences.count; i++)
        if (strcmp(r->items[i].id, id) == 0) {
            *at = i;
            return 0;
        }
    return err_set(err, ERR_MISSING, "there is no sentence with this ID");
}

int recorder_read(Recorder *r, Buf *wav, const char *id, Err *err)
{
    size_t i = 0;
    pthread_mutex_lock(&r->lock);
    int rc = find(r, &i, id, err);
    if (!rc && r->items[i].seconds <= 0)
        rc = err_set(err, ERR_MISSING, "this sentence has not been recorded yet");
    pthread_mutex_unlock(&r->lock);
    char *path = rc ? NULL : recorder_path(r, r->items[i].id, ".wav");
    if (!rc)
        rc = path ? file_read(wav, path, WAV_BYTES, err) : err_set(err, ERR_NOMEM, "no memory for a path");
    free(path);
    return rc;
}

/* ---- what changes ---- */

/* 1: the text is on the disk as it should be, 0: there is none. It may have been corrected meanwhile. */
static int has_text(const char *path, const Buf *text, const char *id, Err *err)
{
    Buf there = {0};
    if (!file_exists(path))
        return 0;
    int rc = file_read(&there, path, text->size + 64, err);
    while (there.size && strchr("\r\n\t ", there.data[there.size - 1]))
        there.size--;
    if (rc == ERR_FORMAT ||
        (!rc && (there.size != text->size - 1 || memcmp(there.data, text->data, there.size) != 0)))
        rc = err_set(err, ERR_USAGE, "%s.txt has been changed: start the server again", id);
    buf_free(&there);
    return rc ? rc : 1;
}

/* The text, if it is not there already; then the sound, which makes it a pair. Under the lock. */
static int write_pair(const Recorder *r, size_t i, const Take *take, Err *err)
{
    Buf text = {0}, wav = {0};
    char *text_path = recorder_path(r, r->items[i].id, ".txt"),
         *wav_path = recorder_path(r, r->items[i].id, ".wav");
    int rc = 0;
    buf_printf(&text, "%s\n", r->sentences.texts[i]);
    take_wav(take, &wav);
    if (!text_path || !wav_path || text.failed || wav.failed)
        rc = err_set(err, ERR_NOMEM, "no memory to write a recording");
    const int has = rc ? rc : has_text(text_path, &text, r->items[i].id, err);
    rc = has < 0 ? has : 0;
    if (!rc && !has)
        rc = file_replace(text_path, text.data, text.size, err);
    if (!rc)
        rc = file_replace(wav_path, wav.data, wav.size, err);
    buf_free(&text);
    buf_free(&wav);
    free(text_path);
    free(wav_path);
    return rc;
}

static void count_take(Recorder *r, size_t i, double seconds, unsigned findings)
{
    RecorderItem *k = &r->items[i];
    r->seconds += seconds - k->seconds;
    if ((k->seconds > 0) != (seconds > 0))
        r->done = seconds > 0 ? r->done + 1 : r->done - 1;
    k->seconds = seconds;
    k->findings = findings;
}

int recorder_save(Recorder *r, Take *take, const char *id, const char *text, const void *wav, size_t size,
                  Err *err)
{
    size_t i = 0;
    int rc = find(r, &i, id, err); /* the list does not change while it is open */
    if (!rc && text && strcmp(text, r->sentences.texts[i]) != 0)
        rc = err_set(err, ERR_USAGE,
                     "sentence %s is different now, because the list has changed; reload the page", id);
    if (!rc)
        rc = take_read(take, wav, size, err);
    if (!rc)
        rc = take_measure(take, utf8_count(r->sentences.texts[i], strlen(r->sentences.texts[i])), err);
    if (!rc && (take->findings & TAKE_UNUSABLE))
        rc = err_set(err, ERR_DATA, "%s", take_message(take->findings & TAKE_UNUSABLE));
    if (rc)
        return rc;
    pthread_mutex_lock(&r->lock);
    rc = write_pair(r, i, take, err);
    if (!rc) {
        count_take(r, i, take->seconds, take->findings);
        say_enough(r);
    }
    pthread_mutex_unlock(&r->lock);
    return rc;
}

/* The sound first: a text without a recording is not a pair. Under the lock. */
static int remove_pair(const Recorder *r, size_t i, Err *err)
{
    static const char *const endings[] = {".wav", ".txt"};
    int rc = 0;
    for (int k = 0; k < 2 && !rc; k++) {
        char *path = recorder_path(r, r->items[i].id, endings[k]);
        if (!path)
            rc = err_set(err, ERR_NOMEM, "no memory for a path");
        else if (unlink(path) != 0 && errno != ENOENT)
            rc = err_set_errno(err, ERR_IO, "cannot remove %s", path);
        else
            rc = file_sync_dir_of(path, err);
        free(path);
    }
    return rc;
}

int recorder_remove(Recorder *r, const char *id, Err *err)
{
    size_t i = 0;
    int rc = find(r, &i, id, err);
    if (rc)
        return rc;
    pthread_mutex_lock(&r->lock);
    if (r->items[i].seconds <= 0)
        rc = err_set(err, ERR_MISSING, "this sentence has not been recorded yet");
    else
        rc = remove_pair(r, i, err);
    if (!rc)
        count_take(r, i, 0, 0);
    pthread_mutex_unlock(&r->lock);
    return rc;
}
