/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared_files.c - totals of a group from its mappings.
 *
 * For one file (device and inode), and for all memory without a file together, a group maps
 *
 *   own pages + max(PSS of the other pages, W)
 *
 * PSS is exact if no outsider maps the file, too low otherwise. W is a lower bound in any case:
 * the heaviest set of areas that show different parts of the file, so that no page is counted
 * twice. W is found by weighted interval scheduling: in the order of their ends, each area is
 * either left out or added to the best set that ends before the area begins.
 *
 * For the descendants main is an outsider. If the job's PSS explains the file, no process
 * outside the job maps it, and the descendants map the job's pages except those that only main
 * maps.
 */
#include "job/memory/shared_files.h"

#include <errno.h>
#include <stdlib.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/reserve.h"

/* ---- mappings ---------------------------------------------------------------- */

/* Elements kept allocated between two looks: 1 MB. */
enum { KEPT_COUNT = 8192 };

void memory_areas_done(struct memory_areas *areas)
{
    free(areas->list);
    free(areas->processes);
    *areas = (struct memory_areas){ 0 };
}

void memory_areas_clear(struct memory_areas *areas)
{
    if (areas->capacity > KEPT_COUNT)
        memory_areas_done(areas);
    areas->count = areas->process_count = areas->seen_count = 0;
}

int memory_areas_add_process(struct memory_areas *areas, enum member_group group)
{
    if (reserve(&areas->processes, &areas->process_capacity, areas->process_count + 1,
                sizeof(*areas->processes)) < 0)
        return -ENOMEM;
    areas->processes[areas->process_count++] = (struct area_process){ .group = group };
    return 0;
}

static struct area_bytes bytes_of(const struct smaps_rollup *sizes)
{
    uint64_t own = sizes->private_clean + sizes->private_dirty;

    return (struct area_bytes){
        .own = own,
        /* A merged page counts once, however many addresses map it: only its PSS shows its size. */
        .shared = sub_floor0(sizes->shared_clean + sizes->shared_dirty, sizes->merged),
        .proportional = sub_floor0(sizes->pss, own),
    };
}

static void add(struct area_bytes *sum, const struct area_bytes *bytes)
{
    sum->own += bytes->own;
    sum->shared += bytes->shared;
    sum->proportional += bytes->proportional;
}

static int add_file_area(struct memory_areas *areas, const struct smaps_area *area,
                         const struct area_bytes *bytes)
{
    if (reserve(&areas->list, &areas->capacity, areas->count + 1, sizeof(*areas->list)) < 0)
        return -ENOMEM;
    areas->list[areas->count++] = (struct memory_area){
        .device = area->device,
        .inode = area->inode,
        .offset = area->offset,
        .offset_end = sum_u64(area->offset, area->end - area->start),
        .bytes = *bytes,
        .process = (uint32_t)(areas->process_count - 1),
    };
    return 0;
}

int memory_areas_add(struct memory_areas *areas, const struct smaps_area *area)
{
    struct area_process *process = &areas->processes[areas->process_count - 1];
    struct area_bytes bytes = bytes_of(&area->sizes);

    if (areas->seen_count >= MEMORY_AREAS_MAX)
        return -E2BIG;
    areas->seen_count++;
    if (area->sizes.rss == 0)
        return 0;
    process->rss += area->sizes.rss;
    if (area->inode != 0)
        return add_file_area(areas, area, &bytes);
    add(&process->anonymous, &bytes);
    return 0;
}

static int add_read(const struct smaps_area *area, void *data)
{
    return memory_areas_add(data, area);
}

int memory_areas_read(struct memory_areas *areas, const struct root *root, pid_t pid,
                      enum member_group group)
{
    int r = memory_areas_add_process(areas, group);

    return r < 0 ? r : smaps_read(root, pid, add_read, areas);
}

/* The areas of one file: a slice of the list, sorted by their ends. */
struct file_areas {
    const struct memory_areas *all;
    const struct memory_area *list;
    size_t count;
};

struct group_sums {
    struct area_bytes bytes;
    uint64_t heaviest; /* W */
};

struct scratch {
    uint64_t *ends; /* ends of the areas of the group, ascending */
    uint64_t *best; /* best[n]: weight of the best set among the first n areas */
};

static int compare_areas(const void *left, const void *right)
{
    const struct memory_area *a = left, *b = right;
    int order = compare_u64(a->device, b->device);

    if (order == 0)
        order = compare_u64(a->inode, b->inode);
    return order != 0 ? order : compare_u64(a->offset_end, b->offset_end);
}

static bool is_in(const struct area_process *process, enum member_group group)
{
    return group == GROUP_JOB || process->group == group;
}

static size_t count_up_to(const uint64_t *values, size_t count, uint64_t limit)
{
    size_t low = 0;

    while (low < count) {
        size_t middle = low + (count - low) / 2;

        if (values[middle] <= limit)
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

static struct group_sums sum_group(const struct file_areas *file, enum member_group group,
                                   const struct scratch *scratch)
{
    struct group_sums sums = { 0 };
    size_t count = 0;

    scratch->best[0] = 0;
    for (size_t i = 0; i < file->count; i++) {
        const struct memory_area *area = &file->list[i];
        size_t before;

        if (!is_in(&file->all->processes[area->process], group))
            continue;
        add(&sums.bytes, &area->bytes);
        before = count_up_to(scratch->ends, count, area->offset);
        scratch->ends[count] = area->offset_end;
        scratch->best[count + 1] =
            larger(scratch->best[count], scratch->best[before] + area->bytes.shared);
        count++;
    }
    sums.heaviest = scratch->best[count];
    return sums;
}

static struct group_sums sum_anonymous(const struct memory_areas *areas,
                                       enum member_group group)
{
    struct group_sums sums = { 0 };

    for (size_t i = 0; i < areas->process_count; i++) {
        const struct area_process *process = &areas->processes[i];

        if (!is_in(process, group))
            continue;
        add(&sums.bytes, &process->anonymous);
        sums.heaviest = larger(sums.heaviest, process->anonymous.shared);
    }
    return sums;
}

static uint64_t total_of(const struct group_sums *sums)
{
    return sums->bytes.own + larger(sums->bytes.proportional, sums->heaviest);
}

static void add_totals(const struct group_sums sums[GROUP_COUNT], uint64_t ret[GROUP_COUNT])
{
    const struct group_sums *job = &sums[GROUP_JOB], *descendants = &sums[GROUP_DESCENDANTS];
    uint64_t main_total = total_of(&sums[GROUP_MAIN]), total = total_of(job);
    uint64_t descendants_total = total_of(descendants);
    /* PSS is rounded down to kB in every area. */
    uint64_t explained = job->bytes.proportional + job->bytes.proportional / 1000 + 4096;

    if (explained >= job->heaviest)
        descendants_total = larger(descendants_total,
                                   smaller(sub_floor0(total, sums[GROUP_MAIN].bytes.own),
                                           descendants->bytes.own + descendants->bytes.shared));
    ret[GROUP_MAIN] += main_total;
    ret[GROUP_DESCENDANTS] += descendants_total;
    ret[GROUP_JOB] += larger(total, larger(main_total, descendants_total));
}

static void add_file(const struct file_areas *file, const struct scratch *scratch,
                     uint64_t total[GROUP_COUNT])
{
    struct group_sums sums[GROUP_COUNT];

    for (enum member_group group = GROUP_MAIN; group < GROUP_COUNT; group++)
        sums[group] = sum_group(file, group, scratch);
    add_totals(sums, total);
}

static size_t same_file_count(const struct memory_area *list, size_t count)
{
    size_t n = 1;

    while (n < count && list[n].device == list[0].device && list[n].inode == list[0].inode)
        n++;
    return n;
}

int shared_files_estimate(struct memory_areas *areas, struct shared_files *ret)
{
    AUTO_FREE uint64_t *numbers = calloc(2 * (areas->count + 1), sizeof(*numbers));
    struct scratch scratch = { .ends = numbers };
    struct group_sums anonymous[GROUP_COUNT];
    struct shared_files result = { 0 };

    if (!numbers)
        return -ENOMEM;
    scratch.best = numbers + areas->count + 1;
    for (enum member_group group = GROUP_MAIN; group < GROUP_COUNT; group++)
        anonymous[group] = sum_anonymous(areas, group);
    add_totals(anonymous, result.total);
    for (size_t i = 0; i < areas->process_count; i++) {
        const struct area_process *process = &areas->processes[i];

        result.rss[process->group] += process->rss;
        result.rss[GROUP_JOB] += process->rss;
    }
    if (areas->count > 0)
        qsort(areas->list, areas->count, sizeof(*areas->list), compare_areas);
    for (size_t first = 0; first < areas->count;) {
        struct file_areas file = { .all = areas, .list = &areas->list[first] };

        file.count = same_file_count(file.list, areas->count - first);
        add_file(&file, &scratch, result.total);
        first += file.count;
    }
    *ret = result;
    return 0;
}

/* Corrects a split with the help of the mappings, which are read after the sizes. The mappings only
 * contribute their number of duplicate bytes (mapped_rss - mapped_total), so growth between the two
 * reads does not matter. But a page that was copied in between was shared in the first read and is no
 * duplicate in the second one: that error is at most the growth, so gained_bytes is subtracted. */
static void correct(struct memory_split *split, uint64_t resident, uint64_t rss,
                    uint64_t mapped_rss, uint64_t mapped_total, uint64_t gained_bytes)
{
    uint64_t total = smaller(sub_floor0(resident, sub_floor0(mapped_rss, mapped_total)), rss);

    split->total_bytes = larger(sub_floor0(total, gained_bytes), split->private_bytes);
    split->shared_bytes = split->total_bytes - split->private_bytes;
}

void shared_files_correct(const struct shared_files *files, const struct memory_view *views,
                          size_t count, uint64_t gained_bytes, struct memory_estimate *estimate)
{
    uint64_t resident[GROUP_COUNT] = { 0 }, rss[GROUP_COUNT] = { 0 };

    for (size_t i = 0; i < count; i++) {
        resident[views[i].group] += views[i].resident;
        resident[GROUP_JOB] += views[i].resident;
        rss[views[i].group] += views[i].rss;
        rss[GROUP_JOB] += views[i].rss;
    }
    for (int i = 0; i < GROUP_COUNT; i++) {
        correct(&estimate->of[i], resident[i], rss[i], files->rss[i], files->total[i],
                i == GROUP_MAIN ? 0 : gained_bytes);
        estimate->doubled[i] = 0;
    }
    memory_estimate_reconcile(estimate);
}
