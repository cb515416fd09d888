/* corpus_files.c - see corpus_files.h. */
#include "corpus/corpus_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audio/wav.h"
#include "base/file.h"
#include "base/progress.h"
#include "corpus/recording.h"

#define MARK "made-by-corpus" /* a folder that holds it is this command's own */

static int no_memory(Err *err) { return err_set(err, ERR_NOMEM, "no memory for a file of the corpus"); }

static int path_exists(const char *dir, const char *name)
{
    char *path = file_join(dir, name);
    int there = path && file_exists(path);
    free(path);
    return there;
}

/* Removes the files of a folder, which has no folders in it. */
static int empty_folder(const char *path, Err *err)
{
    DIR *d = opendir(path);
    if (!d)
        return errno == ENOENT ? 0 : err_set_errno(err, ERR_IO, "%s", path);
    int rc = 0;
    for (const struct dirent *e = readdir(d); e && !rc; e = readdir(d))
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && unlinkat(dirfd(d), e->d_name, 0))
            rc = err_set_errno(err, ERR_IO, "%s/%s cannot be removed", path, e->d_name);
    closedir(d);
    return rc;
}

/* metadata.csv goes first, so that at no moment it names what is not there. */
static int remove_old(const char *dir, Err *err)
{
    static const char *const names[] = {"metadata.csv", "sentences.tsv", "rejected.tsv", "report.html"};
    int rc = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names && !rc; i++) {
        char *path = file_join(dir, names[i]);
        if (!path)
            return no_memory(err);
        if (unlink(path) && errno != ENOENT)
            rc = err_set_errno(err, ERR_IO, "%s cannot be removed", path);
        free(path);
    }
    char *wavs = file_join(dir, "wavs");
    if (!wavs)
        return no_memory(err);
    if (!rc)
        rc = empty_folder(wavs, err);
    free(wavs);
    return rc;
}

int corpus_folder_begin(const char *dir, Err *err)
{
    if (!path_exists(dir, MARK) && (path_exists(dir, "metadata.csv") || path_exists(dir, "wavs"))) {
        err_set(err, ERR_USAGE, "%s has a corpus that this command did not write", dir);
        return err_hint(err, "choose another folder with --output; nothing was changed");
    }
    char *mark = file_join(dir, MARK), *wavs = file_join(dir, "wavs");
    int rc = mark && wavs ? file_make_dirs(dir, err) : no_memory(err);
    if (!rc)
        rc = file_replace(mark, "myxtts corpus\n", 14, err);
    if (!rc)
        rc = remove_old(dir, err);
    if (!rc)
        rc = file_make_dirs(wavs, err);
    free(mark);
    free(wavs);
    return rc;
}

static int write_file(const char *dir, const char *name, const Buf *b, Err *err)
{
    char *path = b->failed ? NULL : file_join(dir, name);
    int rc = path ? file_replace(path, b->data ? b->data : "", b->size, err) : no_memory(err);
    free(path);
    return rc;
}

/* Name of the recording, and seconds in it. */
static void add_place(Buf *b, const Listening *l, int64_t begin, int64_t end)
{
    const ListenedFile *f = listening_file_of(l, begin / 2);
    buf_printf(b, "%s\t%.2f\t%.2f", f->path ? f->path : "", (double)(begin - 2 * f->first) / LISTEN_LEVEL_HZ,
               (double)(end - 2 * f->first) / LISTEN_LEVEL_HZ);
}

int corpus_write_lists(const CorpusFiles *f, Err *err)
{
    Buf b = {0};
    buf_str(&b, "recording\tbegin\tend\treason\twhy\tscore\tline\ttext\n");
    for (int i = 0; i < f->cuts->reject_count; i++) {
        const CutReject *r = &f->cuts->rejects[i];
        if (r->end > r->begin)
            add_place(&b, f->listening, r->begin, r->end);
        else
            buf_str(&b, "\t\t");
        buf_printf(&b, "\t%s\t%s\t", cut_reason_code(r->reason), cut_reason_text(r->reason));
        if (r->unit >= 0 && r->end > r->begin)
            buf_printf(&b, "%.2f", (double)r->score);
        if (r->unit >= 0)
            buf_printf(&b, "\t%d\t%s\n", f->book->units[r->unit].line, f->book->units[r->unit].text);
        else
            buf_str(&b, "\t\t\n");
    }
    int rc = write_file(f->dir, "rejected.tsv", &b, err);
    buf_clear(&b);
    buf_str(&b, "recording\tbegin\tend\tscore\tworst\tclip\tline\ttext\n");
    for (int i = 0; f->track && i < f->track->count; i++) {
        const TrackedUnit *u = &f->track->units[i];
        const int clip = f->cuts->clip_of[i];
        add_place(&b, f->listening, u->begin, u->end);
        buf_printf(&b, "\t%.2f\t%.2f\t%s\t%d\t%s\n", (double)u->score, (double)u->worst,
                   clip >= 0 ? f->cuts->clips[clip].id : "", f->book->units[u->unit].line,
                   f->book->units[u->unit].text);
    }
    if (!rc && f->track)
        rc = write_file(f->dir, "sentences.tsv", &b, err);
    buf_free(&b);
    return rc;
}

/* --- sound --- */

typedef struct Writing {
    const CorpusFiles *f;
    int clip, piece; /* the next ones */
    int64_t at;      /* samples of the recording that were read */
    float *samples;  /* of the clip so far */
    size_t cap;
    int64_t count;
    Progress *progress;
} Writing;

/* Without fsync: metadata.csv names the clips when all are on disk. */
static int write_clip(Writing *w, int rate, Err *err)
{
    char name[128];
    Buf bytes = {0};
    snprintf(name, sizeof name, "wavs/%s.wav", w->f->cuts->clips[w->clip].id);
    char *path = file_join(w->f->dir, name);
    int rc = path ? wav_bytes(&bytes, w->samples, w->count, rate, err) : no_memory(err);
    int fd = rc ? -1 : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (!rc && fd < 0)
        rc = err_set_errno(err, ERR_IO, "%s", path);
    if (!rc)
        rc = file_write_all(fd, bytes.data, bytes.size, path, err);
    if (fd >= 0 && close(fd) && !rc)
        rc = err_set_errno(err, ERR_IO, "%s", path);
    buf_free(&bytes);
    free(path);
    w->count = 0;
    w->piece = 0;
    w->clip++;
    progress_add(w->progress, 1);
    return rc;
}

/* Takes from n samples of the recording what belongs to clips. */
static int take_samples(Writing *w, const ListenedFile *file, const float *samples, int64_t n, Err *err)
{
    const Cuts *c = w->f->cuts;
    int rc = 0;
    while (!rc && w->clip < c->clip_count && c->clips[w->clip].file == file) {
        const CutClip *clip = &c->clips[w->clip];
        const CutPiece *p = &c->pieces[clip->first_piece + w->piece];
        const int64_t first = (p->begin - 2 * file->first) * file->rate / LISTEN_LEVEL_HZ,
                      last = (p->end - 2 * file->first) * file->rate / LISTEN_LEVEL_HZ;
        const int64_t from = first > w->at ? first : w->at, to = last < w->at + n ? last : w->at + n;
        if (to > from) {
            if (mem_grow(&w->samples, &w->cap, (size_t)(w->count + to - from), sizeof *w->samples))
                return no_memory(err);
            memcpy(w->samples + w->count, samples + (from - w->at), (size_t)(to - from) * sizeof *samples);
            w->count += to - from;
        }
        if (last > w->at + n)
            break;
        if (++w->piece == clip->pieces)
            rc = write_clip(w, file->rate, err);
    }
    w->at += n;
    return rc;
}

int corpus_write_clips(const CorpusFiles *f, Log *log, Err *err)
{
    Progress progress;
    Writing w = {.f = f, .progress = &progress};
    int rc = 0;
    progress_begin(&progress, log, "clips are written", "clips", (uint64_t)f->cuts->clip_count);
    for (int i = 0; i < f->listening->file_count && !rc; i++) {
        const ListenedFile *file = &f->listening->files[i];
        Recording *r = NULL;
        const float *samples;
        int64_t n = 1;
        rc = recording_open(&r, file->path, err);
        w.at = 0;
        while (!rc && n > 0) {
            recording_next(r, &samples, &n);
            rc = take_samples(&w, file, samples, n, err);
        }
        if (!rc && w.clip < f->cuts->clip_count && f->cuts->clips[w.clip].file == file) {
            if (w.count > 0) /* the last piece ends with the recording */
                rc = write_clip(&w, file->rate, err);
            if (!rc && w.clip < f->cuts->clip_count && f->cuts->clips[w.clip].file == file)
                rc = err_set(err, ERR_IO, "%s is shorter now than when it was first read", file->path);
        }
        recording_close(r);
    }
    progress_end(&progress);
    free(w.samples);
    if (!rc)
        sync();
    return rc;
}

int corpus_write_metadata(const CorpusFiles *f, Err *err)
{
    Buf b = {0};
    for (int i = 0; i < f->cuts->clip_count; i++)
        buf_printf(&b, "%s|%s\n", f->cuts->clips[i].id, f->cuts->clips[i].text);
    int rc = write_file(f->dir, "metadata.csv", &b, err);
    buf_free(&b);
    return rc;
}
