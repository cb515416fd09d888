/* lines.c - see lines.h. */
#include "dataset/lines.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "dataset/audio_endings.h"
#include "dataset/records.h"

/* ---- ids ---- */

/* The utterance that has the id already, or NULL. */
static const Utterance *find_id(const Map *ids, const Dataset *d, Str id)
{
    uint32_t i;
    for (MapWalk w = map_walk(ids, hash64(id.p, id.n)); map_next(&w, &i);)
        if (str_equal(d->utterances[i].id, id))
            return &d->utterances[i];
    return NULL;
}

/* Leaves off what means "here": "./" and the name of the audio folder. */
static Str strip_prefixes(Str id, const Lines *l)
{
    while (id.n > 2 && id.p[0] == '.' && id.p[1] == '/')
        id = (Str){id.p + 2, id.n - 2};
    for (int i = 0; i < 2; i++) {
        size_t n = l->prefix[i] ? strlen(l->prefix[i]) : 0;
        if (n && id.n > n && !memcmp(id.p, l->prefix[i], n))
            return (Str){id.p + n, id.n - (uint32_t)n};
    }
    return id;
}

/* A backslash counts as a separator, so that no system reads the id as more than this check did. */
const char *line_id_fault(Str id)
{
    for (uint32_t i = 0; i < id.n; i++) {
        if (!id.p[i])
            return "a NUL byte in the id";
        if ((uint8_t)id.p[i] < 0x20 || id.p[i] == 0x7F)
            return "a control character in the id";
    }
    char c = id.p[0];
    if (c == '/' || c == '\\')
        return "an absolute path";
    if (id.n > 1 && id.p[1] == ':' && ((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')))
        return "a drive letter";
    for (uint32_t i = 0, begin = 0; i <= id.n; i++) {
        if (i < id.n && id.p[i] != '/' && id.p[i] != '\\')
            continue;
        if (i - begin == 2 && id.p[begin] == '.' && id.p[begin + 1] == '.')
            return "`..` leads out of the folder";
        begin = i + 1;
    }
    return NULL;
}

Str line_id_of_path(const char *root, Str path)
{
    size_t n = strlen(root);
    Str id = path;
    if (n && id.n > n && !memcmp(id.p, root, n) && id.p[n] == '/')
        id = (Str){id.p + n, id.n - (uint32_t)n};
    for (int more = 1; more;) {
        uint32_t skip = id.n > 1 && id.p[0] == '/'            ? 1
                        : id.n > 2 && !memcmp(id.p, "./", 2)  ? 2
                        : id.n > 3 && !memcmp(id.p, "../", 3) ? 3
                                                              : 0;
        id = (Str){id.p + skip, id.n - skip};
        more = skip > 0;
    }
    id.n -= (uint32_t)audio_ending(id.p, id.n, NULL);
    return id;
}

/* ---- lines ---- */

/* An id that is not UTF-8 is not shown: it would spoil rejected.tsv. */
static int reject(Lines *l, Str id, uint32_t line, RejectReason reason, const char *detail)
{
    if (utf8_valid(id.p, id.n) < id.n)
        id = (Str){"", 0};
    return dataset_reject(l->d, id, line, l->file, reason, detail);
}

/* The first one counts; the message says where it is. */
static int reject_duplicate(Lines *l, const Line *line, Str id, const Utterance *first)
{
    char detail[320]; /* a file name has at most 255 bytes */
    uint32_t at;
    const char *path = dataset_place(l->d, first->file, first->line, &at), *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    if (l->d->sources)
        snprintf(detail, sizeof detail, "first in %.255s", path);
    else if (first->file == l->file)
        snprintf(detail, sizeof detail, "first on line %u", at);
    else
        snprintf(detail, sizeof detail, "first on line %u of %.255s", at, *name ? name : "the other file");
    return reject(l, id, line->line, REJECT_DUPLICATE_ID, detail);
}

int lines_reject(Lines *l, Str id, uint32_t line, RejectReason reason, const char *detail)
{
    l->d->lines++;
    return reject(l, id, line, reason, detail);
}

int lines_check_utf8(Lines *l, Str id, uint32_t line, Str bytes)
{
    char detail[160];
    size_t bad = utf8_valid(bytes.p, bytes.n);
    const char *nul = bytes.n ? memchr(bytes.p, 0, bytes.n) : NULL;
    if (bad < bytes.n)
        snprintf(detail, sizeof detail, "byte 0x%02X at offset %zu", (uint8_t)bytes.p[bad], bad);
    else if (nul)
        snprintf(detail, sizeof detail, "NUL byte at offset %zu", (size_t)(nul - bytes.p));
    else
        return 0;
    return lines_reject(l, id, line, REJECT_UTF8, detail) ? ERR_NOMEM : 1;
}

/* The first fault counts. */
int lines_add(Lines *l, const Line *line)
{
    ASSERT(l->file == 0 || l->file == 1);
    Dataset *d = l->d;
    if (!line->id.n)
        return lines_reject(l, line->id, line->line, REJECT_EMPTY_LINE_ID, "");
    if (utf8_valid(line->id.p, line->id.n) < line->id.n)
        return lines_reject(l, line->id, line->line, REJECT_UTF8, "the id is not UTF-8");
    const char *fault = line_id_fault(line->id);
    Str id = strip_prefixes(line->id, l);
    if (!fault)
        fault = line_id_fault(id); /* "wavs//etc/x" is absolute once the folder is left off */
    if (fault)
        return lines_reject(l, line->id, line->line, REJECT_UNSAFE_ID, fault);
    const Str values[] = {line->text, line->speaker, line->language};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        int bad = lines_check_utf8(l, id, line->line, values[i]);
        if (bad)
            return bad < 0 ? bad : 0;
    }
    if (!line->text.n)
        return lines_reject(l, id, line->line, REJECT_EMPTY_TEXT, "");
    d->lines++;
    const Utterance *first = find_id(l->ids, d, id);
    if (first)
        return reject_duplicate(l, line, id, first);
    if (map_add(l->ids, hash64(id.p, id.n), (uint32_t)d->count) ||
        mem_grow(&d->utterances, &d->cap, d->count + 1, sizeof *d->utterances))
        return ERR_NOMEM;
    d->utterances[d->count++] = (Utterance){.id = id,
                                            .text = line->text,
                                            .speaker = line->speaker,
                                            .language = line->language,
                                            .audio = line->audio,
                                            .line = line->line,
                                            .split = SPLIT_TRAIN,
                                            .file = (uint8_t)l->file};
    return 0;
}
