/* SPDX-License-Identifier: Apache-2.0 */
#include "source/gpu/nvidia_list.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/reserve.h"
#include "base/unknown.h"

#define ENTRIES_AT_FIRST 32u
#define TRIES_MAX 8
#define MEMORY_OFFSET 8

/* Some troubles pass: for so long what was seen last is the better answer. */
#define PASSING_NS NS_PER_SECOND

/* How long a list that holds none of the job is left alone. */
static const uint64_t idle_period_ns[NVML_LIST_COUNT] = {
    [NVML_COMPUTE] = 50 * NS_PER_MS,
    [NVML_GRAPHICS] = 250 * NS_PER_MS,
    [NVML_MPS] = 250 * NS_PER_MS,
};

bool gpu_pids_have(const struct gpu_pids *pids, unsigned pid)
{
    size_t low = 0, high = pids->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if ((unsigned)pids->list[middle] == pid)
            return true;
        if ((unsigned)pids->list[middle] < pid)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

int nvidia_scratch_reserve(struct nvidia_scratch *scratch, size_t size)
{
    return reserve(&scratch->bytes, &scratch->size, size, 1);
}

static void list_done(struct nvidia_list *list)
{
    free(list->entries);
    *list = (struct nvidia_list){ 0 };
}

void nvidia_lists_done(struct nvidia_lists *lists)
{
    for (size_t kind = 0; kind < NVML_LIST_COUNT; kind++)
        list_done(&lists->kinds[kind]);
    list_done(&lists->merged);
}

void nvidia_lists_refresh(struct nvidia_lists *lists)
{
    memset(lists->due_ns, 0, sizeof(lists->due_ns));
}

/* Calls until the list fits: it may grow between two calls. Returns how many entries stand in
 * `scratch`, or -errno. */
static ssize_t call(const struct nvml_list *from, nvml_device device,
                    struct nvidia_scratch *scratch)
{
    size_t wanted = scratch->size / from->stride_bytes;

    wanted = wanted < ENTRIES_AT_FIRST ? ENTRIES_AT_FIRST : wanted;
    for (int tries = 0; tries < TRIES_MAX; tries++) {
        unsigned count;
        int status;

        wanted = wanted > NVIDIA_LIST_MAX ? NVIDIA_LIST_MAX : wanted;
        if (nvidia_scratch_reserve(scratch, wanted * from->stride_bytes) < 0)
            return -ENOMEM;
        /* An element that is said to be there and was not written is no process. */
        memset(scratch->bytes, 0, wanted * from->stride_bytes);
        count = (unsigned)wanted;
        status = from->get(device, &count, scratch->bytes);
        if (status == NVML_SUCCESS)
            return count < wanted ? (ssize_t)count : (ssize_t)wanted;
        if (status != NVML_INSUFFICIENT_SIZE)
            return nvml_errno(status);
        if (wanted == NVIDIA_LIST_MAX)
            return -EFBIG;
        wanted = (count > wanted ? count : wanted) * 2 + 5;
    }
    return -EFBIG;
}

/* Reads one list as it is. On failure the list stays as it was. */
static int read_list(struct nvidia_list *list, const struct nvml_list *from, bool computes,
                     nvml_device device, struct nvidia_scratch *scratch)
{
    ssize_t count = call(from, device, scratch);

    if (count < 0)
        return (int)count;
    if (reserve(&list->entries, &list->capacity, (size_t)count, sizeof(*list->entries)) < 0)
        return -ENOMEM;
    list->count = 0;
    for (size_t i = 0; i < (size_t)count; i++) {
        const char *at = scratch->bytes + i * from->stride_bytes;
        unsigned long long memory_bytes;
        unsigned pid;

        memcpy(&pid, at, sizeof(pid));
        memcpy(&memory_bytes, at + MEMORY_OFFSET, sizeof(memory_bytes));
        if (pid == 0 || pid > INT_MAX)
            continue;
        list->entries[list->count++] = (struct nvidia_entry){
            .pid = pid,
            .memory_bytes = memory_bytes == NVML_NOT_AVAILABLE_64 ? UNKNOWN : memory_bytes,
            .computes = computes,
        };
    }
    return 0;
}

static int compare_pids(const void *left, const void *right)
{
    const struct nvidia_entry *a = left, *b = right;

    return (a->pid > b->pid) - (a->pid < b->pid);
}

static uint64_t larger_known(uint64_t a, uint64_t b)
{
    if (!is_known(a) || !is_known(b))
        return is_known(a) ? a : b;
    return a > b ? a : b;
}

static int merge(struct nvidia_lists *lists)
{
    struct nvidia_list *merged = &lists->merged;
    size_t total = 0, kept = 0;

    for (size_t kind = 0; kind < NVML_LIST_COUNT; kind++)
        total += lists->kinds[kind].count;
    if (reserve(&merged->entries, &merged->capacity, total, sizeof(*merged->entries)) < 0)
        return -ENOMEM;
    merged->count = 0;
    if (total == 0)
        return 0;
    for (size_t kind = 0; kind < NVML_LIST_COUNT; kind++) {
        const struct nvidia_list *list = &lists->kinds[kind];

        if (list->count > 0)
            memcpy(merged->entries + merged->count, list->entries,
                   list->count * sizeof(*list->entries));
        merged->count += list->count;
    }
    qsort(merged->entries, merged->count, sizeof(*merged->entries), compare_pids);
    for (size_t i = 1; i < merged->count; i++) {
        struct nvidia_entry *last = &merged->entries[kept];

        if (merged->entries[i].pid != last->pid) {
            merged->entries[++kept] = merged->entries[i];
            continue;
        }
        last->memory_bytes = larger_known(last->memory_bytes, merged->entries[i].memory_bytes);
        last->computes |= merged->entries[i].computes;
    }
    merged->count = kept + 1;
    return 0;
}

/* A list that a driver does not have is empty, but for the first, which every driver has that
 * tells of processes at all. */
static bool is_answer(enum nvml_list_kind kind, int error)
{
    bool is_missing = error == -ENOTSUP || error == -EINVAL || error == -ENOSYS;

    return error == 0 || error == -ENOENT || (is_missing && kind != NVML_COMPUTE);
}

#define REFUSED(list, why) "the driver does not list " list " processes: " why
#define REFUSED_FOR(list)                                                             \
    {                                                                                 \
        REFUSED(list, "not supported"), REFUSED(list, "permission denied"),           \
            REFUSED(list, "the device is lost"), REFUSED(list, "there are too many"), \
            REFUSED(list, "unknown error")                                            \
    }

static const char *refusal_of(enum nvml_list_kind kind, int error)
{
    static const int errors[] = { -ENOTSUP, -EACCES, -ENODEV, -EFBIG };
    static const char *const reasons[NVML_LIST_COUNT][ARRAY_SIZE(errors) + 1] = {
        [NVML_COMPUTE] = REFUSED_FOR("compute"),
        [NVML_GRAPHICS] = REFUSED_FOR("graphics"),
        [NVML_MPS] = REFUSED_FOR("MPS"),
    };
    size_t i = 0;

    while (i < ARRAY_SIZE(errors) && errors[i] != error)
        i++;
    return reasons[kind][i];
}

static bool is_refused(const struct nvidia_lists *lists, enum nvml_list_kind kind,
                       uint64_t now_ns)
{
    int error = lists->errors[kind];

    if (error == 0 || lists->answered_ns[kind] == 0)
        return error != 0;
    /* Of a lost device nobody gets memory any more. */
    return error != -ENODEV && now_ns - lists->answered_ns[kind] >= PASSING_NS;
}

/* Notes why, and that it is not known what those hold who are in that list. */
static void note_refusals(struct nvidia_lists *lists, uint64_t now_ns)
{
    lists->reason = NULL;
    for (unsigned kind = 0; kind < NVML_LIST_COUNT; kind++) {
        struct nvidia_list *list = &lists->kinds[kind];

        if (!is_refused(lists, kind, now_ns))
            continue;
        for (size_t i = 0; i < list->count; i++)
            list->entries[i].memory_bytes = UNKNOWN;
        if (!lists->reason)
            lists->reason = refusal_of(kind, lists->errors[kind]);
    }
}

static bool has_any(const struct nvidia_list *list, const struct gpu_pids *pids)
{
    for (size_t i = 0; i < list->count; i++)
        if (gpu_pids_have(pids, list->entries[i].pid))
            return true;
    return false;
}

/* Asks for one list. On failure it stays as it was. */
static int ask(struct nvidia_lists *lists, enum nvml_list_kind kind, const struct nvml *nvml,
               nvml_device device, uint64_t now_ns, struct nvidia_scratch *scratch)
{
    struct nvidia_list *list = &lists->kinds[kind];
    int r = -ENOTSUP;

    if (nvml->lists[kind].get)
        r = read_list(list, &nvml->lists[kind], kind != NVML_GRAPHICS, device, scratch);
    if (is_answer(kind, r)) {
        lists->answered_ns[kind] = now_ns;
        list->count = r < 0 ? 0 : list->count;
        r = 0;
    }
    lists->errors[kind] = r;
    return r;
}

int nvidia_lists_read(struct nvidia_lists *lists, const struct nvml *nvml, nvml_device device,
                      const struct gpu_pids *pids, uint64_t now_ns,
                      struct nvidia_scratch *scratch)
{
    bool has_changed = false;
    int r = 0;

    for (unsigned kind = 0; kind < NVML_LIST_COUNT && r != -ENODEV; kind++) {
        const struct nvidia_list *list = &lists->kinds[kind];

        if (now_ns < lists->due_ns[kind])
            continue;
        r = ask(lists, kind, nvml, device, now_ns, scratch);
        has_changed = true;
        lists->due_ns[kind] = has_any(list, pids) ? 0 : now_ns + idle_period_ns[kind];
    }
    note_refusals(lists, now_ns);
    if (has_changed && merge(lists) < 0)
        return -ENOMEM;
    return r == -ENODEV ? r : 0;
}
