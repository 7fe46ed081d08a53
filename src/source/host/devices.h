/* SPDX-License-Identifier: Apache-2.0 */
/* devices.h - the disks, network interfaces and RDMA ports of the machine, in total and individually. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/root.h"
#include "source/host/mounts.h"

/* The sum of two counters over the devices of a kernel table.
 *
 * /proc/diskstats and /proc/net/dev have a line for every device, physical or virtual, in a
 * stable order. The kind of a device is read from sysfs once.
 *
 * The sum never falls: it rises by the increase of each device between two readings. Earlier
 * counts of a device that is plugged in are not part of this machine's traffic, and removing
 * a device does not reduce the sum. */

enum device_class {
    DEVICE_IGNORED, /* counted on another device, or not at all */
    DEVICE_REAL,    /* hardware, as far as this machine can tell */
    DEVICE_VIRTUAL, /* counts only if there is no hardware */
    DEVICE_CLASS_COUNT
};

/* The table has room for more lines than host_read() can read. */
enum { DEVICE_TABLE_SIZE = 4096 };

/* Bytes received or read, and bytes sent or written. */
struct device_bytes {
    uint64_t in, out;
};

/* The parser of a kernel table. All its functions are pure except classify(). */
struct device_kind {
    /* Reads the name and moves *cursor past it. -EBADMSG: the line is damaged. */
    int (*parse_name)(const char **cursor, char name[DEVICE_NAME_SIZE]);
    /* Parses the line after the name. -EBADMSG: the line is damaged. */
    int (*parse_bytes)(const char *cursor, struct device_bytes *ret);
    enum device_class (*classify)(const struct root *root, const char *name);
};

/* Initialized by device_table_init(); needs no release. */
struct device_table {
    size_t count; /* known lines */
    enum device_class
        counted;   /* the class that is summed, decided only once; DEVICE_IGNORED: not yet */
    bool is_exact; /* no device was plugged in, removed or reset since the start */
    struct device_bytes sums[DEVICE_CLASS_COUNT];
    struct device {
        char name[DEVICE_NAME_SIZE];
        enum device_class class;
        struct device_bytes bytes; /* as last read */
    } line[DEVICE_TABLE_SIZE];
};

void device_table_init(struct device_table *table);

/* Reads the lines of a text. The first sum is the sum of the current counts. It covers hardware
 * if the first devices found included any, and otherwise all other devices. -ENOENT: no device
 * counts; -EBADMSG: a line is damaged; -E2BIG: there are too many lines. */
int device_table_read(struct device_table *table, const struct device_kind *kind,
                      const struct root *root, const char *text, struct device_bytes *ret);

/* The bytes transferred by the machine's disks, from /proc/diskstats.
 *
 * Only whole disks count: a disk includes its partitions. dm, md and similar devices pass
 * their bytes on to the disks below, and a loop device to the disk of its file; the bytes of
 * ram and zram never leave memory. */

/* Classifies by name alone: DEVICE_REAL or DEVICE_IGNORED. */
enum device_class disk_class_by_name(const char *name);

/* Checks in sysfs whether the disk is a partition, or else classifies by name. */
enum device_class disk_classify(const struct root *root, const char *name);

/* Parses /proc/diskstats. `table` keeps the disks. -ENOENT: no whole disk; -EBADMSG: a line
 * of a whole disk is damaged. */
int diskstats_parse(const char *text, struct device_table *table, const struct root *root,
                    struct device_bytes *ret);

/* The bytes transferred by the machine's network interfaces, from /proc/net/dev.
 *
 * A byte sent by a container passes its veth, a bridge and then the network card: in a sum
 * over all interfaces it would count three times. So if at least one interface is hardware,
 * only hardware counts. Inside a container no interface is hardware, and all except the
 * loopback interface count. The choice is made when the table is first read. */

/* Parses /proc/net/dev. `table` keeps the interfaces. -ENOENT: only a loopback interface;
 * -EBADMSG: a line is damaged. */
int net_dev_parse(const char *text, struct device_table *table, const struct root *root,
                  struct device_bytes *ret);

/* Sums up the text of /proc/net/dev of any network namespace. */
int net_dev_sum(const char *text, struct device_bytes *ret_loopback,
                struct device_bytes *ret_others);

/* Reads the bytes that RDMA ports (InfiniBand, RoCE, Omni-Path) transferred since the first
 * call, from sysfs. The counters of the network interfaces do not contain them. A driver may
 * query the device's firmware for each counter. -ENOENT: no port has counters. */
int rdma_read(const struct root *root, struct device_table *table, struct device_bytes *ret);

/* The bytes that this machine read from NFS servers and wrote to them.
 *
 * /proc/self/mountstats has the counters of each NFS mount of our mount namespace. They
 * belong to the superblock: a file system that is mounted twice, or partly, shows the same
 * counters on each mount. The file does not identify the superblock, but mountinfo does by
 * its device number, and the kernel writes both files in the same order. Comparing counters
 * would prove nothing: two new mounts have equal counters, and the counters of one
 * superblock may advance between the lines of two mounts. */

/* Sums up the bytes of READ and WRITE requests since the first call. A superblock mounted less
 * than `seconds` ago counts from its mount. -ENOENT: no NFS is mounted; -EBADMSG: the texts are
 * damaged, or do not belong together. */
int nfs_parse(const char *mountinfo, const char *mountstats, uint64_t seconds,
              struct device_table *table, struct device_bytes *ret);

/* Like nfs_parse(), but reads the files. Does not wait for a server. */
int nfs_read(const struct root *root, uint64_t seconds, struct device_table *table,
             struct device_bytes *ret);

/* The disks, network interfaces and mounted file systems of the machine, individually.
 *
 * Disks are whole disks, as in diskstats_parse(): no partitions, no dm, md or loop device on top of
 * another disk, no disk without a medium. Interfaces are all but the loopback one. Mounts are
 * file systems on disks, as in mounts_read(). All are sorted by name, mounts by mount point.
 *
 * A reading costs some 10 us per device. Two readings give rates: see devices_growth(). */

enum { DEVICE_TEXT_SIZE = 64 };

enum disk_type { DISK_TYPE_UNKNOWN, DISK_NVME, DISK_SSD, DISK_HDD };

/* Returns "nvme", "ssd", "hdd" or, if the type is unknown, NULL. */
const char *disk_type_name(enum disk_type type);

/* Texts are empty and numbers UNKNOWN if the machine does not report them. */
struct disk_device {
    char name[DEVICE_NAME_SIZE]; /* "nvme0n1" */
    char model[DEVICE_TEXT_SIZE];
    char vendor[DEVICE_TEXT_SIZE];
    char serial[DEVICE_TEXT_SIZE];
    enum disk_type type;
    uint64_t capacity_bytes;
    uint64_t read_bytes, written_bytes; /* since boot, or since the disk was plugged in */
};

struct network_device {
    char name[DEVICE_NAME_SIZE];        /* "eth0" */
    char mac_address[DEVICE_TEXT_SIZE]; /* "52:54:00:12:34:56" */
    char driver[DEVICE_TEXT_SIZE];      /* "e1000e"; empty: none */
    char state[DEVICE_TEXT_SIZE];       /* operstate: "up", "down", "unknown" */
    uint64_t speed_mbps;                /* UNKNOWN if the interface is down or virtual */
    uint64_t mtu;
    uint64_t received_bytes, sent_bytes; /* bytes since the interface came up */
    bool is_hardware;                    /* false: a bridge, a tunnel, a veth, ... */
};

/* Owns its lists. A zeroed struct is empty. */
struct devices {
    struct disk_device *disks;
    size_t disk_count, disk_capacity;
    struct network_device *interfaces;
    size_t interface_count, interface_capacity;
    struct mount_list mounts;
};

/* Takes one reading. `space` reads the mounts; if it is NULL or does not respond, there are no
 * mounts. Fails only with -ENOMEM. The caller must call devices_done(). */
int devices_read(const struct root *root, struct space *space, struct devices *ret);
void devices_done(struct devices *devices);

/* Finds the whole disk of a file system: see struct mount_item. */
void devices_find_disk_of(const struct root *root, const struct mount_item *mount,
                          char name[DEVICE_NAME_SIZE]);

/* Finds the device with this name in a reading; NULL: the reading does not contain it. */
const struct disk_device *devices_find_disk(const struct devices *devices, const char *name);
const struct network_device *devices_find_interface(const struct devices *devices,
                                                    const char *name);

/* Returns the increase of a counter of a device. UNKNOWN if the device was plugged in between
 * the two readings, or the counter was reset or has wrapped. */
uint64_t devices_growth(uint64_t before, uint64_t after);
