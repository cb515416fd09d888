/* check.h - always-on assertions for what cannot happen. They print both values and abort. */
#ifndef MYXTTS_CHECK_H
#define MYXTTS_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define ASSERT(cond) \
    do { \
        if (!(cond)) { \
            fprintf(stderr, "%s:%d: %s: assertion failed: %s\n", __FILE__, __LINE__, __func__, #cond); \
            abort(); \
        } \
    } while (0)

/* For integers: ASSERT_CMP(used, <=, cap) prints both sides. */
#define ASSERT_CMP(a, op, b) \
    do { \
        long long a_ = (long long)(a), b_ = (long long)(b); \
        if (!(a_ op b_)) { \
            fprintf(stderr, "%s:%d: %s: assertion failed: %s %s %s (%lld and %lld)\n", __FILE__, __LINE__, \
                    __func__, #a, #op, #b, a_, b_); \
            abort(); \
        } \
    } while (0)

#endif
