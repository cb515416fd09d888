/* words.c - see words.h. */
#include "base/words/words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/utf8.h"

#define LONGEST 2400 /* bytes of a sentence, with its values */

/* Around what replaces a conversion, until its direction and digits are known. */
#define NUMBER_BEGINS '\x01'
#define TEXT_BEGINS '\x02'
#define VALUE_ENDS '\x03'

#define ISOLATE "\u2068" /* the direction of its first letter */
#define LEFT_TO_RIGHT "\u2066"
#define ISOLATE_ENDS "\u2069"
#define DECIMAL_POINT "\u066B"

static const struct {
    const char *english, *persian;
} table[WORD_COUNT] = {
#define WORD(id, english, persian) [id] = {english, persian},
#define COUNTED(id, one, many, persian) [id##_ONE] = {one, persian}, [id] = {many, persian},
#include "base/words/table.h"
#undef WORD
#undef COUNTED
};

static Messages chosen = MESSAGES_ENGLISH;

void words_choose(Messages m) { chosen = m; }
Messages words_chosen(void) { return chosen; }

int words_find(const char *name)
{
    return strcmp(name, "en") == 0 ? MESSAGES_ENGLISH : strcmp(name, "fa") == 0 ? MESSAGES_PERSIAN : -1;
}

Messages words_of_environment(void)
{
    static const char *const names[] = {"LC_ALL", "LC_MESSAGES", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && *value) /* fa, fa_IR.UTF-8, fa@...; not fat */
            return strncmp(value, "fa", 2) == 0 && strchr("_.@", value[2]) ? MESSAGES_PERSIAN
                                                                           : MESSAGES_ENGLISH;
    }
    return MESSAGES_ENGLISH;
}

const char *word_in(Word w, Messages m)
{
    ASSERT(w < WORD_COUNT);
    return m == MESSAGES_PERSIAN ? table[w].persian : table[w].english;
}

const char *word(Word w) { return word_in(w, chosen); }

/* ---- Persian ---- */

typedef struct Text {
    char *p;
    size_t n, cap;
} Text;

static void put(Text *t, const char *s, size_t n)
{
    if (t->n + n >= t->cap)
        n = utf8_cut(s, n, t->cap - 1 - t->n);
    memcpy(t->p + t->n, s, n);
    t->n += n;
    t->p[t->n] = 0;
}

static void put_string(Text *t, const char *s) { put(t, s, strlen(s)); }

/* A format with marks around its conversions, and isolates around what is between backticks. */
static void mark_values(Text *t, const char *s)
{
    int code = 0;
    while (*s) {
        if (*s == '`') {
            code = !code;
            put_string(t, code ? LEFT_TO_RIGHT "`" : "`" ISOLATE_ENDS);
            s++;
        } else if (*s != '%' || s[1] == '%') {
            const size_t n = *s == '%' ? 2 : 1;
            put(t, s, n);
            s += n;
        } else {
            const size_t n = strcspn(s, "diufgeGEsx") + 1;
            put(t, (const char[]){s[n - 1] == 's' ? TEXT_BEGINS : NUMBER_BEGINS}, 1);
            put(t, s, n);
            put(t, (const char[]){VALUE_ENDS}, 1);
            s += n;
        }
    }
}

/* Digits of Persian, where it is a plain number. */
static void put_number(Text *t, const char *s, size_t n)
{
    const int plain = strspn(s, "0123456789.+- ") >= n;
    for (size_t i = 0; i < n; i++) {
        if (!plain || strchr("+- ", s[i])) {
            put(t, s + i, 1);
        } else if (s[i] == '.') {
            put_string(t, DECIMAL_POINT);
        } else {
            char digit[4];
            const size_t size = utf8_put(digit, 0x6F0u + (uint32_t)(s[i] - '0'));
            put(t, digit, size);
        }
    }
}

/* What was marked becomes isolated. */
static void isolate_values(Text *t, const char *s)
{
    while (*s) {
        const size_t plain = strcspn(s, "\x01\x02");
        put(t, s, plain);
        s += plain;
        if (!*s)
            return;
        const int number = *s++ == NUMBER_BEGINS;
        const size_t n = strcspn(s, "\x03");
        if (n) {
            put_string(t, ISOLATE);
            if (number)
                put_number(t, s, n);
            else
                put(t, s, n);
            put_string(t, ISOLATE_ENDS);
        }
        s += n + (s[n] == VALUE_ENDS);
    }
}

__attribute__((format(printf, 3, 0))) static void write_persian(char *out, size_t cap, const char *format,
                                                                va_list args)
{
    char marked[LONGEST] = "", values[LONGEST];
    Text t = {.p = marked, .cap = sizeof marked}, done = {.p = out, .cap = cap};
    mark_values(&t, format);
    vsnprintf(values, sizeof values, marked, args);
    out[0] = 0;
    isolate_values(&done, values);
}

/* ---- both ---- */

/* Ends the n bytes before a last character that is not whole. */
static void drop_half(char *out, size_t n)
{
    size_t last = n;
    while (last && utf8_continues(out[last - 1]))
        last--;
    last -= last > 0;
    if (utf8_valid(out + last, n - last) < n - last)
        out[last] = 0;
}

__attribute__((format(printf, 3, 0))) static void write_format(char *out, size_t cap, const char *format,
                                                               va_list args)
{
    if (chosen == MESSAGES_PERSIAN) {
        write_persian(out, cap, format, args);
    } else {
        const int n = vsnprintf(out, cap, format, args);
        if (n > 0 && (size_t)n >= cap)
            drop_half(out, cap - 1);
    }
}

void words_write(char *out, size_t cap, Word w, ...)
{
    va_list args;
    va_start(args, w);
    write_format(out, cap, word(w), args);
    va_end(args);
}

void words_append(char *out, size_t cap, Word w, ...)
{
    const size_t n = strlen(out);
    va_list args;
    va_start(args, w);
    write_format(out + n, cap - n, word(w), args);
    va_end(args);
}

void words_to_buf(Buf *b, Word w, ...)
{
    char text[LONGEST];
    va_list args;
    va_start(args, w);
    write_format(text, sizeof text, word(w), args);
    va_end(args);
    buf_str(b, text);
}

int words_are_persian(const char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s >= 0xD8 && (unsigned char)*s <= 0xDB)
            return 1;
    return 0;
}

/* Characters that a terminal gives a column of their own. */
static int columns_of(const char *s)
{
    int n = (int)utf8_count(s, strlen(s));
    for (; *s; s++)
        if (!strncmp(s, "\u200C", 3) || !strncmp(s, LEFT_TO_RIGHT, 3) || !strncmp(s, ISOLATE, 3) ||
            !strncmp(s, ISOLATE_ENDS, 3))
            n--;
    return n;
}

void words_column(Buf *b, const char *s, int columns)
{
    const int gap = abs(columns) - columns_of(s), left = columns < 0 && gap > 0 ? gap : 0;
    buf_printf(b, "%*s%s%*s", left, "", s, gap > left ? gap - left : 0, "");
}

void words_duration(char *out, size_t cap, double seconds)
{
    const long s = seconds > 0 ? (long)(fmin(seconds, 1e15) + 0.5) : 0; /* NaN too */
    if (s >= 3600)
        say(out, cap, SAY_HOURS_MINUTES, s / 3600, s / 60 % 60);
    else if (s >= 60)
        say(out, cap, SAY_MINUTES_SECONDS, s / 60, s % 60);
    else
        say(out, cap, SAY_ONLY_SECONDS, s);
}
