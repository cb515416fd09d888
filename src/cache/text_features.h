/* text_features.h - what text_features.c offers to text_producer.c; views are in features.h. */
#ifndef MYXTTS_TEXT_FEATURES_H
#define MYXTTS_TEXT_FEATURES_H

#include "base/mem.h"
#include "text/text.h"

/* out = the payload of a line that was made into tokens; out->failed when there is no memory. */
void text_encode_payload(Buf *out, const TextResult *r);

#endif
