/* option_value.c - converts one value of the option table from text to its field, with type and range
 * checked, and back. The type in the table decides what a text means, not its form: `no` is false for a
 * switch and a word for a string, `1e-4` is a number (for a YAML 1.1 reader it is a string), `010` is refused
 * because YAML 1.1 and 1.2 read it differently. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/utf8.h"
#include "config/option_table.h"

#define FIELD_AT(T, o, cfg) ((T *)(void *)((char *)(cfg) + (o)->offset))
#define FIELD_OF(T, o, cfg) ((T const *)(const void *)((const char *)(cfg) + (o)->offset))
#define MAX_DEVICE 63

/* ---- reading ---- */

int option_parse_bool(const char *s, int *out)
{
    static const struct {
        const char *word;
        int value;
    } words[] = {{"true", 1}, {"yes", 1}, {"on", 1}, {"1", 1}, {"false", 0}, {"no", 0}, {"off", 0}, {"0", 0}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcasecmp(words[i].word, s) == 0) {
            *out = words[i].value;
            return 1;
        }
    return 0;
}

#define QUOTE_LENGTH 60 /* bytes of a value that a message shows */

void option_quote(char *out, size_t cap, const char *s)
{
    char text[QUOTE_LENGTH + 4];
    utf8_show(text, sizeof text, s);
    snprintf(out, cap, "'%s'", text);
}

typedef enum { NUMBER_OK, NUMBER_NONE, NUMBER_LEADING_ZERO, NUMBER_NOT_FINITE } NumberKind;

/* Copies the number with Persian and Arabic digits, and their decimal mark, in ASCII: a value may come from a
 * text in these languages. What is too long is cut; it is no number then. */
static void to_ascii_digits(char *out, size_t cap, const char *s)
{
    size_t used = 0;
    while (*s && used + 1 < cap) {
        unsigned char a = (unsigned char)s[0], b = (unsigned char)s[1];
        char c = a == 0xDB && b >= 0xB0 && b <= 0xB9   ? (char)('0' + b - 0xB0)
                 : a == 0xD9 && b >= 0xA0 && b <= 0xA9 ? (char)('0' + b - 0xA0)
                 : a == 0xD9 && b == 0xAB              ? '.'
                                                       : 0;
        out[used++] = c ? c : *s;
        s += c ? 2 : 1;
    }
    out[used] = 0;
}

/* Decimal numbers only: sign, digits (with _ between them, as YAML 1.1 has it), fraction, exponent; blanks
 * around. */
static NumberKind parse_number(const char *written, double *out)
{
    char digits[64], plain[128];
    const char *s = plain;
    to_ascii_digits(plain, sizeof plain, written);
    size_t used = 0;
    int mantissa = 0, dot = 0, exponent = 0;

    /* Blanks around the number do not count. */
    while (*s == ' ')
        s++;
    size_t n = strlen(s);
    while (n > 0 && s[n - 1] == ' ')
        n--;
    if (n == 0 || n + 1 > sizeof digits)
        return NUMBER_NONE;
    const char *body = s + (*s == '-' || *s == '+');
    /* YAML writes .inf and .nan, C writes inf and nan: each is a number that no setting takes. */
    const char *word = body + (*body == '.');
    size_t word_length = n - (size_t)(word - s);
    if ((word_length == 3 && (strncasecmp(word, "inf", 3) == 0 || strncasecmp(word, "nan", 3) == 0)) ||
        (word_length == 8 && strncasecmp(word, "infinity", 8) == 0))
        return NUMBER_NOT_FINITE;
    /* 010 is 8 to some YAML readers and 10 to others. */
    if (n - (size_t)(body - s) >= 2 && body[0] == '0' && isdigit((unsigned char)body[1]))
        return NUMBER_LEADING_ZERO;
    /* strtod would also take hexadecimal numbers, so every character is looked at first. */
    for (size_t i = 0; i < n; i++) {
        char c = s[i];
        if (isdigit((unsigned char)c)) {
            mantissa += !exponent;
        } else if (c == '_' && i > 0 && isdigit((unsigned char)s[i - 1]) && i + 1 < n &&
                   isdigit((unsigned char)s[i + 1])) {
            continue;
        } else if (c == '.' && !dot && !exponent) {
            dot = 1;
        } else if ((c == 'e' || c == 'E') && mantissa && !exponent) {
            exponent = 1;
        } else if (!((c == '-' || c == '+') && (i == 0 || s[i - 1] == 'e' || s[i - 1] == 'E'))) {
            return NUMBER_NONE;
        }
        digits[used++] = c;
    }
    digits[used] = 0;
    char *end;
    double x = strtod(digits, &end);
    if (*end || !mantissa)
        return NUMBER_NONE;
    if (!isfinite(x))
        return NUMBER_NOT_FINITE;
    *out = x;
    return NUMBER_OK;
}

/* As few digits as read back to the same number: plain notation first, then scientific. */
void option_format_double(char *out, size_t cap, double x)
{
    for (int digits = 0; digits <= 6; digits++) {
        snprintf(out, cap, "%.*f", digits, x);
        if (strtod(out, NULL) == x)
            return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(out, cap, "%.*g", digits, x);
        if (strtod(out, NULL) == x)
            break;
    }
    char *e = strchr(out, 'e');
    if (e && !strchr(out, '.') &&
        strlen(out) + 3 <= cap) { /* YAML 1.1 wants a dot in a number with an exponent */
        memmove(e + 2, e, strlen(e) + 1);
        memcpy(e, ".0", 2);
    }
}

static int is_integer(OptionType t) { return t == OPT_INT || t == OPT_INT_AUTO || t == OPT_INT64; }

/* Every value once, by its first word; '|' in quotes, because it also stands between the words. */
static void describe_words(char *out, size_t cap, const Option *o, const char *between)
{
    size_t used = 0;
    out[0] = 0;
    for (const OptionName *w = o->names; w->word; w++) {
        int first = 1;
        for (const OptionName *v = o->names; v < w; v++)
            first = first && v->value != w->value;
        if (first && used < cap)
            used += (size_t)snprintf(out + used, cap - used, strcmp(w->word, "|") ? "%s%s" : "%s\"%s\"",
                                     used ? between : "", w->word);
    }
}

/* ---- describing ----
 *
 * Short, for tables and help. */
void option_range(char *out, size_t cap, const Option *o)
{
    char lo[40], hi[40];
    option_format_double(lo, sizeof lo, o->min);
    option_format_double(hi, sizeof hi, o->max);
    switch (o->type) {
    case OPT_BOOL:
        snprintf(out, cap, "true | false");
        break;
    case OPT_INT:
    case OPT_INT64:
    case OPT_FLOAT:
        snprintf(out, cap, "%s .. %s", lo, hi);
        break;
    case OPT_INT_AUTO:
        snprintf(out, cap, "auto | %s .. %s", lo, hi);
        break;
    case OPT_STRING:
        snprintf(out, cap, "text of %s .. %s bytes", lo, hi);
        break;
    case OPT_CHOICE:
    case OPT_ENUM:
        describe_words(out, cap, o, " | ");
        break;
    case OPT_LIST:
        snprintf(out, cap, "list of %s .. %s", lo, hi);
        break;
    case OPT_DEVICE:
        snprintf(out, cap, "auto | cpu | 0 .. %d | sim0 .. sim%d", MAX_DEVICE, MAX_DEVICE);
        break;
    }
}

/* What the key wants, in words that follow "must be". */
static void describe(char *out, size_t cap, const Option *o)
{
    char lo[40], hi[40], words[300];
    option_format_double(lo, sizeof lo, o->min);
    option_format_double(hi, sizeof hi, o->max);
    switch (o->type) {
    case OPT_BOOL:
        snprintf(out, cap, "true or false");
        break;
    case OPT_INT:
    case OPT_INT64:
        snprintf(out, cap, "an integer between %s and %s", lo, hi);
        break;
    case OPT_INT_AUTO:
        snprintf(out, cap, "auto or an integer between %s and %s", lo, hi);
        break;
    case OPT_FLOAT:
        snprintf(out, cap, "a number between %s and %s", lo, hi);
        break;
    case OPT_STRING:
        snprintf(out, cap, "a text of %s to %s bytes", lo, hi);
        break;
    case OPT_CHOICE:
    case OPT_ENUM:
        describe_words(words, sizeof words, o, ", ");
        snprintf(out, cap, "one of %s", words);
        break;
    case OPT_LIST:
        snprintf(out, cap, "a list of %s to %s texts", lo, hi);
        break;
    case OPT_DEVICE:
        snprintf(out, cap, "auto, cpu, the number of a GPU, or sim0, sim1, ...");
        break;
    }
}

/* ---- setting ---- */

/* "batch_size is 'many', but must be an integer between 1 and 4096" */
static int wrong(const Option *o, const char *found, Err *err)
{
    char want[400];
    describe(want, sizeof want, o);
    return err_set(err, ERR_CONFIG, "%s is %s, but must be %s", o->key, found, want);
}

static int wrong_text(const Option *o, const char *s, Err *err)
{
    char found[100];
    option_quote(found, sizeof found, s);
    return wrong(o, found, err);
}

/* Parses, checks the range, and stores by the type of the field. */
static int set_number(const Option *o, Config *cfg, const char *s, Err *err)
{
    double x;
    if (o->type == OPT_INT_AUTO && strcasecmp(s, "auto") == 0) {
        *FIELD_AT(int, o, cfg) = CONFIG_AUTO;
        return 0;
    }
    /* Each kind of failure has its own hint. */
    switch (parse_number(s, &x)) {
    case NUMBER_OK:
        break;
    case NUMBER_LEADING_ZERO:
        wrong_text(o, s, err);
        return err_hint(err, "some YAML parsers read a leading zero as octal; write the number without it");
    case NUMBER_NOT_FINITE:
        wrong_text(o, s, err);
        return err_hint(err, "the value must be finite");
    case NUMBER_NONE:
        return wrong_text(o, s, err);
    }
    if (is_integer(o->type) && x != floor(x))
        return wrong_text(o, s, err);
    /* The number as it was understood, not as it was written: 1e9 shows what it means. */
    if (x < o->min || x > o->max) {
        char text[40], lo[40], hi[40];
        option_format_double(text, sizeof text, x);
        option_format_double(lo, sizeof lo, o->min);
        option_format_double(hi, sizeof hi, o->max);
        return err_set(err, ERR_CONFIG, "%s is %s, but must be %sbetween %s and %s", o->key, text,
                       o->type == OPT_INT_AUTO ? "auto or " : "", lo, hi);
    }
    if (o->type == OPT_FLOAT)
        *FIELD_AT(double, o, cfg) = x + 0.0; /* -0 becomes 0 */
    else if (o->type == OPT_INT64)
        *FIELD_AT(int64_t, o, cfg) = (int64_t)x;
    else
        *FIELD_AT(int, o, cfg) = (int)x;
    return 0;
}

/* Strings live as long as the Config. */
static int store_string(const char **field, Block *strings, const char *s, size_t n, Err *err)
{
    char *copy = block_strndup(strings, s, n);
    if (!copy)
        return err_set(err, ERR_NOMEM, "out of memory for a setting");
    *field = copy;
    return 0;
}

/* Without case, dashes as underscores. */
static int same_word(const char *a, const char *b)
{
    for (; *a && *b; a++, b++) {
        int x = *a == '-' ? '_' : tolower((unsigned char)*a),
            y = *b == '-' ? '_' : tolower((unsigned char)*b);
        if (x != y)
            return 0;
    }
    return *a == *b;
}

/* An enum is stored as its value, a choice as its word. */
static int set_word(const Option *o, Config *cfg, Block *strings, const char *s, Err *err)
{
    for (const OptionName *w = o->names; w->word; w++) {
        if (!same_word(w->word, s))
            continue;
        if (o->type == OPT_ENUM) {
            memcpy((char *)cfg + o->offset, &w->value, sizeof w->value);
            return 0;
        }
        /* A choice is kept as the first word of its value, so that later comparisons know one spelling. */
        const OptionName *first = o->names;
        while (first->value != w->value)
            first++;
        return store_string(FIELD_AT(const char *, o, cfg), strings, first->word, strlen(first->word), err);
    }
    wrong_text(o, s, err);
    const char *nearest = NULL;
    int best = 3;
    for (const OptionName *w = o->names; w->word; w++) {
        int distance = config_name_distance(w->word, s);
        if (distance < best) {
            best = distance;
            nearest = w->word;
        }
    }
    return nearest ? err_hint(err, "did you mean '%s'?", nearest) : ERR_CONFIG;
}

/* Into a local list first: the field changes only when all items are sound. */
static int set_list(const Option *o, Config *cfg, Block *strings, const RawValue *raw, Err *err)
{
    StringList list = {.count = 0};
    /* A YAML list has its items already; one text is cut at the separator, with blanks and empty pieces
     * dropped. */
    if (raw->is_list) {
        for (int i = 0; i < raw->count; i++) {
            if (!*raw->items[i])
                return err_set(err, ERR_CONFIG, "%s has an empty item at position %d", o->key, i + 1);
            if (store_string(&list.items[list.count++], strings, raw->items[i], strlen(raw->items[i]), err))
                return ERR_NOMEM;
        }
    } else {
        for (const char *p = raw->items[0]; *p;) {
            const char *end = strchr(p, o->separator);
            size_t n = end ? (size_t)(end - p) : strlen(p);
            const char *first = p, *last = p + n;
            while (first < last && *first == ' ')
                first++;
            while (last > first && last[-1] == ' ')
                last--;
            if (last > first) {
                if (list.count == CONFIG_MAX_LIST)
                    return err_set(err, ERR_CONFIG, "%s has more than %d items", o->key, CONFIG_MAX_LIST);
                if (store_string(&list.items[list.count++], strings, first, (size_t)(last - first), err))
                    return ERR_NOMEM;
            }
            p += n + (end != NULL);
        }
    }
    if (list.count < o->min || list.count > o->max)
        return err_set(err, ERR_CONFIG, "%s has %d items, but must have between %d and %d", o->key,
                       list.count, (int)o->min, (int)o->max);
    *FIELD_AT(StringList, o, cfg) = list;
    return 0;
}

/* auto, cpu, 0 .. MAX_DEVICE, sim0 .. simMAX_DEVICE; 01 is no number of a device. */
static int is_device(const char *s)
{
    if (strcmp(s, "auto") == 0 || strcmp(s, "cpu") == 0)
        return 1;
    if (strncmp(s, "sim", 3) == 0)
        s += 3;
    size_t n = strlen(s);
    if (n < 1 || n > 2 || strspn(s, "0123456789") != n || (n == 2 && s[0] == '0'))
        return 0;
    return atoi(s) <= MAX_DEVICE;
}

/* By type; every failure names the key, what was found and what is wanted. */
int option_set(const Option *o, Config *cfg, Block *strings, const RawValue *raw, Err *err)
{
    int flag;
    if (o->type == OPT_LIST)
        return set_list(o, cfg, strings, raw, err);
    /* Some keys of older files are lists of one item. */
    if (raw->is_list && !(o->one_item_list && raw->count == 1))
        return wrong(o, "a list", err);
    const char *s = raw->items[0];
    switch (o->type) {
    case OPT_BOOL:
        if (!option_parse_bool(s, &flag))
            return wrong_text(o, s, err);
        *FIELD_AT(int, o, cfg) = flag;
        return 0;
    case OPT_INT:
    case OPT_INT_AUTO:
    case OPT_INT64:
    case OPT_FLOAT:
        return set_number(o, cfg, s, err);
    case OPT_ENUM:
    case OPT_CHOICE:
        return set_word(o, cfg, strings, s, err);
    case OPT_DEVICE:
        if (!is_device(s))
            return wrong_text(o, s, err);
        return store_string(FIELD_AT(const char *, o, cfg), strings, s, strlen(s), err);
    case OPT_STRING:
    case OPT_LIST:
        break;
    }
    /* A plain string: its range is its length. */
    double n = (double)strlen(s);
    if (n < o->min || n > o->max)
        return wrong_text(o, s, err);
    return store_string(FIELD_AT(const char *, o, cfg), strings, s, strlen(s), err);
}

/* A string as YAML: bare when no YAML reader could take it for anything else, otherwise in double quotes. */
static void format_string(Buf *out, const char *s)
{
    /* Letters, digits and a few marks are safe, except for the words that mean true, false or null. */
    int flag, bare = isalpha((unsigned char)s[0]) || s[0] == '/' || s[0] == '_';
    for (const char *p = s; *p && bare; p++)
        bare = isalnum((unsigned char)*p) || strchr("_./-", *p) != NULL;
    if (bare && !option_parse_bool(s, &flag) && strcasecmp(s, "null") != 0 && strcasecmp(s, "y") != 0 &&
        strcasecmp(s, "n") != 0) {
        buf_str(out, s);
        return;
    }
    buf_str(out, "\"");
    for (const unsigned char *p = (const unsigned char *)s; *p; p++) {
        if (*p == '"' || *p == '\\')
            buf_printf(out, "\\%c", *p);
        else if (*p < 0x20 || *p == 0x7F)
            buf_printf(out, "\\x%02X", *p);
        else if (*p == 0xC2 && p[1] >= 0x80 && p[1] < 0xA0) /* control characters above ASCII */
            buf_printf(out, "\\x%02X", *++p);
        else
            buf_add(out, p, 1);
    }
    buf_str(out, "\"");
}

/* ---- writing ----
 *
 * What YAML and this program read back as the same value. */
void option_format(Buf *out, const Option *o, const Config *cfg)
{
    char text[64];
    int value;
    const StringList *list;
    switch (o->type) {
    case OPT_BOOL:
        buf_str(out, *FIELD_OF(int, o, cfg) ? "true" : "false");
        break;
    case OPT_INT:
        buf_printf(out, "%d", *FIELD_OF(int, o, cfg));
        break;
    case OPT_INT_AUTO:
        if (*FIELD_OF(int, o, cfg) == CONFIG_AUTO)
            buf_str(out, "auto");
        else
            buf_printf(out, "%d", *FIELD_OF(int, o, cfg));
        break;
    case OPT_INT64:
        buf_printf(out, "%lld", (long long)*FIELD_OF(int64_t, o, cfg));
        break;
    case OPT_FLOAT:
        option_format_double(text, sizeof text, *FIELD_OF(double, o, cfg));
        buf_str(out, text);
        break;
    case OPT_STRING:
    case OPT_CHOICE:
        format_string(out, *FIELD_OF(const char *, o, cfg));
        break;
    case OPT_DEVICE:
        buf_str(out, *FIELD_OF(const char *, o, cfg));
        break;
    case OPT_ENUM:
        memcpy(&value, (const char *)cfg + o->offset, sizeof value);
        for (const OptionName *w = o->names; w->word; w++)
            if (w->value == value) {
                buf_str(out, w->word);
                break;
            }
        break;
    case OPT_LIST:
        list = FIELD_OF(StringList, o, cfg);
        buf_str(out, "[");
        for (int i = 0; i < list->count; i++) {
            buf_str(out, i ? ", " : "");
            format_string(out, list->items[i]);
        }
        buf_str(out, "]");
        break;
    }
}
