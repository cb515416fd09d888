#include "text/number_rules.h"

#include <string.h>
#include <strings.h>

static const NumberRules table[] = {
    {"en", '.', ',', 1, YEARS_ALWAYS, {"percent", "percent", "percent"}, 0, NULL, "to", "st nd rd th", "and"},
    {"es",
     ',',
     '.',
     1,
     YEARS_AS_NUMBERS,
     {"por ciento", "por ciento", "por ciento"},
     0,
     NULL,
     "a",
     "º .º er|ª .ª",
     "y"},
    {"fr",
     ',',
     ' ',
     1,
     YEARS_AS_NUMBERS,
     {"pour cent", "pour cent", "pour cent"},
     0,
     "heures",
     "à",
     "er e ème eme nd|re ère nde",
     "et"},
    {"de", ',', '.', 1, YEARS_ALWAYS, {"Prozent", "Prozent", "Prozent"}, 0, "Uhr", "bis", "", "und"},
    {"it",
     ',',
     '.',
     1,
     YEARS_AS_NUMBERS,
     {"per cento", "per cento", "per cento"},
     0,
     NULL,
     "a",
     "º °|ª",
     "e"},
    {"pt",
     ',',
     '.',
     1,
     YEARS_AS_NUMBERS,
     {"por cento", "por cento", "por cento"},
     0,
     NULL,
     "a",
     "º .º|ª .ª",
     "e"},
    {"pl", ',', ' ', 1, YEARS_AS_NUMBERS, {"procent", "procent", "procent"}, 0, NULL, "do", "", "i"},
    {"tr", ',', '.', 1, YEARS_AS_NUMBERS, {"yüzde", "yüzde", "yüzde"}, 1, NULL, NULL, "", "ve"},
    {"ru", ',', ' ', 1, YEARS_AS_NUMBERS, {"процент", "процента", "процентов"}, 0, NULL, "до", "", "и"},
    {"nl", ',', '.', 1, YEARS_ALWAYS, {"procent", "procent", "procent"}, 0, "uur", "tot", "e de ste", "en"},
    {"cs", ',', ' ', 1, YEARS_AS_NUMBERS, {"procento", "procenta", "procent"}, 0, NULL, "až", "", "a"},
    {"ar", '.', ',', 1, YEARS_AS_NUMBERS, {"بالمئة", "بالمئة", "بالمئة"}, 0, NULL, "إلى", "", "و"},
    {"fa", '.', ',', 1, YEARS_AS_NUMBERS, {"درصد", "درصد", "درصد"}, 0, NULL, "تا", "", "و"},
    {"zh", '.', ',', 0, YEARS_BEFORE_NIAN, {"百分之", "百分之", "百分之"}, 1, NULL, "到", "", "和"},
    {"ja",
     '.',
     ',',
     0,
     YEARS_AS_NUMBERS,
     {"パーセント", "パーセント", "パーセント"},
     0,
     NULL,
     "から",
     "",
     "と"},
    {"hu", ',', ' ', 1, YEARS_AS_NUMBERS, {"százalék", "százalék", "százalék"}, 0, NULL, NULL, "", "és"},
    {"ko", '.', ',', 0, YEARS_AS_NUMBERS, {"퍼센트", "퍼센트", "퍼센트"}, 0, NULL, "에서", "", "와"},
};

static const struct {
    const char *sign, *iso;
} signs[] = {
    {"$", "USD"}, {"£", "GBP"},   {"€", "EUR"}, {"¥", "JPY"}, {"￥", "JPY"},
    {"₹", "INR"}, {"₽", "RUB"}, {"₩", "KRW"}, {"₺", "TRY"}, {"﷼", "IRR"},
};

static const MoneyNames money[] = {
    {"USD", "dollar", "dollars", "cent", "cents"}, {"GBP", "pound", "pounds", "penny", "pence"},
    {"EUR", "euro", "euros", "cent", "cents"},     {"JPY", "yen", "yen", "sen", "sen"},
    {"INR", "rupee", "rupees", "paisa", "paise"},  {"RUB", "rouble", "roubles", "kopeck", "kopecks"},
    {"KRW", "won", "won", "jeon", "jeon"},         {"TRY", "lira", "lira", "kurush", "kurush"},
    {"IRR", "rial", "rials", "dinar", "dinars"},
};

static const char *const months_en[12] = {"January",   "February", "March",    "April",
                                          "May",       "June",     "July",     "August",
                                          "September", "October",  "November", "December"};
static const char *const months_de[12] = {"Januar",    "Februar", "März",     "April",
                                          "Mai",       "Juni",    "Juli",     "August",
                                          "September", "Oktober", "November", "Dezember"};

const NumberRules *number_rules_find(const char *code)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (!strcmp(table[i].code, code))
            return &table[i];
    return NULL;
}

const char *number_rules_currency(const char *text, size_t n, size_t *length)
{
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        *length = strlen(signs[i].sign);
        if (*length <= n && !memcmp(text, signs[i].sign, *length))
            return signs[i].iso;
    }
    return NULL;
}

const MoneyNames *number_rules_money(const char *iso)
{
    for (size_t i = 0; i < sizeof money / sizeof money[0]; i++)
        if (!strcmp(money[i].iso, iso))
            return &money[i];
    return NULL;
}

int number_rules_month(const char *language, const char *text, size_t n, size_t *length)
{
    const char *const *names = !strcmp(language, "en")   ? months_en
                               : !strcmp(language, "de") ? months_de
                                                         : NULL;
    for (int i = 0; names && i < 12; i++) {
        *length = strlen(names[i]);
        if (*length <= n && !memcmp(text, names[i], *length) &&
            (*length == n || !((text[*length] | 32) >= 'a' && (text[*length] | 32) <= 'z')))
            return i;
    }
    return -1;
}
