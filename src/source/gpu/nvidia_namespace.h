/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvidia_namespace.h - which process is meant by the numbers that the driver gives.
 *
 * Inside a container the driver's process numbers are not always ours:
 *
 * - before 535.113 the lists carry the host's numbers;
 * - since then they carry ours, without the processes outside, but until 565.57 with 0 bytes;
 * - samples of utilisation, and accounting, carry the host's numbers still.
 *
 * So there is a ladder. (1) The number is one of the job's and has memory: used as told.
 * (2) It is the job's with 0 bytes: not known. (3) None of the list is the job's, but one of
 * its processes has the device open, and no list of any device has named the job so far (CUDA opens
 * all devices, whichever it uses): the one entry of the list is its own, or with an empty
 * list all that the device's use has grown. (2) takes that too where it is alone on the list.
 * (4) Samples under a foreign number, or under one of the job's that is not on the device: it is
 * looked up in /proc, where that shows it; else, where the job's process is alone on the device and
 * the samples name exactly one foreigner, they are the same. (5) Else not known. What was concluded
 * and not told is marked.
 *
 * A process is alone where the device's memory in use is what it holds, or, with 0 bytes told, where
 * none was in use before the job. Lists of host's numbers hold all: the one in them is it.
 *
 * In the machine's first pid namespace none of this is needed, and nothing is scanned.
 */
#ifndef SOURCE_GPU_NVIDIA_NAMESPACE_H
#define SOURCE_GPU_NVIDIA_NAMESPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"
#include "source/gpu/gpu.h"
#include "source/gpu/nvidia_clients.h"
#include "source/gpu/nvidia_nvml.h"

struct nvidia_namespace {
    bool is_nested; /* not the machine's first */
    unsigned level; /* how many numbers a process like us has; 0: not known */
};

struct nvidia_namespace nvidia_namespace_read(const struct root *root);

/* The number of a process at a level (1 is the first) of its /proc/PID/status. Pure. -ENOENT:
 * it has none there. -EBADMSG: not such a text. */
int nvidia_namespace_parse(const char *status, unsigned level, pid_t *ret);

/* How many numbers a process has. Pure. 0: not known. */
unsigned nvidia_namespace_count(const char *status);

/* Is it a number that /proc does not show? */
bool nvidia_namespace_is_foreign(const struct nvidia_namespace *ns, const struct root *root,
                                 unsigned pid);

/* Who is on a device. */
struct nvidia_present {
    const struct gpu_pids *pids; /* the job's processes, wherever they are */
    const struct nvidia_clients
        *clients;    /* those that the device's lists have named, and more */
    pid_t sole;      /* the job's only one there, or 0 */
    bool is_alone;   /* and there is no other */
    unsigned listed; /* the host's number of it, as far as a list has told that; or 0 */
};

struct nvidia_renamed {
    size_t foreign_count; /* processes that remain foreign */
    bool is_concluded;    /* one was the job's by conclusion */
};

/* Gives samples under a foreign number the job's, by step 4. A number that is by chance one of
 * the job's, which is not on the device, becomes 0. */
struct nvidia_renamed nvidia_namespace_rename(const struct nvidia_namespace *ns,
                                              const struct root *root,
                                              const struct nvidia_present *present,
                                              struct nvml_process_usage *list, size_t count);

/* The devices a process has open: bits of the N of /dev/nvidiaN. */
#define NVIDIA_MINORS_MAX 256
struct nvidia_held {
    uint64_t minors[NVIDIA_MINORS_MAX / 64];
    bool has_memory; /* /dev/nvidia-uvm too, without which it computes nothing */
};

/* Adds what a link of /proc/PID/fd points to. Pure. */
void nvidia_held_add(struct nvidia_held *held, const char *target);

bool nvidia_held_has(const struct nvidia_held *held, unsigned minor);

/* Looks through a process's descriptors, the first 4096 of them. -errno: it has ended, or is
 * not ours to look at. */
int nvidia_held_read(const struct root *root, pid_t pid, struct nvidia_held *ret);

/* Who of the job has a device open. */
struct nvidia_holder {
    pid_t pid;      /* the first */
    unsigned count; /* how many */
};

/* For each minor of `minors` (UINT_MAX: none) its holder among `pids`. */
void nvidia_holders_read(const struct root *root, const struct gpu_pids *pids,
                         const unsigned *minors, struct nvidia_holder *holders, size_t count);

#endif
