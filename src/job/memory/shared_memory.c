/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared_memory.c - totals of a group from per-process sums, as docs/INTERNALS.md derives them.
 *
 * A process may map a page twice; then its resident size is too large, which only its mappings
 * show (shared_files.h). Pages that a process shares, but with no other process of the job, may
 * be such pages.
 */
#include "job/memory/shared_memory.h"

#include "base/amount.h"

struct sums {
    uint64_t rss, rss_max;
    uint64_t memory_pss; /* anonymous and shared memory: pss without its file part */
    uint64_t file_pss;
    uint64_t private_total;
    uint64_t shared_max;
    uint64_t file_max;
    uint64_t mapped_max; /* files and shared memory */
    uint64_t resident_max;
    uint64_t mapped_shared, mapped_shared_max;
};

static void sums_add(struct sums *sums, const struct memory_view *view)
{
    uint64_t mapped_shared = smaller(view->shared_total, view->mapped);

    sums->rss += view->rss;
    sums->rss_max = larger(sums->rss_max, view->rss);
    sums->memory_pss += sub_floor0(view->pss, view->pss_file);
    sums->file_pss += view->pss_file;
    sums->private_total += view->private_total;
    sums->shared_max = larger(sums->shared_max, view->shared_total);
    sums->file_max = larger(sums->file_max, view->file);
    sums->mapped_max = larger(sums->mapped_max, view->mapped);
    sums->resident_max = larger(sums->resident_max, view->resident);
    sums->mapped_shared += mapped_shared;
    sums->mapped_shared_max = larger(sums->mapped_shared_max, mapped_shared);
}

static uint64_t pss(const struct sums *sums)
{
    return sums->memory_pss + sums->file_pss;
}

void memory_split_keep_higher(struct memory_split *kept, const struct memory_split *seen)
{
    bool had_parts = is_known(kept->private_bytes), has_parts = is_known(seen->private_bytes);

    if (!is_known(seen->total_bytes) || (had_parts && !has_parts))
        return;
    if (has_parts != had_parts || !is_known(kept->total_bytes) ||
        seen->total_bytes >= kept->total_bytes)
        *kept = *seen;
}

void memory_estimate_raise(struct memory_estimate *highest, const struct memory_estimate *seen)
{
    for (int i = 0; i < GROUP_COUNT; i++) {
        raise_to(&highest->of[i].total_bytes, seen->of[i].total_bytes);
        raise_to(&highest->of[i].private_bytes, seen->of[i].private_bytes);
        raise_to(&highest->of[i].shared_bytes, seen->of[i].shared_bytes);
    }
    raise_to(&highest->pss_bytes, seen->pss_bytes);
}

void memory_estimate_forget_parts(struct memory_estimate *estimate)
{
    for (int i = 0; i < GROUP_COUNT; i++)
        estimate->of[i].private_bytes = estimate->of[i].shared_bytes = UNKNOWN;
    estimate->pss_bytes = UNKNOWN;
}

uint64_t memory_estimate_discount(const struct memory_estimate *estimate,
                                  enum member_group group)
{
    return sub_floor0(estimate->resident_max[group], estimate->of[group].total_bytes);
}

/* Makes the parts consistent: private memory is a lower bound of the total. */
static void order_split(struct memory_split *split)
{
    raise_to(&split->total_bytes, split->private_bytes);
    if (is_known(split->shared_bytes))
        split->shared_bytes = smaller(split->shared_bytes, split->total_bytes);
}

void memory_estimate_order(struct memory_estimate *estimate)
{
    struct memory_split *job = &estimate->of[GROUP_JOB];

    for (int i = 0; i < GROUP_JOB; i++) {
        order_split(&estimate->of[i]);
        raise_to(&job->total_bytes, estimate->of[i].total_bytes);
        if (is_known(job->private_bytes))
            raise_to(&job->private_bytes, estimate->of[i].private_bytes);
    }
    order_split(job);
    if (is_known(estimate->pss_bytes)) {
        raise_to(&estimate->pss_bytes, job->private_bytes);
        estimate->pss_bytes = smaller(estimate->pss_bytes, job->total_bytes);
    }
}

void memory_estimate_reconcile(struct memory_estimate *estimate)
{
    struct memory_split *job = &estimate->of[GROUP_JOB];

    memory_estimate_order(estimate);
    if (is_known(job->private_bytes))
        job->shared_bytes = job->total_bytes - job->private_bytes;
}

/* Splits the total into private and shared memory. A page may be counted more than once in two
 * cases: it was read as private to one process, and then another process mapped it and was
 * read; or some processes were read while a process shared the page, and others after that
 * process got its own copy. Both errors are at most the growth during the read. The size of a
 * single process is a lower bound. */
static struct memory_split split(uint64_t total, const struct sums *sums, uint64_t gained_bytes)
{
    struct memory_split split;
    uint64_t least = larger(sums->private_total, sums->rss_max);

    total = sub_floor0(larger(total, sums->private_total + sums->shared_max), gained_bytes);
    /* PSS exceeds `rss` only if pages were merged (KSM), which `rss` excludes. */
    total = smaller(larger(total, least), larger(sums->rss, pss(sums)));
    split.total_bytes = total;
    split.private_bytes = smaller(sums->private_total, total);
    split.shared_bytes = total - split.private_bytes;
    return split;
}

static uint64_t file_total(const struct sums *sums)
{
    return larger(sums->file_pss, sums->file_max);
}

static uint64_t descendants_total(const struct sums *job, const struct sums *descendants,
                                  uint64_t main_private_dirty)
{
    uint64_t memory = sub_floor0(job->memory_pss, main_private_dirty);

    memory = larger(memory, descendants->memory_pss);
    return smaller(memory, job->memory_pss) + file_total(descendants);
}

/* Bytes that one process may map twice: the largest shared memory of one process minus the
 * shared memory of all others of the job. */
static uint64_t doubled(const struct sums *job, uint64_t mapped_shared_max)
{
    return sub_floor0(2 * mapped_shared_max, job->mapped_shared);
}

void shared_memory_estimate(const struct memory_view *views, size_t count, bool is_racy,
                            uint64_t gained_bytes, struct memory_estimate *ret)
{
    struct sums sums[GROUP_COUNT] = { 0 };
    const struct sums *job = &sums[GROUP_JOB], *main = &sums[GROUP_MAIN],
                      *descendants = &sums[GROUP_DESCENDANTS];
    uint64_t main_private_dirty = 0;

    for (size_t i = 0; i < count; i++) {
        sums_add(&sums[GROUP_JOB], &views[i]);
        sums_add(&sums[views[i].group], &views[i]);
        if (views[i].group == GROUP_MAIN)
            main_private_dirty = views[i].private_dirty;
    }
    if (count == 1)
        gained_bytes = 0;
    ret->of[GROUP_MAIN] = split(larger(main->rss, pss(main)), main, 0);
    ret->of[GROUP_JOB] =
        split(is_racy ? 0 : job->memory_pss + file_total(job), job, gained_bytes);
    ret->of[GROUP_DESCENDANTS] =
        split(is_racy ? 0 : descendants_total(job, descendants, main_private_dirty),
              descendants, gained_bytes);
    ret->pss_bytes = pss(job);
    for (int i = 0; i < GROUP_COUNT; i++) {
        ret->doubled[i] = doubled(job, sums[i].mapped_shared_max);
        ret->mapped_max[i] = sums[i].mapped_max;
        ret->resident_max[i] = sums[i].resident_max;
    }
    memory_estimate_reconcile(ret);
}

/* ---- pages that one process maps twice ------------------------------------------ */

enum { LIBRARIES_MOST_BYTES = 16 << 20, SAME_SHARE = 16 };

void double_mapping_read(struct double_mapping *mapping, uint64_t mapped_bytes,
                         uint64_t doubled_bytes)
{
    if (mapped_bytes >= mapping->mapped_bytes - mapping->mapped_bytes / SAME_SHARE)
        *mapping = (struct double_mapping){ mapped_bytes, doubled_bytes };
}

void double_mapping_seen(struct double_mapping *mapping, uint64_t mapped_bytes)
{
    if (mapped_bytes <= mapping->mapped_bytes)
        return;
    mapping->doubled_bytes += mapped_bytes - mapping->mapped_bytes;
    mapping->mapped_bytes = mapped_bytes;
}

uint64_t double_mapping_bytes(const struct double_mapping *mapping)
{
    return mapping->doubled_bytes > LIBRARIES_MOST_BYTES ? mapping->doubled_bytes : 0;
}
