/* SPDX-License-Identifier: Apache-2.0 */
#include "job/memory/walk_cost.h"

#define PAGE_BYTES 4096u /* the unit of the cost, which is learned: not the size of a page */
#define PROCESS_NS 20000u
#define PAGE_FIRST_NS 16.0
#define PAGE_LEAST_NS 0.1 /* huge ones */

void walk_cost_init(struct walk_cost *cost)
{
    cost->page_ns = PAGE_FIRST_NS;
}

uint64_t walk_cost_ns(const struct walk_cost *cost, size_t process_count, uint64_t rss_bytes)
{
    return process_count * PROCESS_NS +
           (uint64_t)((double)(rss_bytes / PAGE_BYTES) * cost->page_ns);
}

/* What a page seems to have cost. A walk that took longer than expected, because it had to wait
 * or the machine is slow, did so for its processes as for its pages. */
static double page_cost_ns(const struct walk_cost *cost, double fixed_ns, double pages,
                           double spent_ns)
{
    double expected_ns = fixed_ns + pages * cost->page_ns;

    if (spent_ns > expected_ns)
        return cost->page_ns * spent_ns / expected_ns;
    return spent_ns > fixed_ns ? (spent_ns - fixed_ns) / pages : 0;
}

void walk_cost_learn(struct walk_cost *cost, size_t process_count, uint64_t rss_bytes,
                     uint64_t spent_ns)
{
    double fixed_ns = (double)(process_count * PROCESS_NS);
    double pages = (double)(rss_bytes / PAGE_BYTES);
    double paged_ns = pages * cost->page_ns;
    double weight;

    if (pages < 1)
        return;
    /* A walk tells of pages as far as they were its work: a job that has just begun has a few, and
     * must not make the same job grown large seem too dear. And half of that, so that one walk
     * which had to wait does not keep us from the next. */
    weight = paged_ns / (fixed_ns + paged_ns) / 2;
    cost->page_ns +=
        weight * (page_cost_ns(cost, fixed_ns, pages, (double)spent_ns) - cost->page_ns);
    if (cost->page_ns < PAGE_LEAST_NS)
        cost->page_ns = PAGE_LEAST_NS;
}
