/* credits.c - see credits.h. */
#include "voice/credits.h"

#include <string.h>

#include "voice/export.h"

int credits_known(const char *text) { return text && *text && strcmp(text, CREDITS_UNKNOWN) != 0; }

static const char *first_known(const char *given, const char *own)
{
    return given && *given ? given : own && *own ? own : NULL;
}

void credits_complete(Credits *c, const Checkpoint *v)
{
    c->licence = first_known(c->licence, checkpoint_text(v, EXPORT_LICENCE));
    c->source = first_known(c->source, checkpoint_text(v, EXPORT_SOURCE));
    c->note = first_known(c->note, checkpoint_text(v, EXPORT_NOTE));
    if (!c->licence)
        c->licence = CREDITS_UNKNOWN;
    if (!c->source)
        c->source = CREDITS_UNKNOWN;
}
