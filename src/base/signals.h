/* signals.h - signals that end a command. Threads: one, at the beginning. */
#ifndef MYXTTS_SIGNALS_H
#define MYXTTS_SIGNALS_H

/* Lets a handler take the signal, unless the program was started with the signal ignored: nohup wants no
 * hang-up to end it, a shell that starts it in the background no Ctrl-C. */
void signal_catch(int number, void (*handler)(int number));

#endif
