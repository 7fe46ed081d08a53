/* SPDX-License-Identifier: Apache-2.0 */
#include "job/memory/sharing.h"

#include "base/arithmetic.h"

#include <errno.h>

#include "job/memory/cpu_spent.h"
#include "job/memory/shared_files.h"

#define MIB (1024u * 1024u)

/* What reading and parsing an area takes, and how many a process may have. */
#define COST_PER_AREA_NS 3000u
enum { AREAS_PER_PROCESS = 100 };

/* A look is not cut short before this many areas. */
enum { AREAS_AT_LEAST = 2000 };

void sharing_init(struct sharing *sharing, bool uses_smaps, bool uses_scan)
{
    *sharing = (struct sharing){
        .uses_smaps = uses_smaps,
        .uses_scan = uses_scan,
        .areas_per_process = AREAS_PER_PROCESS,
    };
}

void sharing_done(struct sharing *sharing)
{
    memory_areas_done(&sharing->areas);
}

void sharing_forget(struct sharing *sharing)
{
    sharing->has_correction = false;
    sharing->is_too_large = false;
}

uint64_t sharing_cost_ns(const struct sharing *sharing, size_t count, uint64_t walk_ns)
{
    return walk_ns + sharing->scan_cost_ns +
           (uint64_t)count * sharing->areas_per_process * COST_PER_AREA_NS;
}

/* Sums over the views. */
struct view_sums {
    uint64_t mapped;
    struct group_bytes rss;
    struct group_bytes resident;
};

static void add_bytes(struct group_bytes *sum, bool is_main, uint64_t bytes)
{
    *(is_main ? &sum->main : &sum->descendants) += bytes;
    sum->combined += bytes;
}

static struct view_sums sum_views(const struct memory_view *views, size_t count)
{
    struct view_sums sums = { 0 };

    for (size_t i = 0; i < count; i++) {
        sums.mapped += views[i].mapped;
        add_bytes(&sums.rss, views[i].is_main, views[i].rss);
        add_bytes(&sums.resident, views[i].is_main, views[i].resident);
    }
    return sums;
}

static bool is_doubtful(const struct sharing *sharing, const struct memory_estimate *estimate)
{
    uint64_t threshold = larger(2 * MIB, estimate->combined.total_bytes / 100);

    /* Double mappings are rare: the same doubt is not looked into again and again. */
    return estimate->ambiguity_bytes > threshold ||
           (estimate->doubled_bytes > threshold &&
            estimate->doubled_bytes / 5 * 4 > sharing->settled_bytes);
}

static void correct(struct memory_split *split, int64_t correction, uint64_t least,
                    uint64_t most)
{
    uint64_t total = split->total_bytes;

    if (correction < 0)
        total -= total < (uint64_t)-correction ? total : (uint64_t)-correction;
    else
        total += (uint64_t)correction;
    total = larger(total < most ? total : most, larger(least, split->private_bytes));
    split->total_bytes = total;
    split->shared_bytes = total - split->private_bytes;
}

static void apply(const struct sharing *sharing, const struct group_bytes *rss,
                  struct memory_estimate *estimate)
{
    const struct correction *correction = &sharing->correction;

    correct(&estimate->main, correction->main, 0, rss->main);
    correct(&estimate->descendants, correction->descendants, 0, rss->descendants);
    correct(&estimate->combined, correction->combined,
            larger(estimate->main.total_bytes, estimate->descendants.total_bytes),
            rss->combined);
    estimate->ambiguity_bytes = sharing->ambiguity_bytes;
    estimate->doubled_bytes = 0;
}

/* Both looks are compared by what is not distinct of all that is resident, so that memory
 * which came in between them is no part of the correction. */
static int64_t difference(uint64_t total, uint64_t rss, uint64_t old_total, uint64_t old_rss)
{
    return (int64_t)(total - rss) - (int64_t)(old_total - old_rss);
}

static void take(struct sharing *sharing, const struct shared_files *files,
                 const struct view_sums *sums, const struct memory_estimate *estimate)
{
    const struct group_bytes *total = &files->total, *rss = &files->rss;

    sharing->correction = (struct correction){
        .main =
            difference(total->main, rss->main, estimate->main.total_bytes, sums->resident.main),
        .descendants =
            difference(total->descendants, rss->descendants, estimate->descendants.total_bytes,
                       sums->resident.descendants),
        .combined = difference(total->combined, rss->combined, estimate->combined.total_bytes,
                               sums->resident.combined),
    };
    sharing->has_correction = true;
    sharing->mapped_bytes = sums->mapped;
    sharing->ambiguity_bytes = files->ambiguity_bytes;
    sharing->settled_bytes = 0;
    if (-sharing->correction.main < (int64_t)(estimate->doubled_bytes / 4) &&
        -sharing->correction.combined < (int64_t)(estimate->doubled_bytes / 4))
        sharing->settled_bytes = estimate->doubled_bytes;
    sharing->reads++;
}

/* The mappings of all processes. -EBUSY: it takes too long. */
static int read_areas(struct sharing *sharing, const struct root *root,
                      const struct memory_view *views, size_t count, uint64_t allowance_ns)
{
    struct memory_areas *areas = &sharing->areas;
    uint64_t affordable = larger(allowance_ns / COST_PER_AREA_NS * 2, AREAS_AT_LEAST);
    int r = 0;

    memory_areas_clear(areas,
                       affordable < MEMORY_AREAS_MAX ? (size_t)affordable : MEMORY_AREAS_MAX);
    for (size_t i = 0; i < count && r == 0; i++)
        r = memory_areas_read(areas, root, views[i].pid, views[i].is_main);
    if (r == 0 && count > 0)
        sharing->areas_per_process = areas->seen_count / count + 1;
    if (r != -E2BIG)
        return r;
    if (areas->seen_max == MEMORY_AREAS_MAX) {
        sharing->is_too_large = true;
        return r;
    }
    sharing->areas_per_process = 2 * areas->seen_count / count + 1;
    return -EBUSY;
}

static int look(struct sharing *sharing, const struct root *root,
                const struct memory_view *views, size_t count, uint64_t allowance_ns,
                uint64_t total_bytes, struct shared_files *ret)
{
    uint64_t started_ns = cpu_spent_ns(root);
    struct page_scan_look pages = { .scan = &sharing->scan, .root = root };
    struct file_resolver resolver = {
        .resolve = page_scan_resolve,
        .data = &pages,
        .threshold_bytes = larger(MIB, total_bytes / 200),
    };
    uint64_t spent_ns;
    int r = read_areas(sharing, root, views, count, allowance_ns);

    if (r != 0)
        return r;
    spent_ns = cpu_spent_ns(root) - started_ns;
    pages.allowance_ns = allowance_ns > spent_ns ? allowance_ns - spent_ns : 0;
    r = shared_files_estimate(&sharing->areas, sharing->uses_scan ? &resolver : NULL, ret);
    sharing->scans += pages.scan_count;
    sharing->scan_cost_ns = pages.refused_ns;
    return r;
}

enum sharing_result sharing_correct(struct sharing *sharing, const struct root *root,
                                    const struct memory_view *views, size_t count,
                                    uint64_t walk_ns, uint64_t allowance_ns,
                                    struct memory_estimate *estimate)
{
    struct view_sums sums = sum_views(views, count);
    struct shared_files files;
    int r;

    if (sharing->has_correction &&
        apart(sums.mapped, sharing->mapped_bytes) > sharing->mapped_bytes / 20)
        sharing->has_correction = false;
    if (sharing->has_correction) {
        apply(sharing, &sums.rss, estimate);
        return SHARING_CORRECTED;
    }
    if (!sharing->uses_smaps || !is_doubtful(sharing, estimate))
        return SHARING_CLEAR;
    if (sharing->is_too_large)
        return SHARING_FAILED;
    if (sharing_cost_ns(sharing, count, walk_ns) > allowance_ns)
        return SHARING_DEFERRED;
    r = look(sharing, root, views, count, allowance_ns, estimate->combined.total_bytes, &files);
    if (r != 0)
        return r == -EBUSY ? SHARING_DEFERRED : SHARING_FAILED;
    take(sharing, &files, &sums, estimate);
    apply(sharing, &sums.rss, estimate);
    if (sharing->scan_cost_ns == 0)
        return SHARING_READ;
    sharing->has_correction = false; /* good for now; better when there is time */
    return SHARING_DEFERRED;
}
