/* ops_cases_private.h - what the sources of ops_cases.h share: short words for a case's calls. */
#ifndef MYXTTS_OPS_CASES_PRIVATE_H
#define MYXTTS_OPS_CASES_PRIVATE_H

#include "ops_cases.h"

#define AT(slot) ops_at(r, slot)
#define CALL(op, ...) r->c->ops->op(r->c, __VA_ARGS__)
#define DROP(percent) ((Dropout){(float)(percent) / 100, 0x1234567890abcdefull})
/* Calls with the OpsStep of share_build, if the case has one. */
#define SHARED(call) \
    do { \
        r->c->step = AT(SHARE_STEP); \
        call; \
        r->c->step = NULL; \
    } while (0)
#define SHARE_STEP (OPS_TENSORS - 1)
#define NAMES(...) enum { __VA_ARGS__ }

#endif
