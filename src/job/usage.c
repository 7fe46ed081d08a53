/* SPDX-License-Identifier: Apache-2.0 */
#include "job/usage.h"

#include "base/arithmetic.h"
#include "base/parse.h"
#include "base/unknown.h"

void usage_clear(struct usage *usage)
{
    for (int i = 0; i < USAGE_COUNT; i++)
        usage->counter[i] = UNKNOWN;
}

void usage_add(struct usage *into, const struct usage *usage)
{
    for (int i = 0; i < USAGE_COUNT; i++) {
        if (!is_known(usage->counter[i]))
            continue;
        into->counter[i] = is_known(into->counter[i])
                               ? sum_u64(into->counter[i], usage->counter[i])
                               : usage->counter[i];
    }
}

void usage_raise(struct usage *usage, const struct usage *floor)
{
    for (int i = 0; i < USAGE_COUNT; i++)
        raise_to(&usage->counter[i], floor->counter[i]);
}
