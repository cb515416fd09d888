/* same_data.c - whether a resumed run has the dataset that it started with. Data may grow, shrink and be
 * mended, but with another dataset the next steps would turn the voice of this folder into another one. */
#include <string.h>

#include "train/run_parts.h"
#include "voice/known_clips.h"

/* 1: not one language of the texts is one of the voice. */
static int has_other_languages(const Checkpoint *v, const Corpus *c)
{
    const LanguageList *found = c->found_languages;
    if (!v->knows_languages || c->segment_frames || !found->count)
        return 0;
    for (int i = 0; i < found->count; i++)
        if (language_list_find(&v->languages, found->codes[i]) >= 0)
            return 0;
    return 1;
}

int same_data_check(const Checkpoint *v, const Corpus *train, const Config *cfg, Err *err)
{
    char theirs[200], ours[200];
    CheckpointData is;
    checkpoint_data(&is, train, NULL);
    if (strcmp(v->data.hash, is.hash) == 0)
        return 0;
    if (has_other_languages(v, train)) {
        language_list_show(&v->languages, theirs, sizeof theirs);
        language_list_show(train->found_languages, ours, sizeof ours);
        err_set(err, ERR_USAGE, "%s has a voice that speaks %s, but the texts of %s are in %s",
                cfg->checkpoint_dir, theirs, cfg->data_path, ours);
    } else if (known_clips_disjoint(checkpoint_text(v, "known"), train)) {
        err_set(err, ERR_USAGE, "%s was trained on other recordings: none of those in %s are among them",
                v->path, cfg->data_path);
    } else {
        return 0;
    }
    return err_hint(
        err, "name another --checkpoint-dir; with --init-from %s the new run starts with these weights",
        cfg->checkpoint_dir);
}
