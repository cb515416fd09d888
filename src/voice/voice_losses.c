/* voice_losses.c - see voice_losses.h. */
#include "voice/voice_losses.h"

#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"

void voice_losses_free(VoiceLosses *l)
{
    free(l->all);
    *l = (VoiceLosses){0};
}

int voice_losses_add(VoiceLosses *l, const VoiceLoss *more, size_t count)
{
    if (!count)
        return 0;
    if (mem_grow(&l->all, &l->room, l->count + count, sizeof *l->all))
        return ERR_NOMEM;
    for (size_t i = 0; i < count; i++) {
        size_t at = l->count++;
        for (; at && l->all[at - 1].at > more[i].at; at--)
            l->all[at] = l->all[at - 1];
        l->all[at] = more[i];
    }
    return 0;
}

void voice_loss_place(const VoiceLoss *l, const char *text, size_t *line, size_t *column)
{
    size_t from = 0;
    *line = 1;
    for (size_t i = 0; i < l->at; i++)
        if (text[i] == '\n') {
            (*line)++;
            from = i + 1;
        }
    *column = utf8_count(text + from, l->at - from) + 1;
}

json_t *voice_losses_json(const VoiceLosses *l, const char *text)
{
    json_t *all = json_array();
    for (size_t i = 0; i < l->count; i++) {
        const VoiceLoss *loss = &l->all[i];
        size_t line, column;
        voice_loss_place(loss, text, &line, &column);
        json_array_append_new(all, json_pack("{s:o, s:I, s:I, s:I, s:s}", "text",
                                             json_from_bytes(text + loss->at, loss->size), "at",
                                             (json_int_t)utf8_count(text, loss->at), "line", (json_int_t)line,
                                             "column", (json_int_t)column, "why", loss->why));
    }
    return all;
}
