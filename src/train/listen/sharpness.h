/* sharpness.h - how much the mels of a voice have to be sharpened (model/sharpen.h) to have as much detail as
 * the recordings of the same sentences. Threads: any. */
#ifndef MYXTTS_SHARPNESS_H
#define MYXTTS_SHARPNESS_H

#include "train/step/beside.h"

/* Settles the amount for a voice that has spoken these sentences without it, sharpens their mels by it, and
 * sets *ear to what is heard then. 0: they have the detail as they are, or it cannot be told. Returns how
 * many sentences were compared, or ERR_NOMEM. */
int sharpness_settle(double *amount, EarFigures *ear, const SpokenClips *spoken, Err *err);

#endif
