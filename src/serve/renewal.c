/* renewal.c - see renewal.h. */
#include "serve/renewal.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "voice/vocoder_file.h"

/* A voice and its vocoder on the disk; zeros: not there. */
typedef struct Files {
    FileStamp voice, vocoder;
} Files;

typedef struct Followed {
    StudioVoice from;
    char path[CHECKPOINT_PATH_SIZE], vocoder[CHECKPOINT_PATH_SIZE]; /* what was loaded; "": no vocoder */
    Files loaded, seen, refused;                                    /* seen: by the last look */
    int64_t step;
    long long since; /* seconds since 1970 */
    int is_current;  /* what was loaded is what is on the disk */
} Followed;

struct Renewal {
    Studio *studio;
    const Catalogue *catalogue;
    Log *log;
    pthread_mutex_t lock; /* of what renewal_json reads: path, step, since, is_current */
    Followed *voices;     /* [count] */
    int count;
};

/* The status of a file may change without its content, as when another name of it is removed. */
static int same_file(const FileStamp *a, const FileStamp *b)
{
    return a->size == b->size && a->mtime_ns == b->mtime_ns && a->inode == b->inode;
}

static int same_files(const Files *a, const Files *b)
{
    return same_file(&a->voice, &b->voice) && same_file(&a->vocoder, &b->vocoder);
}

/* The best in a folder, else the file that is known, else the newest step. */
static void look_into(FileStamp *now, const char *folder, const char *known)
{
    char path[CHECKPOINT_PATH_SIZE];
    char *best = file_join(folder, CHECKPOINT_BEST);
    if ((!best || file_stamp(now, best, NULL)) && (!*known || file_stamp(now, known, NULL)) &&
        checkpoint_newest(path, folder, NULL) == 0)
        file_stamp(now, path, NULL);
    free(best);
}

/* A vocoder may be trained while its voice is being served. */
static void look_at_vocoder(const Followed *f, FileStamp *now)
{
    char folder[CHECKPOINT_PATH_SIZE];
    const char *asked = f->from.vocoder;
    if (asked && strcmp(asked, VOCODER_NONE) == 0)
        return;
    const int inside = strcmp(f->vocoder, f->path) == 0;
    struct stat st;
    if (asked && stat(asked, &st) == 0 && S_ISDIR(st.st_mode))
        look_into(now, asked, f->vocoder);
    else if (!asked && !inside && vocoder_file_folder(folder, f->path, NULL) == 0)
        look_into(now, folder, f->vocoder);
    else if (*f->vocoder)
        file_stamp(now, f->vocoder, NULL);
}

/* A run that was opened before it had a best checkpoint may have one now. */
static void look_at(const Followed *f, Files *now)
{
    *now = (Files){0};
    char *best = file_join(f->from.checkpoint, CHECKPOINT_BEST);
    if (!best || file_stamp(&now->voice, best, NULL))
        file_stamp(&now->voice, f->path, NULL);
    free(best);
    look_at_vocoder(f, &now->vocoder);
}

/* Takes down what the studio has. */
static void note(Renewal *r, int i)
{
    Followed *f = &r->voices[i];
    const Voice *v = studio_voice(r->studio, i);
    const Checkpoint *file = voice_checkpoint(v), *vocoder = voice_vocoder(v);
    pthread_mutex_lock(&r->lock);
    snprintf(f->path, sizeof f->path, "%s", file->path);
    snprintf(f->vocoder, sizeof f->vocoder, "%s", vocoder ? vocoder->path : "");
    f->loaded = (Files){.voice = file->file.stamp};
    if (vocoder)
        f->loaded.vocoder = vocoder->file.stamp;
    else /* one that is there was looked at and not taken, as where Griffin-Lim sounds better */
        look_at_vocoder(f, &f->loaded.vocoder);
    f->step = file->content.state.step;
    f->since = (long long)time(NULL);
    f->is_current = 1;
    pthread_mutex_unlock(&r->lock);
    f->seen = f->refused = f->loaded;
}

int renewal_open(Renewal **out, Studio *studio, const Catalogue *catalogue, const StudioVoice *voices,
                 Log *log, Err *err)
{
    const int count = studio_voice_count(studio);
    Renewal *r = mem_calloc(1, sizeof *r);
    *out = r;
    if (r)
        r->voices = mem_calloc((size_t)count, sizeof *r->voices);
    if (!r || !r->voices) {
        free(r);
        *out = NULL;
        return err_set(err, ERR_NOMEM, "no memory for %d voices", count);
    }
    r->studio = studio;
    r->catalogue = catalogue;
    r->log = log;
    r->count = count;
    pthread_mutex_init(&r->lock, NULL);
    for (int i = 0; i < count; i++) {
        r->voices[i].from = voices[i];
        note(r, i);
    }
    return 0;
}

void renewal_close(Renewal *r)
{
    if (!r)
        return;
    pthread_mutex_destroy(&r->lock);
    free(r->voices);
    free(r);
}

static void set_current(Renewal *r, Followed *f, int is_current)
{
    pthread_mutex_lock(&r->lock);
    f->is_current = is_current;
    pthread_mutex_unlock(&r->lock);
}

static void take_over(Renewal *r, int i)
{
    Followed *f = &r->voices[i];
    const char *name = r->catalogue->names[i];
    const Files seen = f->seen;
    Err err = {0};
    f->refused = seen;
    if (studio_renew(r->studio, i, &f->from, &err)) {
        set_current(r, f, 0);
        log_warn(r->log, "voice %s: the new file cannot be used, so the loaded voice stays: %s", name,
                 err.msg);
        return;
    }
    note(r, i);
    f->refused = f->seen = seen; /* of a folder another file may have been taken */
    log_info(r->log, "voice %s: a new file is in use: %s, step %lld, sound by %s", name, f->path,
             (long long)f->step, *f->vocoder ? f->vocoder : "Griffin-Lim");
}

/* A file that differs from one look to the next is being written. */
void renewal_look(Renewal *r)
{
    studio_sweep(r->studio);
    for (int i = 0; i < r->count; i++) {
        Followed *f = &r->voices[i];
        Files now;
        look_at(f, &now);
        const int rests = same_files(&now, &f->seen);
        f->seen = now;
        if (same_files(&now, &f->loaded)) {
            set_current(r, f, 1);
            f->refused = now;
        } else if (rests && !same_files(&now, &f->refused)) {
            take_over(r, i);
        }
    }
}

/* Clients do not get paths of this machine; names of files are shown. */
json_t *renewal_json(Renewal *r)
{
    json_t *all = json_array();
    pthread_mutex_lock(&r->lock);
    for (int i = 0; i < r->count; i++) {
        const Followed *f = &r->voices[i];
        const char *slash = strrchr(f->path, '/');
        const time_t since = (time_t)f->since;
        struct tm utc;
        char when[40];
        strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&since, &utc));
        json_array_append_new(all, json_pack("{s:o, s:o, s:I, s:s, s:b}", "id",
                                             json_from_text(r->catalogue->names[i]), "file",
                                             json_from_text(slash ? slash + 1 : f->path), "step",
                                             (json_int_t)f->step, "since", when, "current", f->is_current));
    }
    pthread_mutex_unlock(&r->lock);
    return all;
}
