/* SPDX-License-Identifier: Apache-2.0 */
#include "job/memory/memory_areas.h"

#include <errno.h>
#include <stdlib.h>

#include "base/arithmetic.h"
#include "base/parse.h"
#include "base/reserve.h"

/* What is kept between two looks: 1 MB. */
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

int memory_areas_add_process(struct memory_areas *areas, pid_t pid, bool is_main)
{
    if (reserve(&areas->processes, &areas->process_capacity, areas->process_count + 1,
                sizeof(*areas->processes)) < 0)
        return -ENOMEM;
    areas->processes[areas->process_count++] =
        (struct area_process){ .pid = pid, .is_main = is_main };
    return 0;
}

static struct area_bytes bytes_of(const struct smaps_area *area)
{
    uint64_t shared = area->shared_clean + area->shared_dirty;
    struct area_bytes bytes = { .own = area->private_clean + area->private_dirty };

    /* Many addresses of one merged page are one page: its PSS alone tells how much. */
    bytes.shared = shared > area->merged ? shared - area->merged : 0;
    bytes.proportional = area->pss > bytes.own ? area->pss - bytes.own : 0;
    return bytes;
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
    struct area_bytes bytes = bytes_of(area);

    if (areas->seen_count >= MEMORY_AREAS_MAX)
        return -E2BIG;
    areas->seen_count++;
    if (area->rss == 0)
        return 0;
    process->rss += area->rss;
    if (area->inode != 0)
        return add_file_area(areas, area, &bytes);
    process->anonymous.own += bytes.own;
    process->anonymous.shared += bytes.shared;
    process->anonymous.proportional += bytes.proportional;
    return 0;
}

static int add_read(const struct smaps_area *area, void *data)
{
    return memory_areas_add(data, area);
}

int memory_areas_read(struct memory_areas *areas, const struct root *root, pid_t pid,
                      bool is_main)
{
    int r = memory_areas_add_process(areas, pid, is_main);

    return r < 0 ? r : smaps_read(root, pid, add_read, areas);
}
