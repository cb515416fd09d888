/* half.h - conversion to and from IEEE half precision, for mels stored with two bytes per value. */
#ifndef MYXTTS_HALF_H
#define MYXTTS_HALF_H

#include <stddef.h>
#include <stdint.h>

/* Rounds to nearest even; values that are too large become infinity. */
void half_from_float(uint16_t *out, const float *in, size_t n);
void half_to_float(float *out, const uint16_t *in, size_t n);

#endif
