/* unchanged.h - a start that finds everything as the last prepare left it: program, settings, texts,
 * recordings, caches, rejected.tsv. Then there is nothing to build, and no store's state has to be put
 * together just to find that it is the same. Whatever differs, is missing or cannot be read counts as
 * changed, and prepare takes its usual path. Threads: call from one; several check the recordings. */
#ifndef MYXTTS_UNCHANGED_H
#define MYXTTS_UNCHANGED_H

#include "cache/preparation.h"
#include "cache/prepare.h"

/* 1: everything is as it was. *report is then that of the last run, without paths and list of caches, and
 * options->keep is open with all its rejections, or closed where options->keep_changed allows it. 0:
 * something has changed; *report is zeroed, and nothing is open. dir: the caches, locked if they can be
 * written. */
int unchanged_since(PrepareReport *report, const Config *cfg, const PrepareOptions *options, const char *dir,
                    int workers, Log *log);

/* Notes how everything is now. utterances: state_dataset of the dataset as it was opened. Where a line
 * could not be spoken nothing is noted: that may come out otherwise next time.
 * Returns what PrepareReport.state has to be. */
Hash128 unchanged_note(const Preparation *p, const PrepareOptions *options, const PrepareReport *report,
                       uint64_t utterances);

#endif
