/* scripts.c - see scripts.h. */
#include "text/scripts.h"

#include <stdio.h>
#include <string.h>
#include <unicode/uchar.h>
#include <unicode/uscript.h>

#include "text/unicode.h"

static int find(const ScriptSet *s, int script)
{
    for (int i = 0; i < s->count; i++)
        if (s->scripts[i] == script)
            return i;
    return -1;
}

void script_add(ScriptSet *s, int script)
{
    if (script >= 0 && find(s, script) < 0 && s->count < SCRIPTS_MOST)
        s->scripts[s->count++] = script;
}

const char *script_short_name(int script) { return uscript_getShortName((UScriptCode)script); }

void script_long_name(char out[64], int script)
{
    snprintf(out, 64, "%s", uscript_getName((UScriptCode)script));
    for (char *p = out; *p; p++)
        *p = *p == '_' ? ' ' : *p;
}

int script_by_name(const char *name)
{
    int script = u_getPropertyValueEnum(UCHAR_SCRIPT, name);
    return script == UCHAR_INVALID_CODE ? -1 : script;
}

/* "cmn" is not an ICU locale, but "zh" is; and "fa-latn" is written like "fa" too, says its speaker. */
void scripts_of_language(ScriptSet *s, const char *code)
{
    char primary[LANGUAGE_MAX];
    language_primary(primary, code);
    const char *const locales[] = {code, primary};
    for (int i = 0; i < 2; i++) {
        UScriptCode found[8];
        UErrorCode status = U_ZERO_ERROR;
        int n = uscript_getCode(locales[i], found, 8, &status);
        for (int k = 0; k < n && !U_FAILURE(status); k++)
            script_add(s, found[k]);
    }
    /* espeak-ng reads romanised text with these: pinyin. */
    if (s->count && strstr(language_voice(code), "latn"))
        script_add(s, USCRIPT_LATIN);
}

void script_count(ScriptCount *c, const char *text, size_t n)
{
    int last = USCRIPT_LATIN, at = find(&c->set, last);
    for (size_t i = 0; i < n;) {
        uint32_t cp = unicode_next(text, n, &i);
        UErrorCode status = U_ZERO_ERROR;
        if (!u_isalpha((UChar32)cp))
            continue;
        int script = cp < 0x80 ? USCRIPT_LATIN : uscript_getScript((UChar32)cp, &status);
        if (U_FAILURE(status) || script == USCRIPT_COMMON || script == USCRIPT_INHERITED)
            continue;
        c->all++;
        if (script != last || at < 0) {
            script_add(&c->set, script);
            last = script;
            at = find(&c->set, script);
        }
        if (at >= 0)
            c->letters[at]++;
    }
}

void scripts_used(ScriptSet *s, const ScriptCount *c, double share)
{
    for (int i = 0; i < c->set.count; i++)
        if ((double)c->letters[i] >= share * (double)c->all)
            script_add(s, c->set.scripts[i]);
}

int script_foreign(const ScriptCount *c, const ScriptSet *known)
{
    int64_t foreign = 0, most = 0;
    int script = -1;
    for (int i = 0; i < c->set.count; i++) {
        if (find(known, c->set.scripts[i]) >= 0)
            continue;
        foreign += c->letters[i];
        if (c->letters[i] > most) {
            most = c->letters[i];
            script = c->set.scripts[i];
        }
    }
    return 2 * foreign > c->all ? script : -1;
}
