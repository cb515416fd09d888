/* signals.c - see signals.h. */
#include "base/signals.h"

#include <signal.h>
#include <stddef.h>

void signal_catch(int number, void (*handler)(int number))
{
    struct sigaction was, action = {.sa_handler = handler};
    sigemptyset(&action.sa_mask);
    if (sigaction(number, NULL, &was) == 0 && was.sa_handler != SIG_IGN)
        sigaction(number, &action, NULL);
}
