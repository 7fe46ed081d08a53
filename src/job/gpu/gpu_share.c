/* SPDX-License-Identifier: Apache-2.0 */
#include "job/gpu/gpu_share.h"

#include "base/amount.h"
#include "base/clock.h"

/* A window shorter than this is not complete yet. */
#define WINDOW_LEAST_NS (20 * NS_PER_MS)
/* A window shorter than this does not raise the maximum of the run, unless it is the first. */
#define WINDOW_FIT_NS (100 * NS_PER_MS)
/* Samples may be this late. The last share is not extrapolated further: the device may be
 * idle. */
#define GOES_ON_NS NS_PER_SECOND

void gpu_share_begin(struct gpu_share *share, uint64_t start_ns)
{
    *share = (struct gpu_share){ .until_ns = start_ns, .last = UNKNOWN, .max = UNKNOWN };
}

uint64_t gpu_share_ns(uint64_t span_ns, uint64_t share)
{
    return (uint64_t)((double)span_ns * (double)share / (double)GPU_SHARE_WHOLE);
}

static void end_window(struct gpu_share *share, uint64_t part, uint64_t now_ns)
{
    share->total_ns += gpu_share_ns(sub_floor0(now_ns, share->until_ns), part);
    share->until_ns = larger(share->until_ns, now_ns);
    share->last = part;
}

bool gpu_share_advance(struct gpu_share *share, uint64_t busy_ns, uint64_t covered_ns,
                       uint64_t now_ns)
{
    uint64_t wall_ns = sub_floor0(now_ns, share->until_ns);
    uint64_t window_ns, part;

    if (!is_known(busy_ns))
        return false;
    window_ns = is_known(covered_ns) ? sub_floor0(covered_ns, share->covered_ns) : wall_ns;
    if (window_ns == 0 || (!is_known(covered_ns) && window_ns < WINDOW_LEAST_NS))
        return false;
    if (share->was_idle && window_ns > wall_ns && wall_ns > 0)
        window_ns = wall_ns; /* the time before it was idle and is already counted */
    part = (uint64_t)((double)sub_floor0(busy_ns, share->busy_ns) / (double)window_ns *
                      (double)GPU_SHARE_WHOLE);
    part = smaller(part, GPU_SHARE_WHOLE);
    end_window(share, part, now_ns);
    if (window_ns >= WINDOW_FIT_NS || !is_known(share->max))
        raise_to(&share->max, part);
    share->busy_ns = busy_ns;
    if (is_known(covered_ns))
        share->covered_ns = covered_ns;
    share->was_idle = false;
    return true;
}

void gpu_share_idle(struct gpu_share *share, uint64_t now_ns)
{
    end_window(share, 0, now_ns);
    raise_to(&share->max, 0);
    share->was_idle = true;
}

uint64_t gpu_share_total_ns(const struct gpu_share *share, uint64_t now_ns)
{
    if (!is_known(share->last))
        return UNKNOWN;
    if (now_ns < share->until_ns)
        return sub_floor0(share->total_ns, gpu_share_ns(share->until_ns - now_ns, share->last));
    return share->total_ns +
           gpu_share_ns(smaller(sub_floor0(now_ns, share->until_ns), GOES_ON_NS), share->last);
}

uint64_t gpu_share_mean(const struct gpu_share *share, uint64_t start_ns)
{
    uint64_t span_ns = sub_floor0(share->until_ns, start_ns);

    if (!is_known(share->last) || span_ns == 0)
        return UNKNOWN;
    return smaller((uint64_t)((double)share->total_ns / (double)span_ns * GPU_SHARE_WHOLE),
                   GPU_SHARE_WHOLE);
}
