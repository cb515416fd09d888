/* text_features.h - encoding of text records, for text_producer.c; features.h has the view
 * that decodes them. */
#ifndef MYXTTS_TEXT_FEATURES_H
#define MYXTTS_TEXT_FEATURES_H

#include "base/mem.h"
#include "text/text.h"

/* Writes the payload of a processed line to out. Out of memory is remembered in out->failed. */
void text_encode_payload(Buf *out, const TextResult *r);

#endif
