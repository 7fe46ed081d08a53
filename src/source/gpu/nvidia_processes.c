/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvidia_processes.c - what each process uses of each device: the driver's lists and samples,
 * read by the ladder of nvidia_namespace.h.
 */
#include <errno.h>
#include <limits.h>

#include "base/arithmetic.h"
#include "base/clock.h"
#include "base/unknown.h"
#include "source/gpu/nvidia.h"

#define HOLDERS_LEAST_NS (200 * NS_PER_MS)
#define HOLDERS_MOST_NS (5 * NS_PER_SECOND)
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
    "inside a container, this driver does not report the memory of a process";
static const char memory_unclear[] =
    "inside a container, this driver does not report which processes belong to the job";
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
    if (tells_busy(device) && (is_settled(client) || device->foreign_count == 0)) {
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

/* What the device's use has grown by since before the job. */
static uint64_t grown_bytes(const struct nvidia *nvidia, const struct nvidia_device *device)
{
    uint64_t total_bytes, used_bytes;

    if (nvidia_device_read_memory(device->handle, &nvidia->nvml, nvidia->root, &total_bytes,
                                  &used_bytes) < 0 ||
        !is_known(used_bytes) || !is_known(device->baseline_bytes) ||
        used_bytes < device->baseline_bytes)
        return UNKNOWN;
    return used_bytes - device->baseline_bytes;
}

static const char *why_hidden(const struct nvidia_device *device, uint64_t told_bytes)
{
    if (is_known(told_bytes))
        return memory_absurd;
    return device->lists.reason ? device->lists.reason : memory_hidden;
}

/* Rungs 1 and 2: a process that the list names. */
static void emit_listed(const struct nvidia *nvidia, size_t index, size_t place,
                        bool is_the_jobs, struct sink *sink)
{
    const struct nvidia_device *device = &nvidia->devices[index];
    const struct nvidia_list *list = &device->lists.merged;
    struct gpu_process process = {
        .pid = (pid_t)list->entries[place].pid,
        .device = (unsigned)index,
        .memory_bytes = nvidia_device_believe(device, list->entries[place].memory_bytes),
        .computes = list->entries[place].computes,
    };

    if (!is_known(process.memory_bytes)) {
        process.reason = why_hidden(device, list->entries[place].memory_bytes);
    } else if (is_the_jobs && process.memory_bytes == 0) {
        process.memory_bytes =
            nvidia->ns.is_nested && list->count == 1 ? grown_bytes(nvidia, device) : UNKNOWN;
        process.is_attributed = is_known(process.memory_bytes);
        process.reason = process.is_attributed ? NULL : memory_zero;
    }
    emit(sink, device, process);
}

/* Rung 3: a process that the list does not name, but that has the device open. Returns whether
 * the one entry of the list is taken to be it. */
static bool emit_holder(const struct nvidia *nvidia, size_t index, struct sink *sink)
{
    const struct nvidia_device *device = &nvidia->devices[index];
    const struct nvidia_list *list = &device->lists.merged;
    const struct nvidia_holder *holder = &nvidia->holders[index];
    struct gpu_process process = {
        .pid = holder->pid,
        .device = (unsigned)index,
        .memory_bytes = UNKNOWN,
        .reason = device->lists.reason ? device->lists.reason : memory_unclear,
    };
    bool is_entry =
        holder->count == 1 && list->count == 1 &&
        nvidia_namespace_is_foreign(&nvidia->ns, nvidia->root, list->entries[0].pid);

    if (is_entry && list->entries[0].memory_bytes != 0)
        process.memory_bytes = nvidia_device_believe(device, list->entries[0].memory_bytes);
    else if (is_entry || (holder->count == 1 && list->count == 0))
        process.memory_bytes = grown_bytes(nvidia, device);
    if (is_known(process.memory_bytes)) {
        process.is_attributed = true;
        process.reason = NULL;
    }
    emit(sink, device, process);
    return is_entry;
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
                       pid_t holder, struct sink *sink)
{
    const struct nvidia_device *device = &nvidia->devices[index];

    for (size_t i = 0; i < device->clients.count; i++) {
        pid_t pid = device->clients.list[i].pid;
        struct gpu_process process = { .pid = pid, .device = (unsigned)index };

        if (pid == holder || !has_worked(&device->clients.list[i]) ||
            !gpu_pids_have(pids, (unsigned)pid) || is_listed(&device->lists.merged, pid))
            continue;
        process.has_ended = !device->lists.reason;
        process.memory_bytes = process.has_ended ? 0 : UNKNOWN;
        process.reason = device->lists.reason;
        emit(sink, device, process);
    }
}

static void emit_device(struct nvidia *nvidia, size_t index, const struct gpu_pids *pids,
                        struct sink *sink)
{
    struct nvidia_device *device = &nvidia->devices[index];
    const struct nvidia_list *list = &device->lists.merged;
    bool is_taken = false;
    pid_t holder = 0;
    size_t ours = 0;

    for (size_t i = 0; i < list->count; i++) {
        if (gpu_pids_have(pids, list->entries[i].pid)) {
            ours++;
            device->sole_pid = (pid_t)list->entries[i].pid;
        }
    }
    if (ours == 0 && nvidia->holders && !nvidia->lists_name_us &&
        nvidia->holders[index].count > 0) {
        holder = nvidia->holders[index].pid;
        is_taken = emit_holder(nvidia, index, sink);
        device->sole_pid = holder;
        ours = nvidia->holders[index].count;
    }
    if (ours != 1)
        device->sole_pid = 0;
    for (size_t i = 0; i < list->count && !is_taken; i++)
        emit_listed(nvidia, index, i, gpu_pids_have(pids, list->entries[i].pid), sink);
    emit_ended(nvidia, index, pids, holder, sink);
}

/* Looks for processes of the job that have a device open. Where one is found at the first look
 * the job was there before us: what the device held then is no baseline. */
static void look_for_holders(struct nvidia *nvidia, const struct gpu_pids *pids,
                             uint64_t now_ns)
{
    if (!nvidia->holders || nvidia->lists_name_us ||
        !nvidia_pace_begin(&nvidia->holders_pace, now_ns))
        return;
    nvidia_holders_read(nvidia->root, pids, nvidia->minors, nvidia->holders, nvidia->count);
    for (size_t i = 0; i < nvidia->count && !nvidia->has_looked; i++)
        if (nvidia->holders[i].count > 0)
            nvidia->devices[i].baseline_bytes = UNKNOWN;
    nvidia->has_looked = true;
    nvidia_pace_end(&nvidia->holders_pace, now_ns, HOLDERS_LEAST_NS, HOLDERS_MOST_NS);
}

/* What a lost device held stays as it was last seen. */
static void read_lists(struct nvidia *nvidia, struct nvidia_device *device,
                       const struct gpu_pids *pids, uint64_t now_ns)
{
    (void)nvidia_lists_read(&device->lists, &nvidia->nvml, device->handle, pids,
                            nvidia->ns.is_nested, now_ns, &nvidia->scratch);
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

    look_for_holders(nvidia, pids, now_ns);
    for (size_t i = 0; i < nvidia->count; i++) {
        struct nvidia_device *device = &nvidia->devices[i];

        if (device->has_parts)
            continue;
        if (must_list(nvidia, device, now_ns))
            read_lists(nvidia, device, pids, now_ns);
        nvidia->lists_name_us |= nvidia_list_has_any(&device->lists.merged, pids);
    }
    for (size_t i = 0; i < nvidia->count; i++) {
        if (!nvidia->devices[i].has_parts)
            emit_device(nvidia, i, pids, &sink);
    }
    return (ssize_t)sink.count;
}

/* Without lists there are still the samples, which name those that were busy; and in a container the
 * ladder goes on with those that have the device open. */
void nvidia_processes_explain(const struct nvidia *nvidia, size_t index,
                              struct gpu_reading *reading)
{
    const struct nvidia_device *device = &nvidia->devices[index];
    const char *reason = device->lists.reason;

    if (nvidia->holders && nvidia->minors[index] != UINT_MAX)
        reason = NULL;
    reading->process_memory_reason = reason;
    reading->processes_reason =
        !nvidia->ns.is_nested && device->has_usage && device->clients.covered_ns > 0 ? NULL
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

/* Who is there, see nvidia_namespace.h. */
static struct nvidia_present who_is_present(struct nvidia *nvidia, struct nvidia_device *device,
                                            const struct gpu_pids *pids, uint64_t now_ns)
{
    const struct nvidia_list *list = &device->lists.merged;
    struct nvidia_present present = { pids, &device->clients, device->sole_pid, false, 0 };
    unsigned only = list->count == 1 ? list->entries[0].pid : 0;

    if (!nvidia->ns.is_nested || present.sole == 0 || device->lists.reason || list->count > 1)
        return present;
    if (only && nvidia_namespace_is_foreign(&nvidia->ns, nvidia->root, only))
        present.listed = only;
    else if (only && list->entries[0].memory_bytes > 0)
        present.is_alone =
            only == (unsigned)present.sole && is_all_explained(nvidia, device, pids, now_ns);
    else
        present.is_alone = device->baseline_bytes < NOBODYS_BYTES; /* UNKNOWN is more */
    return present;
}

/* Gives the samples of processes our numbers. */
static void name_samples(struct nvidia *nvidia, struct nvidia_device *device,
                         const struct gpu_pids *pids, uint64_t now_ns, size_t count)
{
    struct nvidia_renamed renamed;
    struct nvidia_present present;

    if (count == 0) /* of a device that was idle: who is who is as it was */
        return;
    present = who_is_present(nvidia, device, pids, now_ns);
    renamed = nvidia_namespace_rename(&nvidia->ns, nvidia->root, &present,
                                      nvidia->samples.usage, count);
    device->foreign_count = renamed.foreign_count;
    device->has_concluded |= renamed.is_concluded;
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
