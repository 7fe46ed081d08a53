/* SPDX-License-Identifier: Apache-2.0 */
/* devices.h - the disks and network interfaces of the machine, in sum and one by one. */
#ifndef SOURCE_HOST_DEVICES_H
#define SOURCE_HOST_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/root.h"
#include "source/host/space.h"

/* The sum of two counters over the devices of a kernel table.
 *
 * /proc/diskstats and /proc/net/dev have a line for every device, real or made up of others, and
 * keep their order. What a device is, is asked of sysfs once.
 *
 * The sum only grows, by the growth of each device between two readings. What a device had counted
 * before it was plugged in is not traffic of this machine, and a device that is removed takes
 * nothing away from the sum. */

enum device_class {
    DEVICE_IGNORED, /* its bytes are counted on another device, or on none */
    DEVICE_REAL,    /* hardware, as far as this machine can see */
    DEVICE_VIRTUAL, /* counts only if there is no hardware */
    DEVICE_CLASS_COUNT
};

/* The kernel's limit is 31 characters for a disk and 15 for an interface. More lines than there is
 * room for are more than host_read() can read. */
enum { DEVICE_NAME_SIZE = 40, DEVICE_TABLE_SIZE = 4096 };

/* The bytes that came in, or were read, and those that went out, or were written. */
struct device_bytes {
    uint64_t in, out;
};

/* How a table of the kernel is read: all of these are pure but classify(). */
struct device_kind {
    /* Moves *cursor behind the name. -EBADMSG: the line is damaged. */
    int (*parse_name)(const char **cursor, char name[DEVICE_NAME_SIZE]);
    /* Of the line from there on. -EBADMSG: likewise. */
    int (*parse_bytes)(const char *cursor, struct device_bytes *ret);
    enum device_class (*classify)(const struct root *root, const char *name);
};

/* Begins with device_table_init(); needs no release. */
struct device_table {
    size_t count;              /* lines that are known */
    enum device_class counted; /* what a sum is over, decided once; DEVICE_IGNORED: not yet */
    bool is_exact; /* the sum: no device was plugged in, removed or reset since it began */
    struct device_bytes sums[DEVICE_CLASS_COUNT];
    struct device {
        char name[DEVICE_NAME_SIZE];
        enum device_class class;
        struct device_bytes bytes; /* when it was last read */
    } line[DEVICE_TABLE_SIZE];
};

void device_table_init(struct device_table *table);

/* Reads the lines of a text. The first sum is over what the devices have counted so far. It is over
 * hardware if there was any when the first devices were found, and otherwise over the rest.
 * -ENOENT: none counts; -EBADMSG: a line is damaged; -E2BIG: there are too many. */
int device_table_read(struct device_table *table, const struct device_kind *kind,
                      const struct root *root, const char *text, struct device_bytes *ret);

/* The bytes that went to and from the machine's disks, from
 * /proc/diskstats.
 *
 * Only whole disks count. A partition's bytes are those of its disk; dm, md and
 * the like pass theirs on to the disks they are made of; a loop device's end up
 * on the disk of its file; ram and zram never leave memory. */

/* What a name alone tells: DEVICE_REAL or DEVICE_IGNORED. */
enum device_class disk_class_by_name(const char *name);

/* Asks sysfs whether the disk is a partition, and goes by the name where sysfs
 * does not know the disk. */
enum device_class disk_classify(const struct root *root, const char *name);

/* Parses /proc/diskstats. `table` remembers the disks. -ENOENT: no whole disk;
 * -EBADMSG: a line of a whole disk is damaged. */
int diskstats_parse(const char *text, struct device_table *table, const struct root *root,
                    struct device_bytes *ret);

/* The bytes that went through the machine's network interfaces, from
 * /proc/net/dev.
 *
 * A byte that a container sends passes its veth, a bridge and at last the card:
 * summed over all interfaces it would count three times. So where at least one
 * interface is hardware only hardware counts. Inside a container no interface is,
 * and then all but the loopback one count. Which it is, is decided when the table is first read. */

/* Parses /proc/net/dev. `table` remembers the interfaces. -ENOENT: none but the
 * loopback one; -EBADMSG: a line is damaged. */
int net_dev_parse(const char *text, struct device_table *table, const struct root *root,
                  struct device_bytes *ret);

/* The disks, network interfaces and mounted file systems of the machine, one by one.
 *
 * Disks are whole disks, as in diskstats_parse(): no partitions, no dm, md or loop device on top of
 * another disk, no disk without a medium. Interfaces are all but the loopback one. Mounts are
 * those of disks, as in mounts_read(). All are sorted by name, mounts by mount point.
 *
 * A reading costs some 10 us per device. Two readings give rates: see devices_growth(). */

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
