/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvidia_processes.c - how processes use each device: the driver's lists of processes and its
 * samples of them.
 *
 * Inside a container the driver's PIDs are not always ours:
 *
 * - before 535.113 the lists contain the host's PIDs, and before 565.57 the memory of a process
 *   is 0: with these drivers, the memory and the busy time of processes are unknown
 *   (nvidia_needs_newer_driver);
 * - samples of utilization, and accounting, still contain the host's PIDs. If the job's process
 *   is alone on the device (it holds all memory in use) and all samples name one PID, the
 *   samples belong to that process, and its busy time is marked as attributed. Otherwise its
 *   busy time is unknown.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/reserve.h"
#include "source/gpu/nvidia.h"

/* The kernel driver lists no more than 950 processes. */
#define LIST_MAX 4096
#define ACCOUNTS_MAX 16384
#define MEMORY_OFFSET 8

/* Some failures are temporary: the last values are used for this long. */
#define PASSING_NS NS_PER_SECOND

#define USAGE_MOST_NS (4 * NS_PER_SECOND)
/* Maximum age of the lists: two processes could swap the same amount of memory without a change
 * of the total. */
#define LISTED_MOST_NS (2 * NS_PER_SECOND)
/* The lists lack some MiB per process that the driver uses; a compute process uses 100 MiB. */
#define UNLISTED_BYTES (64ull << 20)
#define EXPLAIN_TRIES 3

static const char memory_hidden[] = "the driver does not report the memory of processes here";
static const char memory_absurd[] =
    "the driver reports more memory for a process than the device has";
static const char memory_zero[] =
    "the driver reports no memory for a process that uses the device";
const char nvidia_needs_newer_driver[] =
    "inside a container, NVIDIA drivers report what a process uses only from version 565.57 on";
static const char busy_hidden[] = "the driver keeps no per-process samples on this device";
static const char busy_part[] = "the driver keeps no per-process samples on MIG devices";
static const char busy_unclear[] =
    "the driver's samples use process IDs from outside the container";

/* ---- the lists ------------------------------------------------------------ */

void nvidia_lists_done(struct nvidia_lists *lists)
{
    for (size_t kind = 0; kind < NVML_LIST_COUNT; kind++)
        free(lists->kinds[kind].entries);
    free(lists->merged.entries);
}

static int call_list(const struct nvidia_request *request, unsigned *count, void *list)
{
    return request->list(request->device, count, list);
}

/* Reads one list as it is into `list`, which does not change on failure. */
static int read_list(struct nvidia *nvidia, const struct nvidia_device *device,
                     enum nvml_list_kind kind, struct nvidia_list *list)
{
    const struct nvidia_request request = { .device = device->of.device,
                                            .list = nvidia->nvml.lists[kind].get };
    size_t stride_bytes = nvidia->nvml.lists[kind].stride_bytes;
    ssize_t count =
        nvidia_fetch(&nvidia->buffers.pids, stride_bytes, LIST_MAX, call_list, &request);

    if (count < 0)
        return (int)count;
    if (reserve(&list->entries, &list->capacity, (size_t)count, sizeof(*list->entries)) < 0)
        return -ENOMEM;
    list->count = 0;
    for (size_t i = 0; i < (size_t)count; i++) {
        const char *at = (const char *)nvidia->buffers.pids.list + i * stride_bytes;
        unsigned long long memory_bytes;
        unsigned pid;

        memcpy(&pid, at, sizeof(pid));
        memcpy(&memory_bytes, at + MEMORY_OFFSET, sizeof(memory_bytes));
        if (pid == 0 || pid > INT_MAX)
            continue;
        list->entries[list->count++] = (struct nvidia_entry){
            .pid = pid,
            .memory_bytes = memory_bytes == NVML_NOT_AVAILABLE_64 ? UNKNOWN : memory_bytes,
            .computes = kind != NVML_GRAPHICS,
        };
    }
    return 0;
}

static int compare_pids(const void *left, const void *right)
{
    const struct nvidia_entry *a = left, *b = right;

    return compare_u64(a->pid, b->pid);
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
        raise_to(&last->memory_bytes, merged->entries[i].memory_bytes);
        last->computes |= merged->entries[i].computes;
    }
    merged->count = kept + 1;
    return 0;
}

/* Whether a result counts as an answer. A missing list counts as empty, except the compute
 * list: every driver that reports processes has it. */
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
    /* A process cannot get more memory on a lost device. */
    return error != -ENODEV && now_ns - lists->answered_ns[kind] >= PASSING_NS;
}

/* Sets the reason if a list is refused, and marks the memory of the processes in that list as
 * unknown. */
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

/* Reads one list and records the outcome. On failure the list does not change. */
static int read_one(struct nvidia *nvidia, struct nvidia_device *device,
                    enum nvml_list_kind kind, uint64_t now_ns)
{
    struct nvidia_lists *lists = &device->lists;
    struct nvidia_list *list = &lists->kinds[kind];
    int r = -ENOTSUP;

    if (nvidia->nvml.lists[kind].get)
        r = read_list(nvidia, device, kind, list);
    if (is_answer(kind, r)) {
        lists->answered_ns[kind] = now_ns;
        list->count = r < 0 ? 0 : list->count;
        r = 0;
    }
    lists->errors[kind] = r;
    return r;
}

/* Reads the lists of a device. If it is lost, its lists do not change. */
static void read_lists(struct nvidia *nvidia, struct nvidia_device *device, uint64_t now_ns)
{
    struct nvidia_lists *lists = &device->lists;
    int r = 0;

    if (nvidia->is_too_old) {
        lists->reason = nvidia_needs_newer_driver;
        return;
    }
    for (unsigned kind = 0; kind < NVML_LIST_COUNT && r != -ENODEV; kind++)
        r = read_one(nvidia, device, kind, now_ns);
    note_refusals(lists, now_ns);
    (void)merge(lists); /* unchanged if memory runs out */
    device->listed_ns = now_ns;
    for (size_t i = 0; i < lists->merged.count && device->has_usage; i++)
        (void)nvidia_clients_expect(&device->clients, (pid_t)lists->merged.entries[i].pid);
}

/* ---- usage of a process ------------------------------------------------------ */

struct sink {
    struct gpu_process *list;
    size_t capacity, count;
};

/* Whether samples name the process. A process that is listed but has no samples may have
 * samples under another PID. */
static bool has_worked(const struct nvidia_client *client)
{
    return client && (client->last_us != 0 || client->busy_ns > 0);
}

/* Whether samples under a foreign PID cannot belong to this process. */
static bool is_settled(const struct nvidia_client *client)
{
    return client && (client->is_named || client->is_over);
}

/* Whether the driver has reported busy times of processes, or may still do so. */
static bool reports_busy(const struct nvidia_device *device)
{
    return device->has_usage && (device->clients.covered_ns > 0 || !device->is_usage_failing);
}

static void set_busy(const struct nvidia_device *device, struct gpu_process *process)
{
    const struct nvidia_client *client = nvidia_clients_find(&device->clients, process->pid);
    const char *reason = device->facts.is_part ? busy_part : busy_hidden;

    process->busy_ns = UNKNOWN;
    process->busy_covered_ns = UNKNOWN;
    if (reports_busy(device) && (is_settled(client) || !device->has_foreign)) {
        process->busy_ns = client ? client->busy_ns : 0;
        process->is_busy_attributed = device->has_concluded && process->busy_ns > 0;
        process->busy_covered_ns = device->clients.covered_ns;
        return;
    }
    if (reports_busy(device))
        reason = busy_unclear;
    if (!process->reason)
        process->reason = reason;
}

static void emit(struct sink *sink, const struct nvidia_device *device,
                 struct gpu_process process)
{
    set_busy(device, &process);
    if (sink->count < sink->capacity)
        sink->list[sink->count] = process;
    sink->count++;
}

static const char *why_hidden(const struct nvidia_device *device, uint64_t reported_bytes)
{
    if (is_known(reported_bytes))
        return memory_absurd;
    return device->lists.reason ? device->lists.reason : memory_hidden;
}

static void emit_listed(const struct nvidia *nvidia, size_t index, size_t place,
                        bool is_the_jobs, struct sink *sink)
{
    const struct nvidia_device *device = &nvidia->devices[index];
    const struct nvidia_entry *entry = &device->lists.merged.entries[place];
    struct gpu_process process = {
        .pid = (pid_t)entry->pid,
        .device = (unsigned)index,
        .memory_bytes = nvidia_device_plausible_bytes(device, entry->memory_bytes),
        .computes = entry->computes,
    };

    if (!is_known(process.memory_bytes)) {
        process.reason = why_hidden(device, entry->memory_bytes);
    } else if (is_the_jobs && process.memory_bytes == 0) {
        process.memory_bytes = UNKNOWN;
        process.reason = memory_zero;
    }
    emit(sink, device, process);
}

static bool is_listed(const struct nvidia_list *list, pid_t pid)
{
    size_t place = gpu_pids_place(list->entries, list->count, sizeof(*list->entries), pid);

    return place < list->count && list->entries[place].pid == (unsigned)pid;
}

/* Adds processes of the job that occur only in samples: they have exited, or closed the
 * device. */
static void emit_ended(const struct nvidia *nvidia, size_t index, const struct gpu_pids *pids,
                       struct sink *sink)
{
    const struct nvidia_device *device = &nvidia->devices[index];

    for (size_t i = 0; i < device->clients.count; i++) {
        pid_t pid = device->clients.list[i].pid;
        struct gpu_process process = { .pid = pid, .device = (unsigned)index };

        if (!has_worked(&device->clients.list[i]) || !gpu_pids_have(pids, pid) ||
            is_listed(&device->lists.merged, pid))
            continue;
        process.has_ended = !device->lists.reason;
        process.memory_bytes = process.has_ended ? 0 : UNKNOWN;
        process.reason = device->lists.reason;
        emit(sink, device, process);
    }
}

static void emit_device(const struct nvidia *nvidia, size_t index, const struct gpu_pids *pids,
                        struct sink *sink)
{
    const struct nvidia_list *list = &nvidia->devices[index].lists.merged;

    for (size_t i = 0; i < list->count; i++)
        emit_listed(nvidia, index, i, gpu_pids_have(pids, (pid_t)list->entries[i].pid), sink);
    emit_ended(nvidia, index, pids, sink);
}

/* Whether the lists must be read. Reading the device's memory in use takes a third of the time
 * of reading the lists, and while it does not change, neither does the memory of processes. */
static bool must_list(struct nvidia_device *device, uint64_t now_ns)
{
    uint64_t used_bytes = nvidia_device_own_memory_used(device);
    bool has_moved = used_bytes != device->listed_bytes;

    device->listed_bytes = used_bytes;
    return !is_known(used_bytes) || has_moved || now_ns - device->listed_ns >= LISTED_MOST_NS;
}

ssize_t nvidia_processes(struct nvidia *nvidia, const struct gpu_pids *pids,
                         struct gpu_process *list, size_t capacity, uint64_t now_ns)
{
    struct sink sink = { .list = list, .capacity = capacity };

    for (size_t i = 0; i < nvidia->count; i++) {
        struct nvidia_device *device = &nvidia->devices[i];

        if (device->has_parts)
            continue;
        if (must_list(device, now_ns))
            read_lists(nvidia, device, now_ns);
        emit_device(nvidia, i, pids, &sink);
    }
    return (ssize_t)sink.count;
}

/* Sets the reasons. Even without lists, samples name the busy processes. */
void nvidia_processes_explain(const struct nvidia *nvidia, size_t index,
                              struct gpu_reading *reading)
{
    const struct nvidia_device *device = &nvidia->devices[index];
    const char *reason = device->lists.reason;

    reading->process_memory_reason = reason;
    reading->processes_reason =
        !nvidia->is_nested && device->has_usage && device->clients.covered_ns > 0 ? NULL
                                                                                  : reason;
}

static bool has_released(pid_t pid, const void *data)
{
    const struct nvidia_lists *lists = data;

    return !lists->reason && !is_listed(&lists->merged, pid);
}

/* Fetches the samples of processes. The first call shows whether the driver has any. */
static ssize_t fetch_usage(struct nvidia_device *device, uint64_t period_us)
{
    uint64_t since_us = nvidia_clients_since_us(&device->clients, period_us);
    ssize_t n = nvidia_usage_get(&device->of, since_us);

    device->has_usage = n != -ENOTSUP && n != -EACCES;
    device->is_usage_failing = n < 0;
    return n;
}

/* Whether the listed processes hold all memory in use, so that no other container uses the
 * device. */
static bool is_explained(const struct nvidia_list *list, uint64_t used_bytes)
{
    uint64_t listed_bytes = 0;

    for (size_t i = 0; i < list->count; i++)
        listed_bytes = sum_u64(listed_bytes, list->entries[i].memory_bytes);
    return is_known(used_bytes) && is_known(listed_bytes) &&
           sub_floor0(used_bytes, listed_bytes) < UNLISTED_BYTES;
}

/* Like is_explained(), but tries again, since memory may change between the two calls. */
static bool is_all_explained(struct nvidia *nvidia, struct nvidia_device *device,
                             uint64_t now_ns)
{
    for (int tries = 0; tries < EXPLAIN_TRIES; tries++) {
        uint64_t used_bytes = nvidia_device_own_memory_used(device);

        if (is_explained(&device->lists.merged, used_bytes))
            return true;
        read_lists(nvidia, device, now_ns);
    }
    return false;
}

static bool is_alone(struct nvidia *nvidia, struct nvidia_device *device, unsigned pid,
                     uint64_t now_ns)
{
    const struct nvidia_list *list = &device->lists.merged;

    return !device->lists.reason && list->count == 1 && list->entries[0].pid == pid &&
           list->entries[0].memory_bytes > 0 && is_all_explained(nvidia, device, now_ns);
}

/* Whether `pid`, from a sample, is our PID of a process that was seen on the device. */
static bool is_named(const struct nvidia_device *device, const struct gpu_pids *pids,
                     unsigned pid)
{
    return is_listed(&device->lists.merged, (pid_t)pid) ||
           (gpu_pids_have(pids, (pid_t)pid) &&
            nvidia_clients_find(&device->clients, (pid_t)pid));
}

/* PIDs in samples that are not ours. */
struct foreign {
    unsigned pid; /* the last foreign PID; 0: none */
    bool is_only; /* all samples have this PID */
};

static struct foreign find_foreign(const struct nvidia_device *device,
                                   const struct gpu_pids *pids,
                                   const struct nvml_process_usage *usage, size_t count)
{
    struct foreign foreign = { .is_only = true };

    for (size_t i = 0; i < count; i++) {
        if (is_named(device, pids, usage[i].pid)) {
            foreign.is_only = false;
            continue;
        }
        foreign.is_only &= foreign.pid == 0 || foreign.pid == usage[i].pid;
        foreign.pid = usage[i].pid;
    }
    return foreign;
}

/* Inside a container: replaces the host's PID in samples by our PID, if the samples allow this
 * conclusion. Otherwise replaces a foreign PID that equals one of the job's PIDs by 0. */
static void name_samples(struct nvidia *nvidia, struct nvidia_device *device,
                         const struct gpu_pids *pids, uint64_t now_ns, size_t count)
{
    const struct nvidia_list *list = &device->lists.merged;
    struct nvml_process_usage *usage = nvidia->buffers.usage.list;
    unsigned ours = list->count == 1 ? list->entries[0].pid : 0;
    struct foreign foreign;

    if (!nvidia->is_nested || count == 0) /* no samples, so no new information */
        return;
    foreign = find_foreign(device, pids, usage, count);
    if (!foreign.is_only || !gpu_pids_have(pids, (pid_t)ours) ||
        !is_alone(nvidia, device, ours, now_ns))
        ours = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_named(device, pids, usage[i].pid) &&
            (ours != 0 || gpu_pids_have(pids, (pid_t)usage[i].pid)))
            usage[i].pid = ours;
    }
    device->has_foreign = foreign.pid != 0 && ours == 0;
    device->has_concluded |= ours != 0;
}

/* Reads the samples of the device and of its processes together. If the device was idle, so
 * were its processes. */
static int read_usage(struct nvidia *nvidia, struct nvidia_device *device,
                      const struct gpu_pids *pids, uint64_t now_ns)
{
    const struct busy_meter *busy = &device->meters.list[METER_GPU].busy;
    struct nvidia_answer answer = { .device_busy_ns = UNKNOWN,
                                    .has_ended = has_released,
                                    .data = &device->lists };
    ssize_t n;
    int r = nvidia_meters_read_gpu(&device->meters, now_ns);

    if (r == 0 && nvidia_meters_see_all(&device->meters)) {
        answer.device_busy_ns = busy->busy_ns - device->usage_busy_ns;
        answer.device_last_us = busy->last_us;
    }
    answer.period_us = busy->period_us;
    answer.now_us = clock_now().realtime_ns / NS_PER_US;
    n = answer.device_busy_ns == 0 ? 0 : fetch_usage(device, answer.period_us);
    nvidia_meters_note_usage(&device->meters, nvidia->buffers.usage.list, n);
    if (n < 0)
        return (int)n;
    device->usage_busy_ns = busy->busy_ns;
    name_samples(nvidia, device, pids, now_ns, (size_t)n);
    answer.list = nvidia->buffers.usage.list;
    answer.count = (size_t)n;
    return nvidia_clients_add(&device->clients, &answer);
}

int nvidia_read_busy(void *vendor, const struct gpu_pids *pids, uint64_t now_ns)
{
    struct nvidia *nvidia = vendor;
    int result = 0;

    for (size_t i = 0; i < nvidia->count; i++) {
        struct nvidia_device *device = &nvidia->devices[i];
        int r;

        if (!device->has_usage || !nvidia_pace_begin(&device->clients_pace, now_ns))
            continue;
        read_lists(nvidia, device, now_ns); /* finds exited processes */
        r = read_usage(nvidia, device, pids, now_ns);
        nvidia_pace_end(&device->clients_pace, now_ns, NVIDIA_USAGE_LEAST_NS, USAGE_MOST_NS);
        result = r < 0 ? r : result;
    }
    return result;
}

/* ---- accounting ----------------------------------------------------------- */

/* Whether accounting is enabled. An administrator enables it; we never do. Accounts have the
 * host's PIDs, so inside a container an account that seems to be ours belongs to a foreign
 * process. */
static bool is_on(const struct nvidia_subject *of)
{
    const struct nvml *nvml = of->nvml;
    int mode = 0;

    return nvml->accounting_mode && nvml->accounting_pids && nvml->accounting &&
           nvml->accounting_mode(of->device, &mode) == NVML_SUCCESS && mode == 1;
}

/* Whether an account belongs to this run. An account that ended before the run belongs to an
 * earlier process with the same PID. */
static bool is_ours(const struct nvml_accounting *stats, uint64_t opened_us)
{
    uint64_t ended_us = sum_u64(stats->start_us, product_u64(stats->time_ms, 1000));

    return stats->is_running || ended_us >= opened_us;
}

static int call_accounted(const struct nvidia_request *request, unsigned *count, void *list)
{
    return request->nvml->accounting_pids(request->device, count, list);
}

static size_t add_device(struct nvidia *nvidia, size_t index, const struct gpu_pids *pids,
                         struct gpu_record *list, size_t capacity, size_t used)
{
    nvml_device device = nvidia->devices[index].of.device;
    const struct nvidia_request request = { .nvml = &nvidia->nvml, .device = device };
    ssize_t n = nvidia_fetch(&nvidia->buffers.pids, sizeof(unsigned), ACCOUNTS_MAX,
                             call_accounted, &request);
    const unsigned *accounted = nvidia->buffers.pids.list;

    for (ssize_t i = 0; i < n; i++) {
        struct nvml_accounting stats = { 0 };

        if (!gpu_pids_have(pids, (pid_t)accounted[i]) ||
            nvidia->nvml.accounting(device, accounted[i], &stats) != NVML_SUCCESS ||
            !is_ours(&stats, nvidia->opened_us))
            continue;
        if (used < capacity)
            list[used] = (struct gpu_record){
                .pid = (pid_t)accounted[i],
                .device = (unsigned)index,
                .peak_memory_bytes = nvidia_device_plausible_bytes(&nvidia->devices[index],
                                                                   stats.max_memory_bytes),
            };
        used++;
    }
    return used;
}

/* Whether the driver keeps accounts of a device. It does so only for whole devices. */
bool nvidia_has_accounts(const struct nvidia *nvidia, size_t index)
{
    const struct nvidia_device *device = &nvidia->devices[index];

    return !nvidia->is_nested && !device->facts.is_part && is_on(&device->of);
}

ssize_t nvidia_accounts(void *vendor, const struct gpu_pids *pids, struct gpu_record *list,
                        size_t capacity)
{
    struct nvidia *nvidia = vendor;
    size_t used = 0;

    for (size_t i = 0; i < nvidia->count; i++) {
        if (nvidia_has_accounts(nvidia, i))
            used = add_device(nvidia, i, pids, list, capacity, used);
    }
    return (ssize_t)used;
}
