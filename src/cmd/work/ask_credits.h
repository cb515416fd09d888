/* ask_credits.h - asks the person who exports a voice for its licence and source if neither the command line
 * nor the voice's file gives them. Threads: one. */
#ifndef MYXTTS_CMD_ASK_CREDITS_H
#define MYXTTS_CMD_ASK_CREDITS_H

#include "base/err.h"
#include "base/log.h"
#include "voice/credits.h"

/* What was typed; the Credits point into it. */
typedef struct CreditsAnswers {
    char licence[400], source[400];
} CreditsAnswers;

/* Completes c. may_ask: questions may be asked, if there is a terminal; an empty line leaves it unknown.
 * Whatever stays unknown gets a warning. ERR_USAGE: an answer that is too long, or not UTF-8. */
int ask_credits(Credits *c, CreditsAnswers *answers, const Checkpoint *v, int may_ask, Log *log, Err *err);

#endif
