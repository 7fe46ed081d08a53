/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared_memory.c - totals of a group from per-process sums.
 *
 * Proportional set size (PSS) divides a page among all that map it, so the sum of
 * PSS over a group is the number of its pages exactly when nobody outside the
 * group maps them. For anonymous and shared memory that holds for a whole job.
 * For files (libraries) it does not; there the largest member is a lower bound.
 *
 * For the descendants alone the main process is an outsider. What they map is
 * what the job maps less what main alone maps: its private pages.
 *
 * Whatever the sharing, a group has at least its private pages and the shared
 * pages of its largest sharer: sum of private + max of shared.
 */
#include "job/shared_memory.h"

#include "base/unknown.h"

struct sums {
    uint64_t rss, rss_max;
    uint64_t memory_pss; /* anonymous and shared memory: pss less its file part */
    uint64_t file_pss;
    uint64_t private_total;
    uint64_t shared_max;
    uint64_t file, file_max;
    size_t count;
};

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static void sums_add(struct sums *sums, const struct memory_view *view)
{
    sums->count++;
    sums->rss += view->rss;
    sums->rss_max = larger(sums->rss_max, view->rss);
    sums->memory_pss += less(view->pss, view->pss_file);
    sums->file_pss += view->pss_file;
    sums->private_total += view->private_total;
    sums->shared_max = larger(sums->shared_max, view->shared_total);
    sums->file += view->file;
    sums->file_max = larger(sums->file_max, view->file);
}

static struct memory_split split(uint64_t total, const struct sums *sums)
{
    struct memory_split split;

    total = larger(total, sums->private_total + sums->shared_max);
    total = smaller(larger(total, sums->rss_max), sums->rss);
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
    uint64_t memory = less(job->memory_pss, main_private_dirty);

    memory = larger(memory, descendants->memory_pss);
    return smaller(memory, job->memory_pss) + file_total(descendants);
}

void shared_memory_estimate(const struct memory_view *views, size_t count, bool is_racy,
                            struct memory_estimate *ret)
{
    struct sums job = { 0 }, main = { 0 }, descendants = { 0 };
    uint64_t main_private_dirty = 0;

    for (size_t i = 0; i < count; i++) {
        sums_add(&job, &views[i]);
        sums_add(views[i].is_main ? &main : &descendants, &views[i]);
        if (views[i].is_main)
            main_private_dirty = views[i].private_dirty;
    }
    ret->main = split(main.rss, &main);
    ret->combined = split(is_racy ? 0 : job.memory_pss + file_total(&job), &job);
    ret->descendants = split(
        is_racy ? 0 : descendants_total(&job, &descendants, main_private_dirty), &descendants);
    ret->pss_bytes = job.memory_pss + job.file_pss;
    ret->ambiguity_bytes = less(job.file, file_total(&job));
}
