/* ask_credits.c - see ask_credits.h. */
#include "cmd/work/ask_credits.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"

/* One line of the terminal, without white space at its ends. */
static int ask(char *out, size_t cap, const char *question, Err *err)
{
    fprintf(stderr, "%s: ", question);
    if (!fgets(out, (int)cap, stdin)) {
        out[0] = 0;
        fprintf(stderr, "\n");
        return 0;
    }
    size_t n = strlen(out);
    if (n + 1 == cap && out[n - 1] != '\n')
        return err_set(err, ERR_USAGE, "an answer may have %zu bytes", cap - 2);
    while (n && strchr(" \t\r\n", out[n - 1]))
        out[--n] = 0;
    const size_t blank = strspn(out, " \t");
    memmove(out, out + blank, n - blank + 1);
    return 0;
}

static void warn_unknown(const Credits *c, Log *log)
{
    const int licence = credits_known(c->licence), source = credits_known(c->source);
    if (licence && source)
        return;
    log_warn(log, "the file does not say %s%s%s: it has \"" CREDITS_UNKNOWN "\" there\n  hint: add%s%s",
             licence ? "" : "what others may do with the voice", licence || source ? "" : " and ",
             source ? "" : "whose recordings it was made of", licence ? "" : " --licence \"CC BY 4.0\"",
             source ? "" : " --source \"my own voice, recorded in 2026\"");
}

int ask_credits(Credits *c, CreditsAnswers *a, const Checkpoint *v, int may_ask, Log *log, Err *err)
{
    const char *given[] = {c->licence, c->source, c->note};
    credits_complete(c, v);
    if (may_ask && isatty(STDIN_FILENO) && isatty(STDERR_FILENO)) {
        int rc = 0;
        if (!credits_known(c->licence) && !given[0]) {
            rc = ask(a->licence, sizeof a->licence,
                     "What may others do with this voice? (a licence, such as CC BY 4.0; Enter: unknown)",
                     err);
            c->licence = *a->licence ? a->licence : c->licence;
        }
        if (!rc && !credits_known(c->source) && !given[1]) {
            rc = ask(a->source, sizeof a->source,
                     "Whose recordings was it made of? (a name, a corpus, a link; Enter: unknown)", err);
            c->source = *a->source ? a->source : c->source;
        }
        if (rc)
            return rc;
    }
    const char *const texts[] = {c->licence, c->source, c->note};
    static const char *const names[] = {"licence", "source", "note"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i] && utf8_valid(texts[i], strlen(texts[i])) != strlen(texts[i]))
            return err_set(err, ERR_USAGE, "the %s is not UTF-8", names[i]);
    warn_unknown(c, log);
    return 0;
}
