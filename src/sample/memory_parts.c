/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/memory_parts.h"

#include "base/arithmetic.h"
#include "base/compiler.h"

/* Memory is read again if more than this part of it has changed. Less that is not explained counts as
 * shared: it is files that were mapped since, which other processes may map too. */
enum { UNEXPLAINED_SHARE = 50 };

static const struct group {
    enum metric total, private, shared;
} groups[] = {
    { METRIC_MAIN_RSS, METRIC_MAIN_PRIVATE, METRIC_MAIN_SHARED },
    { METRIC_DESCENDANTS_RSS, METRIC_DESCENDANTS_PRIVATE, METRIC_DESCENDANTS_SHARED },
    { METRIC_JOB_RSS, METRIC_JOB_PRIVATE, METRIC_JOB_SHARED },
};

static void settle(uint64_t *value, const struct group *group)
{
    uint64_t total = value[group->total];
    uint64_t known = sum_u64(value[group->private], value[group->shared]);

    if (!is_known(total) || !is_known(known) || value[group->private] > total ||
        sub_floor0(total, known) > total / UNEXPLAINED_SHARE)
        value[group->private] = value[group->shared] = UNKNOWN;
    else
        value[group->shared] = total - value[group->private];
}

/* Highest values of parts are often of different moments. */
static void settle_private(uint64_t *value)
{
    uint64_t job = value[METRIC_JOB_PRIVATE];

    if (!is_known(job) ||
        sum_u64(value[METRIC_MAIN_PRIVATE], value[METRIC_DESCENDANTS_PRIVATE]) == job)
        return;
    if (value[METRIC_DESCENDANTS_RSS] == 0 && is_known(value[METRIC_MAIN_PRIVATE]) &&
        job <= value[METRIC_MAIN_RSS])
        value[METRIC_MAIN_PRIVATE] = job;
    else
        value[METRIC_MAIN_PRIVATE] = value[METRIC_DESCENDANTS_PRIVATE] = UNKNOWN;
}

static void settle_all(uint64_t *value)
{
    settle_private(value);
    for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
        settle(value, &groups[i]);
}

void memory_parts_settle(struct sample *sample)
{
    uint64_t *value = sample->value;

    for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
        sample->highest[groups[i].private] = value[groups[i].private];
        sample->highest[groups[i].shared] = value[groups[i].shared];
    }
    if (is_known(value[METRIC_JOB_PRIVATE]) && is_known(sample->at_peak.private_bytes)) {
        value[METRIC_JOB_PRIVATE] = sample->at_peak.private_bytes;
        value[METRIC_JOB_SHARED] = sample->at_peak.shared_bytes;
    }
    settle_all(value);
    settle_all(sample->moment);
}
