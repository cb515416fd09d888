/* language_doubt.c - see language_doubt.h. */
#include "text/language_doubt.h"

#include <string.h>

#define LOOKED_AT 200 /* texts, evenly spread over the dataset */
#define LEAST 5       /* that must be in the other language */
#define LEAST_SHARE 4 /* one of so many must be */
#define SURER 4       /* so many times as often as any other */

int language_doubt(LanguageDoubt *out, const Dataset *d, const Config *cfg)
{
    LanguageList found = {0};
    size_t times[LANGUAGES_MOST] = {0}, sure = 0, best = 0;
    *out = (LanguageDoubt){0};
    if (cfg->phoneme_language[0] || config_is_given(cfg, "language"))
        return 0;
    const size_t every = d->count / LOOKED_AT + 1;
    for (size_t i = 0; i < d->count; i += every) {
        const Utterance *u = &d->utterances[i];
        char read_as[LANGUAGE_MAX], primary[LANGUAGE_MAX], is[LANGUAGE_MAX];
        if (u->language.n)
            continue;
        out->looked_at++;
        if (!language_sure(is, u->text.p, u->text.n))
            continue;
        sure++;
        language_choose(read_as, cfg, u->language, u->id, u->text.p, u->text.n);
        language_primary(primary, read_as);
        int n = language_list_find(&found, is);
        if (strcmp(primary, is) == 0 || (n < 0 && found.count == LANGUAGES_MOST))
            continue;
        if (n < 0) {
            n = found.count++;
            memcpy(found.codes[n], is, sizeof is);
        }
        if (++times[n] <= best)
            continue;
        best = times[n];
        memcpy(out->is, is, sizeof is);
        memcpy(out->read_as, read_as, sizeof read_as);
    }
    out->other = best;
    return best >= LEAST && best * LEAST_SHARE >= out->looked_at && best >= SURER * (sure - best);
}
