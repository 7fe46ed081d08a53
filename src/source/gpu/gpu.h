/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu.h - the interface of a GPU vendor.
 *
 * To add a vendor: write source/gpu/<vendor>.c with one `const struct gpu_vendor`, and add
 * it to the list in gpu.c. docs/ADDING-A-GPU-VENDOR.md lists what is optional.
 *
 * Driver calls can block for a long time, so all of these functions except may_be_here() are
 * called from a dedicated thread. Values that a vendor does not have are UNKNOWN, never 0.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"
#include "spoor/spoor.h"

/* A device, as found when the vendor is opened. Strings come from drivers, virtual machines
 * and firmware and are not trusted. */
struct gpu_device {
    char uuid[96]; /* empty: none; the PCI address then identifies the device */
    char name[96];
    char pci_address[32]; /* "0000:3b:00.0"; empty for a part of a device (MIG) */
    uint64_t memory_total_bytes;
    bool is_part;        /* a MIG device: a part of the preceding device */
    unsigned part;       /* if is_part: the driver's number for the part */
    bool keeps_accounts; /* the driver records memory peaks: see accounts() below */
    bool counts_work;    /* see work() below */
    /* "550.54.15"; empty: the driver has no version other than the kernel's. */
    char driver_version[80];
};

struct gpu_energy {
    uint64_t microjoules; /* counter */
    /* Includes an estimate since the counter was last read: power times time. */
    bool is_estimated;
    uint64_t milliwatts; /* power draw */
};

/* One reading of a device. Counters start when the vendor is opened. */
struct gpu_reading {
    uint64_t memory_used_bytes;
    /* Counter: time in which at least one kernel or engine ran, from all samples that the
     * driver keeps, each weighted by its duration. */
    uint64_t busy_ns;
    /* Counter: the time that busy_ns covers. Driver samples arrive late, in batches and with
     * gaps: utilization is the increase of busy_ns divided by the increase of this counter,
     * and is unknown if this counter did not increase. UNKNOWN: busy_ns covers all time. */
    uint64_t busy_covered_ns;
    uint64_t encoder_busy_ns, decoder_busy_ns;       /* counters, as busy_ns */
    uint64_t encoder_covered_ns, decoder_covered_ns; /* counters, as busy_covered_ns */
    struct gpu_energy energy;
    uint64_t temperature_celsius;
    uint64_t clock_mhz;        /* clock of the compute cores */
    uint64_t throttle_reasons; /* bits of enum gpu_throttle */
    const char *busy_reason;   /* why busy_ns is UNKNOWN: static text, or NULL */
    const char *busy_source;   /* source of busy_ns; NULL: as in struct gpu_sources */
    /* Why processes() may miss processes of the job on this device: static text. NULL: it lists
     * all processes that use the device. */
    const char *processes_reason;
    /* Why the memory of processes is unknown on this device: static text, or NULL. Their busy
     * time may still be known. */
    const char *process_memory_reason;
};

/* The work of a device. */
enum gpu_work_kind {
    /* Shares of time, weighted by the part of the device that was working: */
    GPU_WORK_SM,        /* multiprocessors that had work */
    GPU_WORK_OCCUPANCY, /* warps on the multiprocessors, relative to the maximum */
    GPU_WORK_TENSOR,    /* tensor cores */
    GPU_WORK_FP64,
    GPU_WORK_FP32,
    GPU_WORK_FP16,
    GPU_WORK_DRAM, /* bandwidth of the device's memory */
    GPU_WORK_SHARES,
    /* Bytes: */
    GPU_WORK_PCIE_SENT = GPU_WORK_SHARES,
    GPU_WORK_PCIE_RECEIVED,
    GPU_WORK_NVLINK_SENT,
    GPU_WORK_NVLINK_RECEIVED,
    GPU_WORK_KINDS,
};

/* Counters of the whole device. They run only while the job uses the device. */
struct gpu_work {
    uint64_t counts[GPU_WORK_KINDS]; /* ns and bytes; UNKNOWN: not counted, or no longer */
    uint64_t covered_ns;             /* counter: the time that the counts cover */
    const char *reason;              /* why a count is UNKNOWN: static text */
};

enum gpu_throttle {
    GPU_THROTTLE_POWER = 1u << 0,
    GPU_THROTTLE_THERMAL = 1u << 1,
    GPU_THROTTLE_HARDWARE = 1u << 2, /* a slowdown requested by the hardware */
};

/* The use of a device by a process. A PID is listed at most once per device. */
struct gpu_process {
    pid_t pid;             /* PID in our PID namespace */
    unsigned device;       /* index among the devices of this vendor */
    uint64_t memory_bytes; /* UNKNOWN: not reported by the driver */
    uint64_t busy_ns;      /* counter since the vendor was opened, per process; or UNKNOWN */
    /* Counter: the time that busy_ns covers, the same for all processes of a device. The
     * job's utilization is the increase of busy_ns, summed over its processes, divided by the
     * increase of this counter. UNKNOWN: busy_ns covers all time. */
    uint64_t busy_covered_ns;
    bool computes;           /* known to use the device for more than graphics */
    bool is_busy_attributed; /* busy_ns was inferred from samples under another PID */
    bool has_ended; /* exited or closed the device: listed without memory, for its busy_ns */
    const char *reason; /* why a figure is UNKNOWN: static text, or NULL */
};

/* The driver's accounting record of a process on a device, kept after the process exits. */
struct gpu_record {
    pid_t pid;
    unsigned device; /* index among the devices of the vendor */
    uint64_t peak_memory_bytes;
};

/* The processes of interest. Vendors that must inspect each process (/proc/PID/fdinfo)
 * inspect only these. */
struct gpu_pids {
    const pid_t *list; /* borrowed; sorted */
    size_t count;
};

bool gpu_pids_have(const struct gpu_pids *pids, pid_t pid);

/* Returns the index of a PID in a sorted list, or the index to insert it at. The elements, of
 * `size` bytes, start with the PID. */
size_t gpu_pids_place(const void *list, size_t count, size_t size, pid_t pid);

/* Names of a vendor's sources, as shown in reports. */
struct gpu_sources {
    const char *process_memory; /* "nvml.processes" */
    const char *process_busy;
    const char *device_busy;
    const char *device; /* memory, energy, sensors */
    /* Each driver sample covers a fraction of a second, but names only one of the processes
     * that were busy, so busy times of simultaneous processes are mixed up. */
    bool names_one;
    const char *work; /* NULL: the vendor does not count work */
};

struct gpu_vendor {
    const char *name; /* "nvidia", "amd", "intel" */
    struct gpu_sources sources;

    /* Whether the machine may have a GPU of this vendor. Checks a few files and cannot block,
     * so that no thread is started needlessly. NULL: every machine may have one. */
    bool (*may_be_here)(const struct root *root);

    /* Opens the vendor's library or driver files. *ret owns all state. Two results are not
     * failures: -ENODEV (this machine has no such GPU) and -ENXIO (the library is installed but
     * the driver is not). May take 10 ms. */
    int (*open)(const struct root *root, void **ret, struct spoor_error *err);
    void (*close)(void *vendor);

    /* Returns the number of devices. Parts follow their device in the list, which is valid
     * until close(). */
    size_t (*device_count)(const void *vendor);
    const struct gpu_device *(*device)(const void *vendor, size_t index);

    /* Starts counting. Called once, before any function below except trouble(). May take some ms
     * per device, so callers that only list GPUs skip it. NULL: counting starts at open(). */
    void (*begin)(void *vendor);

    /* Returns why open() left out some GPUs; code 0: it left out none. NULL: open() never
     * leaves out any. */
    const struct spoor_error *(*trouble)(const void *vendor);

    /* Sets every field of *ret. Fails only if the device itself is lost. */
    int (*read)(void *vendor, size_t device, uint64_t now_ns, struct gpu_reading *ret);

    /* Fills at most `capacity` entries and returns their total number, for all devices: the
     * processes in `pids`, and others that the vendor sees anyway. Called often (every 27 ms
     * while the job's memory changes): reads memory only, and returns busy_ns as of the last
     * read_busy(). */
    ssize_t (*processes)(void *vendor, const struct gpu_pids *pids, struct gpu_process *list,
                         size_t capacity);

    /* Returns the memory in use on a device, if the last processes() call read it; does not
     * query the driver. UNKNOWN: the call did not read it. NULL: processes() never reads it. */
    uint64_t (*memory_used)(const void *vendor, size_t device);

    /* Reads the power of a device, and estimates its energy from the power. Called between
     * readings, for devices that the job uses. `is_border`: a phase starts or stops, so the
     * energy counter is read too, unless it was read moments ago. NULL: read() is enough. */
    void (*energy)(void *vendor, size_t device, uint64_t now_ns, bool is_border,
                   struct gpu_energy *ret);

    /* Updates the busy_ns of processes. Called about once a second. NULL: processes() does it. */
    int (*read_busy)(void *vendor, const struct gpu_pids *pids, uint64_t now_ns);

    /* Counts the work of a device. `is_used`: a process of the job is on it. A quick look only
     * starts the counters of a device that is used, which is cheap. Other looks also read the
     * counters, after a while, and stop them if the device is no longer used. NULL: the vendor
     * counts no work. */
    void (*work)(void *vendor, size_t device, uint64_t now_ns, bool is_used, bool is_quick,
                 struct gpu_work *ret);

    /* Invalidates cached values. Values that take milliseconds to read (energy, driver samples)
     * are cached for a few seconds. Called before the first and the last reading. NULL: nothing
     * is cached. */
    void (*refresh)(void *vendor);

    /* Reads the accounting records of `pids`, including exited ones; returns their number like
     * processes(). Called at the end, and before an exited process is forgotten. NULL: the
     * vendor keeps no records. */
    ssize_t (*accounts)(void *vendor, const struct gpu_pids *pids, struct gpu_record *list,
                        size_t capacity);
};

/*
 * A PCI address as one number, which sorts like the text: domain << 16 | bus << 8 | device << 3
 * | function. The lower 16 bits equal KFD's location_id.
 *
 * Parses "0000:03:00.0" or, from some older drivers, "03:00.0", up to the end of the text, a
 * blank or newline. -EBADMSG: not an address.
 */
int gpu_pci_parse(const char *text, uint64_t *ret);

/* Writes "0000:03:00.0"; a buffer of 17 bytes is enough for a number from gpu_pci_parse(). */
void gpu_pci_format(uint64_t pci, char *buf, size_t size);

/* The vendors of this build, in the order in which reports list them. */
extern const struct gpu_vendor gpu_nvidia, gpu_amd, gpu_intel;
extern const struct gpu_vendor *const gpu_vendors[];
extern const size_t gpu_vendor_count;
