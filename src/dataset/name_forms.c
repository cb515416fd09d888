/* name_forms.c - see name_forms.h. */
#include "dataset/name_forms.h"

#include <string.h>
#include <unicode/unorm2.h>
#include <unicode/ustring.h>

#define MOST_UNITS 2048 /* of UTF-16 */

int name_form(char *out, size_t cap, Str name, int composed)
{
    UChar from[MOST_UNITS], to[MOST_UNITS];
    UErrorCode code = U_ZERO_ERROR;
    int32_t units, n, bytes = 0;
    size_t plain = 0;
    while (plain < name.n && (unsigned char)name.p[plain] < 0x80)
        plain++;
    if (plain == name.n)
        return 0;
    u_strFromUTF8(from, MOST_UNITS, &units, name.p, (int32_t)name.n, &code);
    const UNormalizer2 *form = composed ? unorm2_getNFCInstance(&code) : unorm2_getNFDInstance(&code);
    n = unorm2_normalize(form, from, units, to, MOST_UNITS, &code);
    u_strToUTF8(out, (int32_t)cap, &bytes, to, n, &code);
    if (U_FAILURE(code) || (size_t)bytes >= cap)
        return 0;
    return (uint32_t)bytes != name.n || memcmp(out, name.p, name.n) != 0;
}
