/* SPDX-License-Identifier: Apache-2.0 */
#include "nvidia_fixture.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "source/gpu/nvidia.h"
#include "unit_test.h"

#define SCRIPT "script"
#define CALLS "calls"

static void full_path(const struct machine *machine, const char *name, char path[128])
{
    assert_true(snprintf(path, 128, "%s/%s", machine->fake.path, name) < 128);
}

void machine_init(struct machine *machine, bool is_container)
{
    char path[128];

    memset(machine, 0, sizeof(*machine));
    fake_root_init(&machine->fake);
    machine->fake.root.is_live = true; /* without this, the vendor does not load the library */
    fake_root_link(&machine->fake, "proc/self/ns/pid",
                   is_container ? "pid:[4026532871]" : "pid:[4026531836]");
    full_path(machine, SCRIPT, path);
    assert_int_equal(setenv("SPOOR_NVML_SCRIPT", path, 1), 0);
    full_path(machine, CALLS, path);
    assert_int_equal(setenv("SPOOR_NVML_CALLS", path, 1), 0);
}

void machine_done(struct machine *machine)
{
    gpu_nvidia.close(machine->vendor);
    fake_root_done(&machine->fake);
}

static int set_up(void **state, bool is_container)
{
    static struct machine machine;

    machine_init(&machine, is_container);
    *state = &machine;
    return 0;
}

int machine_set_up(void **state)
{
    return set_up(state, false);
}

int machine_set_up_container(void **state)
{
    return set_up(state, true);
}

int machine_tear_down(void **state)
{
    machine_done(*state);
    return 0;
}

void machine_play(struct machine *machine, const char *script)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    char path[128], next[128];
    char *end;

    assert_non_null(file);
    while (*script) {
        if (*script != '~') {
            (void)fputc(*script++, file);
            continue;
        }
        (void)fprintf(
            file, "%llu",
            (unsigned long long)(machine->began_us + strtoull(script + 1, &end, 10) * 1000));
        script = end;
    }
    assert_int_equal(fclose(file), 0);
    /* Replaced atomically: a session's thread may read it at any time. */
    fake_root_write(&machine->fake, SCRIPT ".new", text);
    full_path(machine, SCRIPT ".new", next);
    full_path(machine, SCRIPT, path);
    assert_int_equal(rename(next, path), 0);
    free(text);
}

void machine_open(struct machine *machine, const char *script)
{
    struct spoor_error err = { 0 };

    machine->began_us = clock_now().realtime_ns / NS_PER_US;
    machine_play(machine, script);
    assert_int_equal(gpu_nvidia.open(&machine->fake.root, &machine->vendor, &err), 0);
    gpu_nvidia.begin(machine->vendor);
}

size_t machine_calls(const struct machine *machine, const char *call)
{
    size_t count = 0;
    char path[128], line[128];
    FILE *file;

    full_path(machine, CALLS, path);
    file = fopen(path, "r");
    while (file && fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = '\0';
        count += strcmp(line, call) == 0;
    }
    if (file)
        (void)fclose(file);
    return count;
}

struct gpu_reading machine_read(struct machine *machine, size_t device)
{
    struct gpu_reading reading;

    gpu_nvidia.refresh(machine->vendor);
    assert_int_equal(
        gpu_nvidia.read(machine->vendor, device, clock_now().monotonic_ns, &reading), 0);
    return reading;
}

static struct gpu_pids pids_of(const pid_t *list)
{
    struct gpu_pids pids = { .list = list };

    while (list[pids.count] != 0)
        pids.count++;
    return pids;
}

void machine_read_processes(struct machine *machine, const pid_t *list)
{
    struct gpu_pids pids = pids_of(list);
    ssize_t n;

    gpu_nvidia.refresh(machine->vendor);
    n = gpu_nvidia.processes(machine->vendor, &pids, machine->processes, MACHINE_PROCESSES);
    assert_in_range(n, 0, MACHINE_PROCESSES);
    machine->process_count = (size_t)n;
}

void machine_read_busy(struct machine *machine, const pid_t *list)
{
    struct gpu_pids pids = pids_of(list);

    gpu_nvidia.refresh(machine->vendor);
    (void)gpu_nvidia.read_busy(machine->vendor, &pids, clock_now().monotonic_ns);
    machine_read_processes(machine, list);
}

static size_t count_of(const struct machine *machine, unsigned device, pid_t pid,
                       const struct gpu_process **ret)
{
    size_t count = 0;

    for (size_t i = 0; i < machine->process_count; i++) {
        if (machine->processes[i].pid == pid && machine->processes[i].device == device) {
            *ret = &machine->processes[i];
            count++;
        }
    }
    return count;
}

const struct gpu_process *machine_process(const struct machine *machine, unsigned device,
                                          pid_t pid)
{
    const struct gpu_process *process = NULL;

    assert_int_equal(count_of(machine, device, pid, &process), 1);
    return process;
}

unsigned machine_busy_percent(const struct machine *machine, unsigned device, pid_t pid)
{
    const struct gpu_process *process = machine_process(machine, device, pid);

    if (!process) /* the compiler does not see that a failed assertion does not return */
        return UINT_MAX;
    assert_in_range(process->busy_covered_ns, 1, UINT64_MAX - 1);
    return (unsigned)((process->busy_ns * 100 + process->busy_covered_ns / 2) /
                      process->busy_covered_ns);
}

bool machine_has_process(const struct machine *machine, unsigned device, pid_t pid)
{
    const struct gpu_process *process;

    return count_of(machine, device, pid, &process) > 0;
}
