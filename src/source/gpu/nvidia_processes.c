/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvidia_processes.c - what each process uses of each device: the driver's lists of processes and
 * its samples of them.
 *
 * Inside a container the driver's pids are not always ours:
 *
 * - before 535.113 the lists carry the host's pids, and until 565.57 the memory of a process is 0:
 *   the memory and the busy time of processes are unknown there (nvidia_needs_newer_driver);
 * - samples of utilisation, and accounting, carry the host's pids still. If the job's process is alone
 *   on the device (the memory in use is what that process holds) and the samples name one pid, they are
 *   of that process, and are marked as attributed. Otherwise its busy time is unknown.
 */
#include <errno.h>
#include <limits.h>

#include "base/arithmetic.h"
#include "base/clock.h"
#include "base/unknown.h"
#include "source/gpu/nvidia.h"

#define USAGE_MOST_NS (4 * NS_PER_SECOND)
/* Two processes could give and take the same amount. */
#define LISTED_MOST_NS (2 * NS_PER_SECOND)
/* The driver has some MiB in use for each process that are in no list; a process that computes
 * holds 100 MiB and more. */
#define NOBODYS_BYTES (64ull << 20)
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

struct sink {
    struct gpu_process *list;
    size_t capacity, count;
};

/* One that is merely on the list may have samples under another number. */
static bool has_worked(const struct nvidia_client *client)
{
    return client && (client->last_us != 0 || client->busy_ns > 0);
}

/* Can samples under a number that we do not know not be its own? */
static bool is_settled(const struct nvidia_client *client)
{
    return client && (client->is_named || client->is_over);
}

/* Has the driver told what processes were busy with, or may still do so? */
static bool tells_busy(const struct nvidia_device *device)
{
    return device->has_usage && (device->clients.covered_ns > 0 || !device->is_usage_failing);
}

static void set_busy(const struct nvidia_device *device, struct gpu_process *process)
{
    const struct nvidia_client *client = nvidia_clients_find(&device->clients, process->pid);
    const char *reason = device->facts.is_part ? busy_part : busy_hidden;

    process->busy_ns = UNKNOWN;
    process->busy_covered_ns = UNKNOWN;
    if (tells_busy(device) && (is_settled(client) || !device->has_foreign)) {
        process->busy_ns = client ? client->busy_ns : 0;
        process->is_busy_attributed = device->has_concluded && process->busy_ns > 0;
        process->busy_covered_ns = device->clients.covered_ns;
        return;
    }
    if (tells_busy(device))
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

static const char *why_hidden(const struct nvidia_device *device, uint64_t told_bytes)
{
    if (is_known(told_bytes))
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
        .memory_bytes = nvidia_device_believe(device, entry->memory_bytes),
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
    for (size_t i = 0; i < list->count; i++)
        if (list->entries[i].pid == (unsigned)pid)
            return true;
    return false;
}

/* Processes of the job that only the samples know: they ended, or let go of the device. */
static void emit_ended(const struct nvidia *nvidia, size_t index, const struct gpu_pids *pids,
                       struct sink *sink)
{
    const struct nvidia_device *device = &nvidia->devices[index];

    for (size_t i = 0; i < device->clients.count; i++) {
        pid_t pid = device->clients.list[i].pid;
        struct gpu_process process = { .pid = pid, .device = (unsigned)index };

        if (!has_worked(&device->clients.list[i]) || !gpu_pids_have(pids, (unsigned)pid) ||
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
        emit_listed(nvidia, index, i, gpu_pids_have(pids, list->entries[i].pid), sink);
    emit_ended(nvidia, index, pids, sink);
}

/* What a lost device held stays as it was last seen. */
static void read_lists(struct nvidia *nvidia, struct nvidia_device *device,
                       const struct gpu_pids *pids, uint64_t now_ns)
{
    if (nvidia->is_too_old) {
        device->lists.reason = nvidia_needs_newer_driver;
        return;
    }
    (void)nvidia_lists_read(&device->lists, &nvidia->nvml, device->handle, pids, now_ns,
                            &nvidia->scratch);
    device->listed_ns = now_ns;
    for (size_t i = 0; i < device->lists.merged.count && device->has_usage; i++)
        (void)nvidia_clients_expect(&device->clients,
                                    (pid_t)device->lists.merged.entries[i].pid);
}

/* The device's memory in use is asked for in a third of the time that the lists take. While it
 * stands still, so does what processes have of it. */
static bool must_list(const struct nvidia *nvidia, struct nvidia_device *device,
                      uint64_t now_ns)
{
    uint64_t used_bytes = nvidia_device_own_memory_used(device->handle, &nvidia->nvml);
    bool has_moved = used_bytes != device->listed_bytes;

    device->listed_bytes = used_bytes;
    if (!is_known(used_bytes))
        return true;
    if (has_moved)
        nvidia_lists_refresh(&device->lists);
    return has_moved || now_ns - device->listed_ns >= LISTED_MOST_NS;
}

ssize_t nvidia_processes(struct nvidia *nvidia, const struct gpu_pids *pids,
                         struct gpu_process *list, size_t capacity, uint64_t now_ns)
{
    struct sink sink = { .list = list, .capacity = capacity };

    for (size_t i = 0; i < nvidia->count; i++) {
        struct nvidia_device *device = &nvidia->devices[i];

        if (device->has_parts)
            continue;
        if (must_list(nvidia, device, now_ns))
            read_lists(nvidia, device, pids, now_ns);
    }
    for (size_t i = 0; i < nvidia->count; i++) {
        if (!nvidia->devices[i].has_parts)
            emit_device(nvidia, i, pids, &sink);
    }
    return (ssize_t)sink.count;
}

/* Without lists there are still the samples, which name those that were busy. */
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

static bool has_let_go(pid_t pid, const void *data)
{
    const struct nvidia_lists *lists = data;

    return !lists->reason && !is_listed(&lists->merged, pid);
}

/* The first answer shows whether the driver has such samples. */
static ssize_t ask_usage(struct nvidia *nvidia, struct nvidia_device *device,
                         uint64_t period_us)
{
    ssize_t n = nvidia_samples_get_usage(&nvidia->samples, &nvidia->nvml, device->handle,
                                         nvidia_clients_since_us(&device->clients, period_us));

    device->has_usage = n != -ENOTSUP && n != -EACCES;
    device->is_usage_failing = n < 0;
    return n;
}

/* Is the memory in use that of the listed? Those of other containers are not. */
static bool is_explained(const struct nvidia_list *list, uint64_t used_bytes)
{
    uint64_t listed_bytes = 0;

    for (size_t i = 0; i < list->count; i++)
        listed_bytes = sum_u64(listed_bytes, list->entries[i].memory_bytes);
    return is_known(used_bytes) && is_known(listed_bytes) &&
           sub_floor0(used_bytes, listed_bytes) < NOBODYS_BYTES;
}

/* Memory may move between the two questions. */
static bool is_all_explained(struct nvidia *nvidia, struct nvidia_device *device,
                             const struct gpu_pids *pids, uint64_t now_ns)
{
    for (int tries = 0; tries < EXPLAIN_TRIES; tries++) {
        uint64_t used_bytes = nvidia_device_own_memory_used(device->handle, &nvidia->nvml);

        if (is_explained(&device->lists.merged, used_bytes))
            return true;
        nvidia_lists_refresh(&device->lists);
        read_lists(nvidia, device, pids, now_ns);
    }
    return false;
}

/* Whether only this process uses the device. */
static bool is_alone(struct nvidia *nvidia, struct nvidia_device *device, unsigned pid,
                     const struct gpu_pids *pids, uint64_t now_ns)
{
    const struct nvidia_list *list = &device->lists.merged;

    return !device->lists.reason && list->count == 1 && list->entries[0].pid == pid &&
           list->entries[0].memory_bytes > 0 && is_all_explained(nvidia, device, pids, now_ns);
}

/* Whether a sample is under our pid of a process that was seen on the device. */
static bool is_named(const struct nvidia_device *device, const struct gpu_pids *pids,
                     unsigned pid)
{
    return is_listed(&device->lists.merged, (pid_t)pid) ||
           (gpu_pids_have(pids, pid) && nvidia_clients_find(&device->clients, (pid_t)pid));
}

/* The pids of samples that are not ours. */
struct foreign {
    unsigned pid; /* the last; 0: there is none */
    bool is_only; /* all samples are under this pid */
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

/* Inside a container: replaces the host's pid in samples by ours if it is known, else a pid that is by
 * chance one of the job's by 0. */
static void name_samples(struct nvidia *nvidia, struct nvidia_device *device,
                         const struct gpu_pids *pids, uint64_t now_ns, size_t count)
{
    const struct nvidia_list *list = &device->lists.merged;
    struct nvml_process_usage *usage = nvidia->samples.usage;
    unsigned ours = list->count == 1 ? list->entries[0].pid : 0;
    struct foreign foreign;

    if (!nvidia->is_nested || count == 0) /* no samples: nothing new is known */
        return;
    foreign = find_foreign(device, pids, usage, count);
    if (!foreign.is_only || !gpu_pids_have(pids, ours) ||
        !is_alone(nvidia, device, ours, pids, now_ns))
        ours = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_named(device, pids, usage[i].pid) &&
            (ours != 0 || gpu_pids_have(pids, usage[i].pid)))
            usage[i].pid = ours;
    }
    device->has_foreign = foreign.pid != 0 && ours == 0;
    device->has_concluded |= ours != 0;
}

/* The device's samples and those of its processes, together. Where the device did nothing at all
 * its processes did not either. */
static int read_usage(struct nvidia *nvidia, struct nvidia_device *device,
                      const struct gpu_pids *pids, uint64_t now_ns)
{
    struct nvidia_samples *samples = &nvidia->samples;
    const struct busy_meter *busy = &device->meters.list[METER_GPU].busy;
    struct nvidia_answer answer = { .device_busy_ns = UNKNOWN,
                                    .has_ended = has_let_go,
                                    .data = &device->lists };
    ssize_t n;
    int r =
        nvidia_meters_read_gpu(&device->meters, &nvidia->nvml, device->handle, now_ns, samples);

    if (r == 0 && nvidia_meters_see_all(&device->meters)) {
        answer.device_busy_ns = busy->busy_ns - device->usage_busy_ns;
        answer.device_last_us = busy->last_us;
    }
    answer.period_us = busy->period_us;
    answer.now_us = clock_now().realtime_ns / NS_PER_US;
    n = answer.device_busy_ns == 0 ? 0 : ask_usage(nvidia, device, answer.period_us);
    nvidia_meters_note_usage(&device->meters, samples->usage, n);
    if (n < 0)
        return (int)n;
    device->usage_busy_ns = busy->busy_ns;
    name_samples(nvidia, device, pids, now_ns, (size_t)n);
    answer.list = samples->usage;
    answer.count = (size_t)n;
    return nvidia_clients_add(&device->clients, &answer);
}

int nvidia_processes_read_busy(struct nvidia *nvidia, const struct gpu_pids *pids,
                               uint64_t now_ns)
{
    int result = 0;

    for (size_t i = 0; i < nvidia->count; i++) {
        struct nvidia_device *device = &nvidia->devices[i];
        int r;

        if (!device->has_usage || !nvidia_pace_begin(&device->clients_pace, now_ns))
            continue;
        nvidia_lists_refresh(&device->lists); /* to know who has ended */
        read_lists(nvidia, device, pids, now_ns);
        r = read_usage(nvidia, device, pids, now_ns);
        nvidia_pace_end(&device->clients_pace, now_ns, NVIDIA_USAGE_LEAST_NS, USAGE_MOST_NS);
        result = r < 0 ? r : result;
    }
    return result;
}
