/* SPDX-License-Identifier: Apache-2.0 */
/* needs_of_run.h - helpers for the tests of needs.c. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "fake_run.h"
#include "recommend/needs.h"
#include "unit_test.h"

#define MIB (1048576.0)
#define GIB (1073741824.0)
#define PEAK "memory.combined.total_rss_bytes"

static inline int set_up(void **state)
{
    static struct record run;

    fake_run_init(&run);
    *state = &run;
    return 0;
}

static inline int tear_down(void **state)
{
    record_done(*state);
    return 0;
}

static inline struct needs find_needs(const struct record *run)
{
    struct needs needs;

    needs_of(run, NEEDS_MARGIN, &needs);
    return needs;
}

static inline void assert_says(const struct need *need, const char *text)
{
    if (!strstr(need->why, text))
        fail_msg("not found: %s, but: %s", text, need->why);
}

static inline bool is_value(const struct need *need, double value)
{
    return fabs(need->value - value) < 1e-6;
}
