/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drm_clients.h - the clients of a DRM driver (AMD, Intel): one table, filled by one sweep over the open
 * files of the job's processes.
 *
 * A client is one opening of a device, identified by (device, client id): its descriptors may
 * be copied within a process and passed to other processes, but the client counts once. A
 * client belongs to the process in which it was first found, as long as that process holds it,
 * and after that to another holder. The usage of an exited process is kept.
 *
 * The sweep. /proc/PID/fd/N links to a path such as "/dev/dri/renderD128" if N is a DRM
 * device: readlink shows it without touching the file, while stat could hang on a dead network
 * file system. /proc/PID/fdinfo/N then has the usage of its client. Both need ptrace
 * permission (the same user suffices); other processes are skipped. A full sweep lists all
 * descriptors of all processes. A quick sweep reads the known clients again and lists the
 * descriptors only of processes that are new or whose number of open files changed. Linux
 * reports this number since 6.2; on older kernels every 16th quick sweep lists all
 * descriptors.
 *
 * Busy time. A driver reports, for each client and class of engines (gfx, compute, copy,
 * video), how long that class worked. The clients of a process are summed. Then, for the time
 * between two counts, the class with the longest time is used, divided by the number of its
 * engines. The result is the least time in which the device must have worked for the process;
 * it never exceeds the elapsed time, and a compute engine at its limit shows as 100 %. A mean
 * over classes would be lowered by idle video engines; a sum would count overlapping work
 * twice.
 *
 * Counters may step back, because drivers update them lazily: the largest value is kept. A
 * client found by the first sweep may be old, so its earlier usage is not counted. A client
 * found later counts from its start.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"
#include "source/gpu/drm_device.h"
#include "source/gpu/drm_fdinfo.h"
#include "source/gpu/gpu.h"

/* If full, the entries that ended first are replaced; if none has ended, new ones are
 * dropped. */
enum { DRM_CLIENT_MAX = 4096, DRM_USE_MAX = 4096 };
/* At most this many processes, and descriptors of a process, are read. */
enum { DRM_SWEEP_PID_MAX = 1 << 16, DRM_SWEEP_FD_MAX = 1 << 16 };

/* A class of engines of one device. */
struct drm_class {
    char name[DRM_NAME_SIZE];
    uint64_t capacity;                 /* engines */
    bool is_cycles;                    /* clients count in cycles of the device's clock */
    bool is_percent;                   /* clients report a recent percentage */
    bool has_total;                    /* the clock was read in this sweep */
    uint64_t total_cycles;             /* value of that clock */
    uint64_t counted_cycles;           /* its value at the last count */
    uint64_t anchor_cycles, anchor_ns; /* start of the measured span */
    uint64_t span_cycles, span_ns;     /* length of the span; 0: frequency unknown */
};

/* The classes of one device. */
struct drm_classes {
    struct drm_class list[DRM_ENGINE_MAX];
    size_t count;
};

struct drm_client {
    uint64_t id;
    unsigned device;
    pid_t pid; /* process that owns the client, and its descriptor there */
    int fd;
    bool is_ended;
    bool has_busy;         /* the driver reports the time of its engines */
    size_t use;            /* index of the use that the client counts for; SIZE_MAX: dropped */
    uint64_t memory_bytes; /* or UNKNOWN */
    uint64_t sweep;        /* the last sweep that found the client */
    pid_t next_pid;        /* a process that holds the client in this sweep */
    int next_fd;
    struct {
        uint64_t value;       /* the largest value: ns, cycles; or the current percentage */
        uint64_t counted;     /* the part already in the busy time */
    } engine[DRM_ENGINE_MAX]; /* indexed by class of the device */
};

/* The use of a device by a process. */
struct drm_use {
    pid_t pid;
    unsigned device;
    uint64_t sweep;        /* the last sweep in which the process held a client */
    bool is_counted;       /* busy_ns has been counted once */
    bool has_uncounted;    /* some work has an unknown duration until a later count */
    bool is_busy_hidden;   /* the process works in ways that no counter includes */
    bool has_unknown_busy; /* a client does not report engine time */
    /* The last sweep in which the process held a client that reports nothing; or 0. */
    uint64_t unreported_sweep;
    uint64_t memory_bytes;       /* 0 after the process has exited */
    uint64_t other_memory_bytes; /* reported by another source; or UNKNOWN */
    uint64_t busy_ns;
    uint64_t limit_ns; /* upper limit of busy_ns: grows with time */
    uint64_t gain_ns[DRM_ENGINE_MAX];
};

/* A process in a sweep. */
struct drm_sweep_pid {
    pid_t pid;
    /* Number of open files when they were last listed; UNKNOWN: never listed; 0: not
     * reported. */
    uint64_t open_files;
    uint64_t sweep; /* sweep in which the descriptors were last listed; 0: never */
    bool holds_kfd; /* the process has /dev/kfd open, which bypasses the DRM driver */
    /* The process has a device open whose driver reports nothing about it. */
    bool holds_unreported;
    bool must_list;      /* a known client of the process is gone */
    const char *refused; /* why the open files are not listed: static text; or NULL */
};

struct drm_clients {
    struct drm_client *list;
    size_t count, capacity;
    struct drm_use *use;
    size_t use_count, use_capacity;
    struct drm_classes *classes; /* of each device */
    size_t device_count;
    size_t next;                       /* where the next client is probably found */
    struct drm_sweep_pid *pid, *spare; /* processes of the last sweep, sorted */
    size_t pid_count, pid_capacity;
    uint64_t sweep; /* the number of the current or last sweep */
    unsigned quick_count;
    bool is_first;          /* no sweep over any process has ended yet */
    bool hides_idle;        /* the driver omits engines that have done nothing */
    bool has_left_out;      /* there was once no room for a client or use */
    uint64_t counted_at_ns; /* UNKNOWN before the first count */
};

/* Initializes the table. `hides_idle`: if true, a client that lists no engine is idle;
 * otherwise, its usage is unknown. */
int drm_clients_init(struct drm_clients *clients, size_t device_count, bool hides_idle);
void drm_clients_done(struct drm_clients *clients);

/* The parts of a sweep: begin, add every client of every process, end. Allocates memory only
 * for new clients. */
void drm_clients_begin(struct drm_clients *clients);
int drm_clients_see(struct drm_clients *clients, unsigned device, pid_t pid, int fd,
                    const struct drm_fdinfo *info);

/* Called within a sweep with the memory of a process from another source. The larger of the
 * two values counts. */
int drm_clients_see_memory(struct drm_clients *clients, unsigned device, pid_t pid,
                           uint64_t memory_bytes);

/* Makes the busy time of a process UNKNOWN from now on. */
void drm_clients_hide_busy(struct drm_clients *clients, pid_t pid);

/* Whether there is a client that the current sweep has not found (yet). */
bool drm_clients_misses_any(const struct drm_clients *clients);

/* Ends clients that were not found. `looked`: whether this sweep covered a process. */
void drm_clients_end(struct drm_clients *clients, bool looked);

/* Adds the work since the last count to the busy times. Must be called after a sweep. */
void drm_clients_count(struct drm_clients *clients, uint64_t now_ns);

/* Implements processes() of struct gpu_vendor. An exited process has a memory of 0 and its
 * last busy time. */
size_t drm_clients_list(const struct drm_clients *clients, struct gpu_process *list,
                        size_t capacity);

/* The common state of vendors with DRM drivers; must be the first member of their state. */
struct drm_vendor {
    const struct root *root; /* borrowed */
    struct drm_devices devices;
    struct drm_clients clients;
    int (*look_further)(
        void *vendor); /* called within a sweep to add values from other sources; may be NULL */
    char text[16 << 10]; /* contents of one fdinfo file */
};

/* Finds the cards of a PCI vendor ("0x8086", "Intel") and creates their table. *ret is a pointer to
 * `size` zeroed bytes that begin with a struct drm_vendor. -ENODEV: there are no such cards. */
int drm_vendor_open(size_t size, const struct root *root, const char *vendor_id,
                    const char *name, bool hides_idle, void **ret, struct spoor_error *err);
void drm_vendor_close(void *vendor);

/* Returns why some of the job's processes are skipped: static text; NULL: none is skipped. */
const char *drm_vendor_reason(const struct drm_vendor *drm);

/* See gpu_vendor. */
size_t drm_device_count(const void *vendor);
const struct gpu_device *drm_device(const void *vendor, size_t index);
ssize_t drm_processes(void *vendor, const struct gpu_pids *pids, struct gpu_process *list,
                      size_t capacity);
int drm_read_busy(void *vendor, const struct gpu_pids *pids, uint64_t now_ns);
