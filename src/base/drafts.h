/* drafts.h - temporary files that are being written: a signal that ends the program removes them. file.h
 * registers those of its FileWriters. Threads: any.
 *
 * A signal handler can reach only global state, so this module has some. */
#ifndef MYXTTS_DRAFTS_H
#define MYXTTS_DRAFTS_H

/* From now on path goes when the program is ended. Returns a number for draft_remove; 0: there are too many,
 * or the path is too long, and this one would stay. */
int draft_add(const char *path);
void draft_remove(int draft); /* it has been renamed or removed; 0 is allowed */

/* Lets SIGINT, SIGTERM and SIGHUP remove drafts before they end the program; for main, before a command takes
 * signals for itself. */
void drafts_catch_signals(void);
/* Whether such a signal still has this handler or none at all: nothing else uses it. */
int drafts_have(int signal_number);
void drafts_remove_all(void); /* for handlers and other code that ends the program */

#endif
