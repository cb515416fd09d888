/* controls.h - controls of marked-up text (markup.h) in phonemes: until these are complete a control is a
 * private character among them. Private to text.c. Threads: any. */
#ifndef MYXTTS_CONTROLS_H
#define MYXTTS_CONTROLS_H

#include "text/text.h"

/* Takes the controls out of r->phonemes and puts them into r->controls with their places; spans follow. 0 or
 * ERR_NOMEM. */
int controls_take(TextResult *r, const TextBlock *b);
int controls_has_letter(const char *phonemes, size_t n); /* 1: something in it is heard */

#endif
