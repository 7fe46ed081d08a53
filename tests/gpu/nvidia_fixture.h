/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvidia_fixture.h - a fake machine with NVIDIA GPUs: files of /proc in a temporary folder, and
 * the stand-in library, which plays a script.
 */
#pragma once

#include "fake_root.h"
#include "source/gpu/gpu.h"

#define MACHINE_PROCESSES 64

struct machine {
    struct fake_root fake;
    uint64_t began_us; /* time of day at machine_open() */
    void *vendor;      /* NULL: not open */
    struct gpu_process processes[MACHINE_PROCESSES];
    size_t process_count;
};

/* Creates the machine, in the first pid namespace or in a container. The vendor is not open
 * yet. */
void machine_init(struct machine *machine, bool is_container);
void machine_done(struct machine *machine);

/* A test whose state is such a machine. */
#define MACHINE_TEST(name) TEST_WITH(name, machine_set_up, machine_tear_down)
#define CONTAINER_TEST(name) TEST_WITH(name, machine_set_up_container, machine_tear_down)
int machine_set_up(void **state);
int machine_set_up_container(void **state);
int machine_tear_down(void **state);

/* Replaces the script. "~MS" in it is the time of day MS milliseconds after machine_open()
 * began, in microseconds. */
void machine_play(struct machine *machine, const char *script);

/* Plays the script and opens the vendor, which must succeed. */
void machine_open(struct machine *machine, const char *script);

/* How often the library's function `call` was called. */
size_t machine_calls(const struct machine *machine, const char *call);

/* Reads a device, without cached figures. */
struct gpu_reading machine_read(struct machine *machine, size_t device);

/* Reads all processes without cached figures and sets machine->processes. `pids` are the
 * processes of the job and end with 0. */
void machine_read_processes(struct machine *machine, const pid_t *pids);

/* Reads the busy times of the processes, then the processes. */
void machine_read_busy(struct machine *machine, const pid_t *pids);

/* Returns the entry of a process on a device in the last reading. Fails the test unless
 * there is exactly one. */
const struct gpu_process *machine_process(const struct machine *machine, unsigned device,
                                          pid_t pid);
/* Returns the busy time of a process, in percent of the time that its readings cover. */
unsigned machine_busy_percent(const struct machine *machine, unsigned device, pid_t pid);
bool machine_has_process(const struct machine *machine, unsigned device, pid_t pid);
