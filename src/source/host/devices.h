/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devices.h - the disks, network interfaces and mounted file systems of the machine, one by one.
 *
 * Disks are whole disks, as in diskstats.h: no partitions, no dm, md or loop device on top of
 * another disk, no disk without a medium. Interfaces are all but the loopback one. Mounts are
 * those of disks, as in mounts.h. All are sorted by name, mounts by mount point.
 *
 * A reading costs some 10 us per device. Two readings give rates: see devices_growth().
 */
#ifndef SOURCE_HOST_DEVICES_H
#define SOURCE_HOST_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/root.h"
#include "source/host/device_table.h"
#include "source/host/space.h"

enum { DEVICE_TEXT_SIZE = 64 };

enum disk_type { DISK_TYPE_UNKNOWN, DISK_NVME, DISK_SSD, DISK_HDD };

/* "nvme", "ssd", "hdd", or NULL. */
const char *disk_type_name(enum disk_type type);

/* Texts are empty and numbers UNKNOWN if the machine does not say. */
struct disk_device {
    char name[DEVICE_NAME_SIZE]; /* "nvme0n1" */
    char model[DEVICE_TEXT_SIZE];
    char vendor[DEVICE_TEXT_SIZE];
    char serial[DEVICE_TEXT_SIZE];
    enum disk_type type;
    uint64_t capacity_bytes;
    uint64_t read_bytes, written_bytes; /* since boot, or since it was plugged in */
};

struct network_device {
    char name[DEVICE_NAME_SIZE];        /* "eth0" */
    char mac_address[DEVICE_TEXT_SIZE]; /* "52:54:00:12:34:56" */
    char driver[DEVICE_TEXT_SIZE];      /* of hardware: "e1000e" */
    char state[DEVICE_TEXT_SIZE];       /* operstate: "up", "down", "unknown" */
    uint64_t speed_mbps;                /* UNKNOWN if it is down or virtual */
    uint64_t mtu;
    uint64_t received_bytes, sent_bytes; /* since it came up */
    bool is_hardware;                    /* otherwise a bridge, a tunnel, a veth, ... */
};

struct mount_device {
    struct mount_item mount;
    char disk
        [DEVICE_NAME_SIZE]; /* the whole disk it is on, the first of several; empty: unknown.
                                    "zfs:POOL" for a pool */
};

/* Owns its lists. Zeroed is empty. */
struct devices {
    struct disk_device *disks;
    size_t disk_count;
    struct network_device *interfaces;
    size_t interface_count;
    struct mount_device *mounts;
    size_t mount_count;
};

/* Takes one reading. `space` asks for mounts, and may be NULL if they are not wanted; if it does
 * not respond, there are none. Fails only with -ENOMEM. The caller ends *ret with devices_done(). */
int devices_read(const struct root *root, struct space *space, struct devices *ret);
void devices_done(struct devices *devices);

/* The whole disk that a file system is on: see struct mount_device. */
void devices_find_disk_of(const struct root *root, const struct mount_item *mount,
                          char name[DEVICE_NAME_SIZE]);

/* The device of that name in an earlier reading; NULL: it was not there. */
const struct disk_device *devices_find_disk(const struct devices *devices, const char *name);
const struct network_device *devices_find_interface(const struct devices *devices,
                                                    const char *name);

/* How much a counter of a device has grown. UNKNOWN if that is not known: the device was plugged in
 * meanwhile, or the counter was reset or has wrapped. */
uint64_t devices_growth(uint64_t before, uint64_t after);

#endif
