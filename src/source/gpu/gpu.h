/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu.h - what every GPU vendor provides, and nothing about any of them.
 *
 * To add a vendor: write source/gpu/<vendor>.c with one `const struct gpu_vendor`, and add
 * it to the list in gpu.c. Nothing else changes.
 *
 * All of it is called by one thread of its own, since driver calls can block for long.
 * Figures that a vendor does not have are UNKNOWN, never 0.
 */
#ifndef SOURCE_GPU_GPU_H
#define SOURCE_GPU_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"
#include "spoor/spoor.h"

/* A device, as it is found when the vendor is opened. Texts may be hostile: they come from
 * drivers, virtual machines and firmware. */
struct gpu_device {
    char uuid[96]; /* empty: the vendor has none; then the PCI address names it */
    char name[96];
    char pci_address[32]; /* "0000:3b:00.0"; empty for a part of a device (MIG) */
    uint64_t memory_total_bytes;
    bool is_part;        /* a MIG device: a part of the device before it */
    unsigned part;       /* where it is one: its number in that device, as the driver counts */
    bool keeps_accounts; /* of the true peak of each process: see gpu_vendor's accounts() */
};

/* One reading of a device. Counters count from when the vendor was opened. */
struct gpu_reading {
    uint64_t memory_used_bytes;
    uint64_t busy_ns; /* counter: time in which at least one kernel or engine ran, built from
                            every sample the driver keeps, each weighed by its time */
    /* Counter: the time that busy_ns speaks of. Driver samples come late and in lumps, and
     * have holes: utilisation is the growth of busy_ns by the growth of this one, and is not
     * known where this one did not grow. UNKNOWN: busy_ns speaks of all of the time. */
    uint64_t busy_covered_ns;
    uint64_t encoder_busy_ns, decoder_busy_ns;       /* counters, as busy_ns */
    uint64_t encoder_covered_ns, decoder_covered_ns; /* counters, as busy_covered_ns */
    uint64_t energy_microjoules;                     /* counter */
    uint64_t power_milliwatts;
    uint64_t temperature_celsius;
    uint64_t clock_mhz;        /* of the compute cores */
    uint64_t throttle_reasons; /* bits of enum gpu_throttle */
    const char *busy_reason;   /* why busy_ns is UNKNOWN: static text, or NULL */
    const char *busy_source; /* where busy_ns comes from, as in gpu_sources; NULL: from there */
    /* Why processes() may leave out some of the job's on this device: static text, or NULL
     * where one that is not listed does not use it. */
    const char *processes_reason;
    /* Why it is not told what memory processes hold here, of those that are listed and of others:
     * static text, or NULL. What they were busy with may be known all the same. */
    const char *process_memory_reason;
};

enum gpu_throttle {
    GPU_THROTTLE_POWER = 1u << 0,
    GPU_THROTTLE_THERMAL = 1u << 1,
    GPU_THROTTLE_HARDWARE = 1u << 2, /* a slow-down that the hardware asked for */
};

/* What a process uses of a device. A pid may come for several devices, not twice for one. */
struct gpu_process {
    pid_t pid;             /* as seen in our pid namespace */
    unsigned device;       /* index among this vendor's */
    uint64_t memory_bytes; /* UNKNOWN: the driver does not say */
    uint64_t busy_ns;      /* counter since the vendor was opened, per process; UNKNOWN */
    /* Counter: the time that busy_ns speaks of, the same for all processes of a device. The
     * job's share is the growth of its busy_ns, summed, by the growth of this. UNKNOWN: all
     * of the time. */
    uint64_t busy_covered_ns;
    bool computes;           /* it is known to be there for more than graphics */
    bool is_attributed;      /* concluded (device's use less what was used before), not told */
    bool is_busy_attributed; /* busy_ns likewise: whose samples they are */
    bool has_ended;     /* or let go of the device: holds no memory, listed for its busy_ns */
    const char *reason; /* why a figure is UNKNOWN: static text, or NULL */
};

/* What the driver remembers of a process on a device, also after it ended. */
struct gpu_account {
    pid_t pid;
    unsigned device; /* index among this vendor's */
    uint64_t peak_memory_bytes;
    uint64_t busy_ns; /* in all of its life, in steps of 1 % of it */
    bool has_ended;
};

/* The processes whose GPU use is asked for. Vendors that must look into each process
 * (/proc/PID/fdinfo) look into these alone. */
struct gpu_pids {
    const pid_t *list; /* borrowed; sorted */
    size_t count;
};

/* Where a vendor's figures come from, as reports say it. */
struct gpu_sources {
    const char *process_memory; /* "nvml.processes" */
    const char *process_busy;
    const char *device_busy;
    const char *device; /* memory, energy, sensors */
    /* Of several processes that are busy within a fraction of a second it names one: what each
     * did is told rightly only as long as they take turns. */
    bool names_one;
};

struct gpu_vendor {
    const char *name; /* "nvidia", "amd", "intel" */
    struct gpu_sources sources;

    /* Could such a GPU be here? A few looks for files, which cannot block, so that no thread
     * is started for nothing. NULL: it could. */
    bool (*may_be_here)(const struct root *root);

    /* Opens the vendor's library or driver files. All of its state lives behind *ret.
     * -ENODEV: this machine has no such GPU, which is no failure; nor is -ENXIO: its library is
     * here without the driver. May take 10 ms. */
    int (*open)(const struct root *root, void **ret, struct spoor_error *err);
    void (*close)(void *vendor);

    /* Parts follow their device. Valid until closed. */
    size_t (*device_count)(const void *vendor);
    const struct gpu_device *(*device)(const void *vendor, size_t index);

    /* Counting begins: to be called once, before anything below but trouble(). It may cost some ms
     * for each device, so who wants to know what GPUs there are leaves it out. NULL: it began when
     * the vendor was opened. */
    void (*begin)(void *vendor);

    /* What is wrong with GPUs that were left out when it was opened; code 0: nothing. NULL: there
     * are never any. */
    const struct spoor_error *(*trouble)(const void *vendor);

    /* Sets every field of *ret. Fails only when the device itself is lost. */
    int (*read)(void *vendor, size_t device, uint64_t now_ns, struct gpu_reading *ret);

    /* Fills at most `capacity` entries and returns how many there are, for all devices: those
     * of `pids`, and others if they are seen anyway. This is the call that is made often (every
     * 5 ms while the job has a context): it reads memory alone, busy_ns as of the last
     * read_busy(). */
    ssize_t (*processes)(void *vendor, const struct gpu_pids *pids, struct gpu_process *list,
                         size_t capacity);

    /* Memory in use on a device as of the last processes(), which saw it on the way: no driver is
     * asked. UNKNOWN: it did not see it. NULL: it never does. */
    uint64_t (*memory_used)(const void *vendor, size_t device);

    /* Brings the busy_ns of processes up to date: called about every second. NULL: processes()
     * does that itself. */
    int (*read_busy)(void *vendor, const struct gpu_pids *pids, uint64_t now_ns);

    /* Figures that cost milliseconds (energy, driver samples) are read anew every few seconds,
     * and are those of the last time in between. After this call each is read once more when
     * it is next asked for: to be called before the first and the last reading. NULL: nothing
     * is ever old. */
    void (*refresh)(void *vendor);

    /* What the driver accounted for `pids`, ended ones among them: as processes(). NULL: this
     * vendor keeps no accounts. To be called at the end, and before one that ended is let go. */
    ssize_t (*accounts)(void *vendor, const struct gpu_pids *pids, struct gpu_account *list,
                        size_t capacity);
};

/* The vendors this build knows, in the order in which reports list them. */
extern const struct gpu_vendor *const gpu_vendors[];
extern const size_t gpu_vendor_count;

#endif
