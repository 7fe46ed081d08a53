/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drm_busy.c - from the counters of clients to the busy time of processes: see drm_clients.h.
 *
 * Drivers count in one of three ways. Nanoseconds are used as they are. Cycles (xe) are those of
 * a clock whose frequency is not told: it is learned from how far the clock itself went between
 * two counts. A percentage (amdgpu before 5.19) is taken to hold since the last count.
 */
#include "base/arithmetic.h"
#include "base/parse.h"
#include "base/unknown.h"
#include "source/gpu/drm_clients.h"

/* How fast the clock of a class runs, from all the time it was seen. */
static void advance_clock(struct drm_class *class, uint64_t now_ns)
{
    if (!class->has_total)
        return;
    if (!is_known(class->anchor_ns) || class->total_cycles < class->counted_cycles) {
        class->anchor_ns = now_ns;
        class->anchor_cycles = class->total_cycles;
    } else if (class->total_cycles > class->anchor_cycles && now_ns > class->anchor_ns) {
        class->span_cycles = class->total_cycles - class->anchor_cycles;
        class->span_ns = now_ns - class->anchor_ns;
    }
    class->counted_cycles = class->total_cycles;
}

/* What an engine did for a client since the last count. UNKNOWN: it worked, and how long cannot be
 * told yet. */
static uint64_t engine_gain_ns(const struct drm_class *class, struct drm_client *client,
                               size_t engine, uint64_t elapsed_ns)
{
    uint64_t value = client->engine[engine].value;
    uint64_t gain = value - client->engine[engine].counted;

    if (value == 0 || (class->is_percent && client->is_ended))
        return 0;
    if (class->is_percent)
        return is_known(elapsed_ns) ? elapsed_ns / 10000 * value : UNKNOWN;
    if (class->is_cycles && class->span_cycles == 0)
        return gain == 0 ? 0 : UNKNOWN; /* stays uncounted until the clock is known */
    client->engine[engine].counted = value;
    if (class->is_cycles)
        gain = (uint64_t)((double)gain * (double)class->span_ns / (double)class->span_cycles);
    return gain / class->capacity;
}

static void count_use(struct drm_use *use, uint64_t elapsed_ns)
{
    uint64_t longest = 0;

    use->has_uncounted = false;
    for (size_t i = 0; i < DRM_ENGINE_MAX; i++) {
        if (!is_known(use->gain_ns[i]))
            use->has_uncounted = true;
        else if (use->gain_ns[i] > longest)
            longest = use->gain_ns[i];
        use->gain_ns[i] = 0;
    }
    /* What came before the first count of all has no time to be held against. */
    use->limit_ns = sum_u64(use->limit_ns, is_known(elapsed_ns) ? elapsed_ns : longest);
    use->busy_ns = sum_u64(use->busy_ns, longest);
    use->is_counted = true;
}

void drm_clients_count(struct drm_clients *clients, uint64_t now_ns)
{
    uint64_t last_ns = clients->counted_at_ns;
    uint64_t elapsed_ns = !is_known(last_ns) ? UNKNOWN
                          : now_ns > last_ns ? now_ns - last_ns
                                             : 0;

    for (size_t i = 0; i < clients->device_count; i++) {
        for (size_t j = 0; j < clients->class_count[i]; j++)
            advance_clock(&clients->class[i][j], now_ns);
    }
    for (size_t i = 0; i < clients->count; i++) {
        struct drm_client *client = &clients->list[i];
        const struct drm_class *classes = clients->class[client->device];

        if (client->use == SIZE_MAX)
            continue;
        for (size_t j = 0; j < clients->class_count[client->device]; j++) {
            uint64_t *gain_ns = &clients->use[client->use].gain_ns[j];

            *gain_ns = sum_u64(*gain_ns, engine_gain_ns(&classes[j], client, j, elapsed_ns));
        }
    }
    for (size_t i = 0; i < clients->use_count; i++)
        count_use(&clients->use[i], elapsed_ns);
    clients->counted_at_ns = now_ns;
}
