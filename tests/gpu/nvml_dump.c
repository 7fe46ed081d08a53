/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvml_dump.c - prints the figures of the GPU vendors once a second.
 *
 *     nvml_dump [SECONDS [PID...]]
 *
 * Reads the memory of the processes every 5 ms, as spoor does, and prints the peak. The PIDs
 * are treated as processes of the job. The last line of each second shows the cost of the
 * calls.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/amount.h"
#include "base/clock.h"
#include "source/gpu/gpu.h"

#define PROCESSES_MAX 512
#define POLL_NS (5 * NS_PER_MS)

struct peak {
    pid_t pid;
    unsigned device;
    uint64_t bytes;
};

struct open_vendor {
    const struct gpu_vendor *vendor;
    void *state;
    struct peak peaks[PROCESSES_MAX];
    size_t peak_count;
    unsigned polls;
};

static struct gpu_process processes[PROCESSES_MAX];

static uint64_t cpu_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * NS_PER_SECOND + (uint64_t)time.tv_nsec;
}

static void print_figure(const char *name, uint64_t value)
{
    if (is_known(value))
        printf(" %s=%llu", name, (unsigned long long)value);
    else
        printf(" %s=n/a", name);
}

static void print_devices(const struct open_vendor *open)
{
    for (size_t i = 0; i < open->vendor->device_count(open->state); i++) {
        const struct gpu_device *device = open->vendor->device(open->state, i);

        printf("%s %zu: %s %s %s%s", open->vendor->name, i, device->uuid, device->pci_address,
               device->name, device->is_part ? " (part)" : "");
        print_figure("total_bytes", device->memory_total_bytes);
        printf("\n");
    }
}

static void print_readings(struct open_vendor *open)
{
    uint64_t now_ns = clock_now().monotonic_ns;

    for (size_t i = 0; i < open->vendor->device_count(open->state); i++) {
        struct gpu_reading reading;
        int r = open->vendor->read(open->state, i, now_ns, &reading);

        printf("  device %zu:", i);
        if (r < 0) {
            printf(" %s\n", strerror(-r));
            continue;
        }
        print_figure("used_bytes", reading.memory_used_bytes);
        print_figure("busy_ns", reading.busy_ns);
        print_figure("covered_ns", reading.busy_covered_ns);
        print_figure("encoder_ns", reading.encoder_busy_ns);
        print_figure("decoder_ns", reading.decoder_busy_ns);
        print_figure("energy_uj", reading.energy.microjoules);
        print_figure("power_mw", reading.energy.milliwatts);
        print_figure("celsius", reading.temperature_celsius);
        print_figure("mhz", reading.clock_mhz);
        print_figure("throttle", reading.throttle_reasons);
        printf("%s%s\n", reading.busy_reason ? " " : "",
               reading.busy_reason ? reading.busy_reason : "");
    }
}

static struct peak *find_peak(struct open_vendor *open, const struct gpu_process *process)
{
    struct peak *peak;

    for (size_t i = 0; i < open->peak_count; i++) {
        peak = &open->peaks[i];
        if (peak->pid == process->pid && peak->device == process->device)
            return peak;
    }
    if (open->peak_count == PROCESSES_MAX)
        return NULL;
    peak = &open->peaks[open->peak_count++];
    *peak = (struct peak){ .pid = process->pid, .device = process->device };
    return peak;
}

static size_t poll_processes(struct open_vendor *open, const struct gpu_pids *pids)
{
    ssize_t n = open->vendor->processes(open->state, pids, processes, PROCESSES_MAX);

    open->polls++;
    n = n > PROCESSES_MAX ? PROCESSES_MAX : n;
    for (ssize_t i = 0; i < n; i++) {
        struct peak *peak = find_peak(open, &processes[i]);

        if (peak && is_known(processes[i].memory_bytes) &&
            processes[i].memory_bytes > peak->bytes)
            peak->bytes = processes[i].memory_bytes;
    }
    return n < 0 ? 0 : (size_t)n;
}

static void print_processes(struct open_vendor *open, const struct gpu_pids *pids)
{
    size_t count;

    if (open->vendor->read_busy)
        (void)open->vendor->read_busy(open->state, pids, clock_now().monotonic_ns);
    count = poll_processes(open, pids);
    for (size_t i = 0; i < count; i++) {
        const struct gpu_process *process = &processes[i];
        const struct peak *peak = find_peak(open, process);

        printf("  process %d on %u:", (int)process->pid, process->device);
        print_figure("bytes", process->memory_bytes);
        print_figure("peak_bytes", peak ? peak->bytes : UNKNOWN);
        print_figure("busy_ns", process->busy_ns);
        print_figure("covered_ns", process->busy_covered_ns);
        printf("%s%s %s\n", process->is_busy_attributed ? " attributed" : "",
               process->has_ended ? " ended" : "", process->reason ? process->reason : "");
    }
}

static void print_accounts(const struct open_vendor *open, const struct gpu_pids *pids)
{
    struct gpu_record list[64];
    ssize_t n =
        open->vendor->accounts ? open->vendor->accounts(open->state, pids, list, 64) : 0;

    for (ssize_t i = 0; i < n && i < 64; i++) {
        printf("  account of %d on %u:", (int)list[i].pid, list[i].device);
        print_figure("peak_bytes", list[i].peak_memory_bytes);
        printf("\n");
    }
}

static void watch(struct open_vendor *open, unsigned seconds, const struct gpu_pids *pids)
{
    uint64_t deadline_ns = clock_now().monotonic_ns;

    for (unsigned second = 0; second <= seconds; second++) {
        uint64_t wall_ns, spent_ns, before_ns = cpu_ns();
        unsigned polls = open->polls;

        for (unsigned i = 0; i < 200 && second > 0; i++) {
            struct timespec until;

            deadline_ns += POLL_NS;
            until.tv_sec = (time_t)(deadline_ns / NS_PER_SECOND);
            until.tv_nsec = (long)(deadline_ns % NS_PER_SECOND);
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
            (void)poll_processes(open, pids);
        }
        spent_ns = cpu_ns() - before_ns;
        if ((second == 0 || second == seconds) && open->vendor->refresh)
            open->vendor->refresh(open->state);
        before_ns = cpu_ns();
        wall_ns = clock_now().monotonic_ns;
        printf("second %u\n", second);
        print_readings(open);
        print_processes(open, pids);
        printf("  cost: %u polls %.3f ms of CPU, figures %.3f ms of CPU in %.3f ms\n",
               open->polls - polls, (double)spent_ns / 1e6,
               (double)(cpu_ns() - before_ns) / 1e6,
               (double)(clock_now().monotonic_ns - wall_ns) / 1e6);
        (void)fflush(stdout);
    }
    print_accounts(open, pids);
}

static int compare_pids(const void *left, const void *right)
{
    const pid_t *a = left, *b = right;

    return (*a > *b) - (*a < *b);
}

int main(int argc, char **argv)
{
    unsigned seconds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 5;
    static struct open_vendor open;
    static pid_t list[PROCESSES_MAX];
    struct gpu_pids pids = { .list = list };
    struct root root;

    for (int i = 2; i < argc && pids.count < PROCESSES_MAX; i++)
        list[pids.count++] = (pid_t)strtol(argv[i], NULL, 10);
    qsort(list, pids.count, sizeof(*list), compare_pids);
    if (root_open("/", &root) < 0)
        return 1;
    for (size_t i = 0; i < gpu_vendor_count; i++) {
        struct spoor_error err = { 0 };
        uint64_t before_ns = clock_now().monotonic_ns;

        open = (struct open_vendor){ .vendor = gpu_vendors[i] };
        if (open.vendor->open(&root, &open.state, &err) < 0) {
            printf("%s: %s\n", open.vendor->name, err.message);
            continue;
        }
        printf("%s: opened in %.1f ms\n", open.vendor->name,
               (double)(clock_now().monotonic_ns - before_ns) / 1e6);
        print_devices(&open);
        if (open.vendor->begin)
            open.vendor->begin(open.state);
        watch(&open, seconds, &pids);
        open.vendor->close(open.state);
    }
    root_close(&root);
    return 0;
}
