/* number_rules.c - see number_rules.h. */
#include "text/aloud/number_rules.h"

#include <string.h>

static const struct {
    const char *sign, *iso;
} signs[] = {
    {"$", "USD"},   {"£", "GBP"}, {"€", "EUR"}, {"¥", "JPY"}, {"￥", "JPY"}, {"₹", "INR"},
    {"₽", "RUB"}, {"₩", "KRW"}, {"₺", "TRY"}, {"﷼", "IRR"}, {"TL", "TRY"},
};

/* Signs, and letters that are used like one; codes such as USD are read as words. */
const char *number_rules_currency(const char *text, size_t n, size_t *length)
{
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        *length = strlen(signs[i].sign);
        int letters = (signs[i].sign[0] | 32) >= 'a' && (signs[i].sign[0] | 32) <= 'z';
        if (*length <= n && !memcmp(text, signs[i].sign, *length) &&
            !(letters && *length < n && (text[*length] | 32) >= 'a' && (text[*length] | 32) <= 'z'))
            return signs[i].iso;
    }
    return NULL;
}

const MoneyNames *number_rules_money(const NumberRules *rules, const char *iso)
{
    for (const MoneyNames *m = rules->money; m && m->iso; m++)
        if (!strcmp(m->iso, iso))
            return m;
    return NULL;
}

/* "May", but not the beginning of "Mayor". */
int number_rules_month(const NumberRules *rules, const char *text, size_t n, size_t *length)
{
    for (int i = 0; rules->months && i < 12; i++) {
        *length = strlen(rules->months[i]);
        if (*length <= n && !memcmp(text, rules->months[i], *length) &&
            (*length == n || !((text[*length] | 32) >= 'a' && (text[*length] | 32) <= 'z')))
            return i;
    }
    return -1;
}
