/* english_formulas.c - see english_line.h. Numbers are left in digits wherever numbers.c reads them the same
 * way. */
#include "text/aloud/english_line.h"

/* Where the digits that begin at `at` end. */
static size_t digits_end(const Line *l, size_t at)
{
    while (at < l->n && is_digit(l->s[at]))
        at++;
    return at;
}

/* Where the number at `at` ends, with its thousands and decimals; `at` if there is none. */
static size_t number_end(const Line *l, size_t at)
{
    size_t end = digits_end(l, at);
    while (end > at && end + 1 < l->n && strchr(",.", l->s[end]) && is_digit(l->s[end + 1]))
        end = digits_end(l, end + 1);
    return end;
}

static int word_goes_on(const Line *l, size_t at)
{
    return at < l->n && (is_alpha(l->s[at]) || is_digit(l->s[at]) || (uint8_t)l->s[at] >= 0x80);
}

/* A raised digit or minus at `at`: its byte in plain text, and *n its length. 0 if there is none. */
static char raised_at(const Line *l, size_t at, size_t *n)
{
    static const char *const raised[] = {"\u2070", "\u00B9", "\u00B2", "\u00B3", "\u2074", "\u2075",
                                         "\u2076", "\u2077", "\u2078", "\u2079", "\u207B"};
    for (size_t i = 0; i < COUNT(raised); i++)
        if (begins(l, at, raised[i])) {
            *n = strlen(raised[i]);
            return (char)(i == 10 ? '-' : '0' + i);
        }
    return 0;
}

/* The exponent at `at`, behind "^" or in raised digits. Returns where it ends, 0 if there is none. */
static size_t exponent_at(const Line *l, size_t at, int *value)
{
    char text[8] = "";
    size_t used = 0, n;
    if (begins(l, at, "^")) {
        size_t sign = begins(l, ++at, "-") ? 1 : begins(l, at, "\u2212") ? 3 : 0;
        size_t end = digits_end(l, at + sign);
        if (end == at + sign || end - at - sign > 4 || word_goes_on(l, end))
            return 0;
        if (sign)
            text[used++] = '-';
        memcpy(text + used, l->s + at + sign, end - at - sign);
        used += end - at - sign;
        at = end;
    } else {
        for (char c; used < 5 && (c = raised_at(l, at, &n)); at += n)
            text[used++] = c;
        if (!used || (used == 1 && text[0] == '-') || word_goes_on(l, at))
            return 0;
    }
    int sign = text[0] == '-';
    *value = 0;
    for (size_t i = (size_t)sign; i < used; i++)
        *value = *value * 10 + (text[i] - '0');
    if (sign)
        *value = -*value;
    return at;
}

/* " squared", " to the sixth", " to the minus three". */
static void say_power(Line *l, int exponent, int plain)
{
    if (plain && (exponent == 2 || exponent == 3)) {
        say(l, exponent == 2 ? " squared" : " cubed");
        return;
    }
    say(l, exponent < 0 ? " to the minus " : exponent ? " to the " : " to the zero");
    if (exponent)
        english_say_number(l, exponent < 0 ? -exponent : exponent, exponent > 0);
}

/* 10^6, x^2, 2^n. */
static int try_power(Line *l, size_t base_end)
{
    int exponent;
    if (begins(l, base_end, "^") && base_end + 1 < l->n && is_alpha(l->s[base_end + 1]) &&
        !word_goes_on(l, base_end + 2)) {
        l->at = base_end;
        take(l, 1);
        say(l, " to the ");
        return 1;
    }
    size_t end = exponent_at(l, base_end, &exponent);
    if (!end || (!begins(l, base_end, "^") && base_end - l->at > 3)) /* "in 1990²" is a footnote */
        return 0;
    int ten = base_end - l->at == 2 && begins(l, l->at, "10");
    l->at = base_end;
    take(l, end - base_end);
    say_power(l, exponent, !ten);
    return 1;
}

/* 1.5e-3, 6.02e23. */
static int try_scientific(Line *l, size_t end)
{
    if (end >= l->n || (l->s[end] | 32) != 'e')
        return 0;
    size_t sign = begins(l, end + 1, "-") || begins(l, end + 1, "+"), from = end + 1 + sign;
    size_t last = digits_end(l, from);
    int decimals = memchr(l->s + l->at, '.', end - l->at) != NULL;
    if (last == from || last - from > 3 || word_goes_on(l, last) || (!sign && !decimals && l->s[end] == 'E'))
        return 0;
    int exponent = 0;
    for (size_t i = from; i < last; i++)
        exponent = exponent * 10 + (l->s[i] - '0');
    if (l->s[end + 1] == '-')
        exponent = -exponent;
    l->at = end;
    take(l, last - end);
    say(l, " times 10");
    say_power(l, exponent, 0);
    return 1;
}

/* 3.5×10^4, 3.5x10^4. */
static int try_times_ten(Line *l, size_t end)
{
    int exponent;
    size_t sign = begins(l, end, "x") || begins(l, end, "*") ? 1 : begins(l, end, "\u00D7") ? 2 : 0;
    size_t last = sign && begins(l, end + sign, "10") ? exponent_at(l, end + sign + 2, &exponent) : 0;
    if (!last)
        return 0;
    l->at = end;
    take(l, last - end);
    say(l, " times 10");
    say_power(l, exponent, 0);
    return 1;
}

/* v2.0.1, v3.11: each part is a separate number. */
static int try_version(Line *l)
{
    size_t at = l->at + 1, end = digits_end(l, at);
    if ((l->s[l->at] | 32) != 'v' || end == at || !begins(l, end, ".") || digits_end(l, end + 1) == end + 1)
        return 0;
    take(l, 1);
    say(l, "version ");
    for (;;) {
        l->at = digits_end(l, at);
        if (!begins(l, l->at, ".") || digits_end(l, l->at + 1) == l->at + 1)
            return 1;
        take(l, 1);
        say(l, " point ");
        at = l->at;
    }
}

/* 3-1=2, 2x+3=7: what blanks separate, with an equals sign and nothing but numbers, letters that stand alone
 * and signs. */
static int try_equation(Line *l)
{
    static const struct {
        const char *sign, *word;
    } signs[] = {{"=", " equals "},    {"+", " plus "},       {"-", " minus "}, {"\u2212", " minus "},
                 {"*", " times "},     {"\u00D7", " times "}, {"/", " over "},  {"\u00F7", " divided by "},
                 {"\u00B7", " times "}};
    size_t from = l->at, to = from;
    if (from && l->s[from - 1] != ' ' && l->s[from - 1] != '(')
        return 0;
    int equals = 0;
    while (to < l->n && l->s[to] != ' ')
        equals += l->s[to++] == '=';
    while (to > from && strchr(".,;:!?)", l->s[to - 1]))
        to--;
    if (equals != 1)
        return 0;
    /* Two passes: is it one, and then say it. */
    for (int saying = 0; saying < 2; saying++) {
        int exponent;
        for (size_t at = from, n; at < to; at += n) {
            const char *word = NULL;
            n = number_end(l, at) - at;
            if (!n && is_alpha(l->s[at]) && (at + 1 == to || !is_alpha(l->s[at + 1])))
                n = 1;
            size_t end = n ? exponent_at(l, at + n, &exponent) : 0;
            for (size_t i = 0; i < COUNT(signs) && !n; i++)
                if (begins(l, at, signs[i].sign) && at + strlen(signs[i].sign) < to) {
                    n = strlen(signs[i].sign);
                    word = at > from ? signs[i].word : signs[i].word + 1;
                }
            if (!n)
                return 0;
            if (saying) {
                l->at = at;
                take(l, n);
                if (word)
                    say(l, word);
                else
                    buf_add(l->out, l->s + at, n);
                if (end)
                    say_power(l, exponent, n != 2 || !begins(l, at, "10"));
            }
            if (end)
                n = end - at;
            if (saying)
                l->at = l->copied = at + n;
        }
    }
    return 1;
}

int english_try_formula(Line *l)
{
    size_t end = number_end(l, l->at);
    if (try_equation(l))
        return 1;
    if (end == l->at)
        return try_version(l) || (!word_goes_on(l, l->at + 1) && try_power(l, l->at + 1));
    return try_scientific(l, end) || try_times_ten(l, end) || try_power(l, end);
}
