/* sentences.c - see sentences.h. The lists are bytes of the program, as the pages are (page_files.c). */
#include "serve/record/sentences.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/utf8.h"
#include "config/languages.h"

#define LIST_BYTES(name) \
    __asm__(".pushsection .rodata\n" \
            ".local list_" #name "\n.local list_" #name "_end\n" \
            "list_" #name ":\n.incbin \"src/serve/sentences/" #name ".txt\"\n" \
            "list_" #name "_end:\n.byte 0\n.popsection\n"); \
    extern const char list_##name[] __attribute__((visibility("hidden"))); \
    extern const char list_##name##_end[] __attribute__((visibility("hidden")))

LIST_BYTES(en);
LIST_BYTES(de);
LIST_BYTES(fa);

#define LIST(name) \
    { \
#name, list_##name, list_##name##_end \
    }
static const struct {
    const char *language, *text, *end;
} lists[] = {LIST(en), LIST(de), LIST(fa)};
#define LISTS (sizeof lists / sizeof *lists)

#define FILE_BYTES ((size_t)8 << 20)

static int is_known(const Sentences *s, const Map *known, const char *text)
{
    uint32_t i;
    for (MapWalk w = map_walk(known, hash64(text, strlen(text))); map_next(&w, &i);)
        if (strcmp(s->texts[i], text) == 0)
            return 1;
    return 0;
}

static int take_line(Sentences *s, Map *known, const char *line, size_t n, size_t number, const char *name,
                     Err *err)
{
    while (n && strchr(" \t\r", line[n - 1]))
        n--;
    while (n && strchr(" \t", *line)) {
        line++;
        n--;
    }
    if (n == 0 || *line == '#')
        return 0;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)line[i] < ' ')
            return err_set(err, ERR_FORMAT, "%s, line %zu: a control character (%d)", name, number, line[i]);
    if (utf8_count(line, n) > SENTENCES_LONGEST)
        return err_set(err, ERR_FORMAT, "%s, line %zu: %zu characters, but a sentence may have at most %d",
                       name, number, utf8_count(line, n), SENTENCES_LONGEST);
    if (s->count == SENTENCES_MOST)
        return err_set(err, ERR_FORMAT, "%s has more than %d sentences", name, SENTENCES_MOST);
    char *text = block_strndup(&s->block, line, n);
    if (!text)
        return err_set(err, ERR_NOMEM, "no memory for the sentences of %s", name);
    if (is_known(s, known, text))
        return 0;
    s->texts[s->count] = text;
    return map_add(known, hash64(text, n), (uint32_t)s->count++);
}

static int take_text(Sentences *s, const char *text, size_t size, const char *name, Err *err)
{
    Map known = {0};
    size_t number = 0, at = size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    int rc = 0;
    if (utf8_valid(text, size) != size)
        return err_set(err, ERR_FORMAT, "%s is not UTF-8: byte %zu", name, utf8_valid(text, size));
    s->texts = mem_calloc(SENTENCES_MOST, sizeof *s->texts);
    if (!s->texts || map_reserve(&known, SENTENCES_MOST))
        rc = err_set(err, ERR_NOMEM, "no memory for the sentences of %s", name);
    while (!rc && at < size) {
        const char *end = memchr(text + at, '\n', size - at);
        const size_t n = end ? (size_t)(end - text) - at : size - at;
        rc = take_line(s, &known, text + at, n, ++number, name, err);
        at += n + 1;
    }
    map_free(&known);
    if (!rc && s->count == 0)
        rc = err_set(err, ERR_FORMAT, "%s has no sentences; write one on each line", name);
    return rc;
}

/* The list of a language, by its two letters. */
static int take_list(Sentences *s, const char *language, Err *err)
{
    const LanguageVariant *variant = language_variant(language);
    const char *primary = variant && variant->primary ? variant->primary : language;
    const size_t n = strcspn(primary, "-");
    for (size_t i = 0; i < LISTS; i++)
        if (strlen(lists[i].language) == n && memcmp(lists[i].language, primary, n) == 0)
            return take_text(s, lists[i].text, (size_t)(lists[i].end - lists[i].text), language, err);
    char names[64] = "";
    for (size_t i = 0; i < LISTS; i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? ", " : "",
                 lists[i].language);
    err_set(err, ERR_USAGE, "there is no built-in list of sentences for the language %s, only for %s",
            language, names);
    return err_hint(err, "use --sentences FILE, a file with one sentence a line");
}

int sentences_open(Sentences *s, const char *file, const char *language, Err *err)
{
    Buf text = {0};
    int rc;
    *s = (Sentences){0};
    if (file) {
        rc = file_read(&text, file, FILE_BYTES, err);
        if (!rc)
            rc = take_text(s, text.data ? text.data : "", text.size, file, err);
    } else {
        rc = take_list(s, language, err);
    }
    buf_free(&text);
    if (rc)
        sentences_close(s);
    return rc;
}

void sentences_close(Sentences *s)
{
    free(s->texts);
    block_free(&s->block);
    *s = (Sentences){0};
}
