/* SPDX-License-Identifier: Apache-2.0 */
#include "source/host/devices.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/parse.h"
#include "base/reserve.h"

/* ---- device table ---------------------------------------------------------- */

void device_table_init(struct device_table *table)
{
    table->count = 0;
    table->counted = DEVICE_IGNORED;
    table->is_exact = true;
    memset(table->sums, 0, sizeof(table->sums));
}

/* Finds a device on this line or a later one; returns the number of lines if there is none. */
static size_t find_line(const struct device_table *table, size_t line, const char *name)
{
    while (line < table->count && strcmp(table->line[line].name, name) != 0)
        line++;
    return line;
}

/* Moves a device up to its line. The devices in between move down, in the same order. */
static void move_up(struct device_table *table, size_t from, size_t line)
{
    struct device moved = table->line[from];

    memmove(&table->line[line + 1], &table->line[line], (from - line) * sizeof(*table->line));
    table->line[line] = moved;
}

static void insert_device(struct device_table *table, const struct device *device, size_t line)
{
    if (table->count < DEVICE_TABLE_SIZE)
        table->count++;
    table->line[table->count - 1] = *device;
    move_up(table, table->count - 1, line);
}

static uint64_t add_growth(uint64_t sum, uint64_t before, uint64_t now)
{
    return sum_u64(sum, is_known(now) ? sub_floor0(now, before) : UNKNOWN);
}

static bool is_counted(const struct device_table *table, const struct device *device)
{
    return device->class != DEVICE_IGNORED && device->class == table->counted;
}

static void add_bytes(struct device_table *table, struct device *device,
                      struct device_bytes now)
{
    struct device_bytes *before = &device->bytes, *sum = &table->sums[device->class];

    if (is_counted(table, device) && (now.in < before->in || now.out < before->out))
        table->is_exact = false;
    sum->in = add_growth(sum->in, before->in, now.in);
    sum->out = add_growth(sum->out, before->out, now.out);
    *before = now;
}

/* Counts a device. `found` is its line if it is known. A new device counts from 0 or from its
 * current value. */
static void count_device(struct device_table *table, struct device *device, size_t found,
                         size_t line, struct device_bytes now, bool is_from_0)
{
    if (found < table->count) {
        move_up(table, found, line);
        add_bytes(table, &table->line[line], now);
        return;
    }
    if (!is_from_0)
        device->bytes = now;
    if (is_counted(table, device))
        table->is_exact = false;
    add_bytes(table, device, now);
    insert_device(table, device, line);
}

static int read_device(struct device_table *table, const struct device_kind *kind,
                       const struct root *root, const char *text, size_t line)
{
    struct device device = { .class = DEVICE_IGNORED };
    struct device_bytes now = { 0, 0 };
    size_t found;

    if (kind->parse_name(&text, device.name) < 0)
        return -EBADMSG;
    if (line == DEVICE_TABLE_SIZE)
        return -E2BIG;
    found = find_line(table, line, device.name);
    device.class =
        found < table->count ? table->line[found].class : kind->classify(root, device.name);
    if (device.class != DEVICE_IGNORED && kind->parse_bytes(text, &now) < 0)
        return -EBADMSG;
    /* A device that was present from the start counts from 0. */
    count_device(table, &device, found, line, now, table->counted == DEVICE_IGNORED);
    return 0;
}

/* Truncates the table after `line` lines: the devices on later lines were removed. */
static void cut(struct device_table *table, size_t line)
{
    for (size_t i = line; i < table->count; i++) {
        if (is_counted(table, &table->line[i]))
            table->is_exact = false;
    }
    table->count = line;
}

static void decide(struct device_table *table)
{
    for (size_t i = 0; i < table->count && table->counted != DEVICE_REAL; i++) {
        if (table->line[i].class != DEVICE_IGNORED)
            table->counted = table->line[i].class;
    }
}

/* Drops the devices after `lines` lines, which were not counted this time, and sums up the growth
 * of the others since the first call. -ENOENT: no device was counted so far. */
static int sum_table(struct device_table *table, int lines, struct device_bytes *ret)
{
    cut(table, (size_t)lines);
    if (table->counted == DEVICE_IGNORED)
        decide(table);
    if (table->counted == DEVICE_IGNORED)
        return -ENOENT;
    *ret = table->sums[table->counted];
    return 0;
}

int device_table_read(struct device_table *table, const struct device_kind *kind,
                      const struct root *root, const char *text, struct device_bytes *ret)
{
    int line = 0;

    for (; *text; text = parse_next_line(text), line++) {
        int r = read_device(table, kind, root, text, (size_t)line);

        if (r < 0)
            return r;
    }
    return sum_table(table, line, ret);
}

/* For devices that are not lines of one text: counts the device of a line; the first line is 0.
 * Returns the next line, which is the same line if the name was counted on an earlier one;
 * -E2BIG: there are too many. A new device counts from its current count, or from 0 if it
 * `is_younger` than the table. */
static int count_named(struct device_table *table, int line, const char *name,
                       struct device_bytes now, bool is_younger)
{
    struct device device = { .class = DEVICE_REAL };
    size_t found = find_line(table, 0, name);

    if (found < (size_t)line)
        return line;
    if (line == DEVICE_TABLE_SIZE)
        return -E2BIG;
    (void)snprintf(device.name, sizeof(device.name), "%s", name);
    count_device(table, &device, found, (size_t)line, now, is_younger);
    return line + 1;
}

/* ---- diskstats ------------------------------------------------------------- */

/* Parse /proc/diskstats.
 *
 *     254  0 vda 27143 7058 2559618 21867 2992 6418 166984 870 0 13484 22857 ...
 *
 * Major, minor and name, then reads, reads merged, sectors read, ms, writes, writes merged,
 * sectors written. Here a sector is 512 bytes, whatever the disk's own sector size. */

enum {
    COLUMN_SECTORS_READ = 2,
    COLUMN_SECTORS_WRITTEN = 6,
    COLUMN_COUNT,
    SECTOR_BYTES = 512, /* unit of the kernel, whatever the disk's own sector size */
};

/* Devices that consist of other devices, are in memory, or hold no data of the machine. A digit
 * must follow the name, so that a disk called "mdx" still counts. */
static const char *const not_disks[] = {
    "loop", "ram", "zram", "dm-", "md", "sr", "fd", "bcache", "drbd", "zd",
};

/* Disks named by letters: digits after the letters denote a partition. */
static const char *const lettered_disks[] = { "sd", "hd", "vd", "xvd" };

static size_t trailing_digits(const char *name, size_t length)
{
    size_t count = 0;

    while (count < length && is_digit(name[length - 1 - count]))
        count++;
    return count;
}

static bool is_not_disk(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(not_disks); i++) {
        size_t length = strlen(not_disks[i]);

        if (strncmp(name, not_disks[i], length) == 0 && is_digit(name[length]))
            return true;
    }
    return false;
}

/* Whether a disk is a path to another disk: nvme0c1n1 is one path to nvme0n1, which counts the
 * bytes of all its paths. */
static bool is_nvme_path(const char *name)
{
    const char *rest;

    if (!begins_with(name, "nvme"))
        return false;
    rest = name + 4 + strspn(name + 4, "0123456789");
    return *rest == 'c';
}

static bool is_partition_name(const char *name)
{
    size_t length = strlen(name);
    size_t digits = trailing_digits(name, length);
    size_t stem = length - digits;

    if (digits == 0)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(lettered_disks); i++) {
        if (begins_with(name, lettered_disks[i]))
            return true;
    }
    /* nvme0n1p2, mmcblk0p1: a 'p' between two numbers */
    return stem >= 2 && name[stem - 1] == 'p' && is_digit(name[stem - 2]);
}

enum device_class disk_class_by_name(const char *name)
{
    return is_not_disk(name) || is_nvme_path(name) || is_partition_name(name) ? DEVICE_IGNORED
                                                                              : DEVICE_REAL;
}

/* Returns the sysfs folder of a disk. A file name cannot contain the '/' of "cciss/c0d0": sysfs
 * writes '!'. */
static void name_folder(const char *name, char folder[DEVICE_NAME_SIZE])
{
    size_t i = 0;

    for (; name[i] && i < DEVICE_NAME_SIZE - 1; i++)
        folder[i] = name[i] == '/' ? '!' : name[i];
    folder[i] = '\0';
}

enum device_class disk_classify(const struct root *root, const char *name)
{
    char folder[DEVICE_NAME_SIZE];

    if (is_not_disk(name) || is_nvme_path(name))
        return DEVICE_IGNORED;
    name_folder(name, folder);
    if (!root_exists(root, "sys/class/block/%s", folder))
        return disk_class_by_name(name);
    return root_exists(root, "sys/class/block/%s/partition", folder) ? DEVICE_IGNORED
                                                                     : DEVICE_REAL;
}

/* Skips major and minor, and copies the name. -EBADMSG: this is not a line of
 * /proc/diskstats. */
static int parse_disk_name(const char **cursor, char name[DEVICE_NAME_SIZE])
{
    uint64_t number;

    if (parse_u64(cursor, &number) < 0 || parse_u64(cursor, &number) < 0)
        return -EBADMSG;
    return parse_word(cursor, name, DEVICE_NAME_SIZE);
}

static int parse_disk_bytes(const char *cursor, struct device_bytes *ret)
{
    uint64_t column[COLUMN_COUNT];

    for (int i = 0; i < COLUMN_COUNT; i++) {
        if (parse_u64(&cursor, &column[i]) < 0)
            return -EBADMSG;
    }
    /* At the very end of the text the last number may be truncated. */
    if (*cursor == '\0')
        return -EBADMSG;
    ret->in = product_u64(column[COLUMN_SECTORS_READ], SECTOR_BYTES);
    ret->out = product_u64(column[COLUMN_SECTORS_WRITTEN], SECTOR_BYTES);
    return 0;
}

int diskstats_parse(const char *text, struct device_table *table, const struct root *root,
                    struct device_bytes *ret)
{
    static const struct device_kind disk_kind = { parse_disk_name, parse_disk_bytes,
                                                  disk_classify };

    return device_table_read(table, &disk_kind, root, text, ret);
}

/* ---- net dev --------------------------------------------------------------- */

/* Parse /proc/net/dev.
 *
 * Two lines of heading, then one for each interface:
 *
 *     eth0: 9978350 486 0 0 0 0 0 0 34045 437 0 0 0 0 0 0
 *
 * The first number is the bytes received, the ninth the bytes sent. There may be no blank
 * after the colon. A name may contain colons, a number does not. */

enum {
    COLUMN_RECEIVED = 0,
    COLUMN_SENT = 8,
    NET_COLUMN_COUNT,
};

static enum device_class interface_classify(const struct root *root, const char *name)
{
    if (strcmp(name, "lo") == 0)
        return DEVICE_IGNORED;
    if (!root_exists(root, "sys/class/net/%s/device", name))
        return DEVICE_VIRTUAL;
    /* A network card may be a part of another one, as on Azure, which counts its traffic. */
    return root_exists(root, "sys/class/net/%s/master/device", name) ? DEVICE_IGNORED
                                                                     : DEVICE_REAL;
}

/* Copies the name in an interface line and moves *cursor past the colon. */
static int parse_interface_name(const char **cursor, char name[DEVICE_NAME_SIZE])
{
    const char *start = *cursor + strspn(*cursor, " \t");
    const char *end = strchr(start, '\n');
    const char *colon = end ? memrchr(start, ':', (size_t)(end - start)) : NULL;
    size_t length = colon ? (size_t)(colon - start) : 0;

    if (length == 0 || length >= DEVICE_NAME_SIZE)
        return -EBADMSG;
    memcpy(name, start, length);
    name[length] = '\0';
    *cursor = colon + 1;
    return 0;
}

static int parse_interface_bytes(const char *cursor, struct device_bytes *ret)
{
    uint64_t column[NET_COLUMN_COUNT];

    for (int i = 0; i < NET_COLUMN_COUNT; i++) {
        if (parse_u64(&cursor, &column[i]) < 0)
            return -EBADMSG;
    }
    *ret = (struct device_bytes){ column[COLUMN_RECEIVED], column[COLUMN_SENT] };
    return 0;
}

int net_dev_parse(const char *text, struct device_table *table, const struct root *root,
                  struct device_bytes *ret)
{
    static const struct device_kind kind = { parse_interface_name, parse_interface_bytes,
                                             interface_classify };

    return device_table_read(table, &kind, root, parse_next_line(parse_next_line(text)), ret);
}

int net_dev_sum(const char *text, struct device_bytes *ret_loopback,
                struct device_bytes *ret_others)
{
    *ret_loopback = *ret_others = (struct device_bytes){ 0, 0 };
    for (const char *line = parse_next_line(parse_next_line(text)); *line;
         line = parse_next_line(line)) {
        char name[DEVICE_NAME_SIZE];
        const char *cursor = line;
        struct device_bytes bytes, *sum;

        if (parse_interface_name(&cursor, name) < 0 ||
            parse_interface_bytes(cursor, &bytes) < 0)
            return -EBADMSG;
        sum = strcmp(name, "lo") == 0 ? ret_loopback : ret_others;
        *sum =
            (struct device_bytes){ sum_u64(sum->in, bytes.in), sum_u64(sum->out, bytes.out) };
    }
    return 0;
}

/* ---- devices --------------------------------------------------------------- */

enum {
    TEXT_SIZE = 1 << 20, /* enough for tables of thousands of devices */
    LAYERS_MAX = 16,     /* layers of stacked devices */
};

const char *disk_type_name(enum disk_type type)
{
    static const char *const names[] = {
        [DISK_NVME] = "nvme",
        [DISK_SSD] = "ssd",
        [DISK_HDD] = "hdd",
    };

    return names[type];
}

uint64_t devices_growth(uint64_t before, uint64_t after)
{
    return is_known(before) && is_known(after) && after >= before ? after - before : UNKNOWN;
}

/* ---- files of sysfs ------------------------------------------------------- */

/* Reads sys/class/KIND/NAME/FILE; empty: the file does not exist. */
static void read_text(const struct root *root, const char *kind, const char *name,
                      const char *file, char buf[DEVICE_TEXT_SIZE])
{
    char text[256];

    buf[0] = '\0';
    if (root_read_start(root, text, sizeof(text), "sys/class/%s/%s/%s", kind, name, file) > 0)
        parse_copy_line(text, buf, DEVICE_TEXT_SIZE);
}

static uint64_t read_number(const struct root *root, const char *kind, const char *name,
                            const char *file)
{
    return root_read_number(root, "sys/class/%s/%s/%s", kind, name, file);
}

/* Returns the last component of the target of a sysfs link, or of the folder of that target. */
static int read_link_part(const struct root *root, const char *path, bool of_folder, char *buf,
                          size_t size)
{
    char target[PATH_MAX];
    const char *part;
    size_t length;

    if (root_read_link(root, target, sizeof(target), "%s", path) < 0)
        return -ENOENT;
    if (of_folder && strrchr(target, '/'))
        *strrchr(target, '/') = '\0';
    part = strrchr(target, '/') ? strrchr(target, '/') + 1 : target;
    length = strlen(part);
    if (length == 0 || length >= size)
        return -EBADMSG;
    memcpy(buf, part, length + 1);
    return 0;
}

/* ---- RDMA ports ----------------------------------------------------------- */

/* Port counters of InfiniBand are in units of 4 bytes. Old devices have 32-bit counters, which
 * stop at their highest value. */
enum { RDMA_UNIT_BYTES = 4 };

static uint64_t read_port(const struct root *root, const char *device, const char *port,
                          const char *counter, struct device_table *table)
{
    char file[NAME_MAX + 40];
    uint64_t count;

    (void)snprintf(file, sizeof(file), "ports/%s/counters/%s", port, counter); /* fits */
    count = read_number(root, "infiniband", device, file);
    table->is_exact &= count != UINT32_MAX;
    return product_u64(count, RDMA_UNIT_BYTES);
}

static int count_port(const struct root *root, const char *device, const char *port,
                      struct device_table *table, int line)
{
    struct device_bytes now;
    char name[DEVICE_NAME_SIZE];

    if (port[0] == '.' ||
        snprintf(name, sizeof(name), "%s/%s", device, port) >= DEVICE_NAME_SIZE)
        return line;
    now.in = read_port(root, device, port, "port_rcv_data", table);
    now.out = read_port(root, device, port, "port_xmit_data", table);
    if (!is_known(now.in) || !is_known(now.out)) /* only hw_counters, or no counters */
        return line;
    return count_named(table, line, name, now, false);
}

int rdma_read(const struct root *root, struct device_table *table, struct device_bytes *ret)
{
    AUTO_CLOSEDIR DIR *devices = root_open_folder(root, "sys/class/infiniband");
    const struct dirent *device, *port;
    int line = 0;

    while (devices && (device = readdir(devices))) {
        AUTO_CLOSEDIR DIR *ports =
            device->d_name[0] != '.'
                ? root_open_folder(root, "sys/class/infiniband/%s/ports", device->d_name)
                : NULL;

        while (ports && line >= 0 && (port = readdir(ports)))
            line = count_port(root, device->d_name, port->d_name, table, line);
    }
    return line < 0 ? line : sum_table(table, line, ret);
}

/* ---- NFS ------------------------------------------------------------------ */

/* Parse /proc/self/mountstats. NFS mounts have lines of details, which start with a tab:
 *
 *     device server:/export mounted on /mnt with fstype nfs4 statvers=1.1
 *             age:    3600
 *             bytes:  0 0 0 0 81920 4096 20 1
 *
 * Age is in seconds since the mount. The bytes are: read and written by programs, through the
 * page cache and without it; read from the server and written to it; then pages. Blanks in
 * names are escaped. */

#define BEFORE_TYPE " with fstype "

enum {
    COLUMN_NFS_READ = 4,
    COLUMN_NFS_WRITTEN,
    NFS_COLUMN_COUNT,
    NFS_TEXT_SIZE = 4 << 20, /* 600 mounts; pages that are not needed are not touched */
    NFS_TRIES_MAX = 3,
};

/* Finds the type of the next NFS mount; NULL: none is left. */
static const char *find_nfs(const char *mountstats)
{
    while ((mountstats = strstr(mountstats, BEFORE_TYPE))) {
        mountstats += strlen(BEFORE_TYPE);
        if (begins_with(mountstats, "nfs ") || begins_with(mountstats, "nfs4 "))
            break;
    }
    return mountstats;
}

static bool is_mounted_on(const char *mountstats, const char *type, struct text_part point)
{
    size_t length = point.length + strlen(BEFORE_TYPE);

    return (size_t)(type - mountstats) > length && type[-(ptrdiff_t)length - 1] == ' ' &&
           memcmp(type - length, point.start, point.length) == 0;
}

/* Counts a mount whose details end before `end`. Returns the next line of the table. */
static int count_mount(const struct mountinfo *mount, const char *type, const char *end,
                       uint64_t seconds, struct device_table *table, int line)
{
    const char *bytes = parse_key(type, "\tbytes:");
    uint64_t column[NFS_COLUMN_COUNT], age_seconds = UINT64_MAX;
    char name[DEVICE_NAME_SIZE];

    if (!bytes || (end && bytes > end) || !strchr(bytes, '\n'))
        return -EBADMSG;
    for (int i = 0; i < NFS_COLUMN_COUNT; i++) {
        if (parse_u64(&bytes, &column[i]) < 0)
            return -EBADMSG;
    }
    (void)parse_key_u64(type, "\tage:", &age_seconds); /* on failure the mount counts as old */
    (void)snprintf(name, sizeof(name), "%u:%u", mount->major, mount->minor); /* fits */
    return count_named(
        table, line, name,
        (struct device_bytes){ column[COLUMN_NFS_READ], column[COLUMN_NFS_WRITTEN] },
        age_seconds < seconds);
}

int nfs_parse(const char *mountinfo, const char *mountstats, uint64_t seconds,
              struct device_table *table, struct device_bytes *ret)
{
    const char *type = find_nfs(mountstats), *next;
    struct mountinfo mount;
    int line = 0;

    for (; *mountinfo && line >= 0; mountinfo = parse_next_line(mountinfo)) {
        if (mountinfo_parse_line(mountinfo, &mount) < 0 ||
            (!text_part_is(mount.type, "nfs") && !text_part_is(mount.type, "nfs4")))
            continue;
        if (!type || !is_mounted_on(mountstats, type, mount.point))
            return -EBADMSG;
        next = find_nfs(type);
        line = count_mount(&mount, type, next, seconds, table, line);
        type = next;
    }
    if (line < 0)
        return line;
    return type ? -EBADMSG : sum_table(table, line, ret);
}

int nfs_read(const struct root *root, uint64_t seconds, struct device_table *table,
             struct device_bytes *ret)
{
    AUTO_FREE char *mountinfo = malloc(NFS_TEXT_SIZE);
    AUTO_FREE char *mountstats = malloc(NFS_TEXT_SIZE);
    int r = mountinfo && mountstats ? -EBADMSG : -ENOMEM;

    /* Try again if a file system was mounted between the two reads. */
    for (int i = 0; i < NFS_TRIES_MAX && r == -EBADMSG; i++) {
        if (root_read(root, mountinfo, NFS_TEXT_SIZE, "proc/self/mountinfo") < 0 ||
            root_read(root, mountstats, NFS_TEXT_SIZE, "proc/self/mountstats") < 0)
            return -ENOENT;
        r = nfs_parse(mountinfo, mountstats, seconds, table, ret);
    }
    return r;
}

/* ---- disks ---------------------------------------------------------------- */

static enum disk_type read_type(const struct root *root, const char *folder)
{
    uint64_t is_rotational = read_number(root, "block", folder, "queue/rotational");

    if (begins_with(folder, "nvme"))
        return DISK_NVME;
    if (!is_known(is_rotational))
        return DISK_TYPE_UNKNOWN;
    return is_rotational ? DISK_HDD : DISK_SSD;
}

/* Reads page 80 of a SCSI disk: the text follows a header of four bytes. */
static void read_scsi_serial(const struct root *root, const char *folder,
                             char buf[DEVICE_TEXT_SIZE])
{
    enum { HEADER = 4 };
    char page[256];
    ssize_t n =
        root_read_start(root, page, sizeof(page), "sys/class/block/%s/device/vpd_pg80", folder);

    if (n > HEADER)
        parse_copy_line(page + HEADER, buf, DEVICE_TEXT_SIZE);
}

static void describe_disk(const struct root *root, struct disk_device *disk)
{
    char folder[DEVICE_NAME_SIZE];

    name_folder(disk->name, folder);
    read_text(root, "block", folder, "device/model", disk->model);
    read_text(root, "block", folder, "device/vendor", disk->vendor);
    if (begins_with(disk->vendor, "0x")) /* a number, as of a virtio device */
        disk->vendor[0] = '\0';
    read_text(root, "block", folder, "device/serial", disk->serial);
    if (!disk->serial[0])
        read_text(root, "block", folder, "serial", disk->serial);
    if (!disk->serial[0])
        read_scsi_serial(root, folder, disk->serial);
    disk->type = read_type(root, folder);
    disk->capacity_bytes =
        product_u64(read_number(root, "block", folder, "size"), SECTOR_BYTES);
}

static int add_disk(const struct root *root, const char *line, struct devices *devices)
{
    struct disk_device disk = { .type = DISK_TYPE_UNKNOWN };
    struct device_bytes bytes;

    if (parse_disk_name(&line, disk.name) < 0 || parse_disk_bytes(line, &bytes) < 0 ||
        disk_classify(root, disk.name) != DEVICE_REAL)
        return 0;
    disk.read_bytes = bytes.in;
    disk.written_bytes = bytes.out;
    describe_disk(root, &disk);
    if (disk.capacity_bytes == 0)
        return 0;
    if (reserve(&devices->disks, &devices->disk_capacity, devices->disk_count + 1,
                sizeof(disk)) < 0)
        return -ENOMEM;
    devices->disks[devices->disk_count++] = disk;
    return 0;
}

/* ---- interfaces ----------------------------------------------------------- */

static int add_interface(const struct root *root, const char *line, struct devices *devices)
{
    struct network_device device = { .is_hardware = false };
    struct device_bytes bytes;
    char path[128];

    if (parse_interface_name(&line, device.name) < 0 ||
        parse_interface_bytes(line, &bytes) < 0 || strcmp(device.name, "lo") == 0)
        return 0;
    device.received_bytes = bytes.in;
    device.sent_bytes = bytes.out;
    device.is_hardware = root_exists(root, "sys/class/net/%s/device", device.name);
    read_text(root, "net", device.name, "address", device.mac_address);
    read_text(root, "net", device.name, "operstate", device.state);
    device.speed_mbps = read_number(root, "net", device.name, "speed"); /* "-1": unknown */
    device.mtu = read_number(root, "net", device.name, "mtu");
    (void)snprintf(path, sizeof(path), "sys/class/net/%s/device/driver",
                   device.name); /* fits */
    if (read_link_part(root, path, false, device.driver, sizeof(device.driver)) < 0)
        device.driver[0] = '\0';
    if (reserve(&devices->interfaces, &devices->interface_capacity,
                devices->interface_count + 1, sizeof(device)) < 0)
        return -ENOMEM;
    devices->interfaces[devices->interface_count++] = device;
    return 0;
}

/* ---- mounts --------------------------------------------------------------- */

static bool find_below(const struct root *root, const char *name, char ret[DEVICE_NAME_SIZE])
{
    AUTO_CLOSEDIR DIR *folder = root_open_folder(root, "sys/class/block/%s/slaves", name);
    const struct dirent *entry;
    bool has_any = false;

    while (folder && (entry = readdir(folder))) {
        size_t length = strlen(entry->d_name);

        if (entry->d_name[0] == '.' || length >= DEVICE_NAME_SIZE ||
            (has_any && strcmp(entry->d_name, ret) > 0))
            continue;
        memcpy(ret, entry->d_name, length + 1);
        has_any = true;
    }
    return has_any;
}

/* Replaces a partition by its disk, and a stacked device by the first device below it. */
static void go_down(const struct root *root, char name[DEVICE_NAME_SIZE])
{
    for (int i = 0; i < LAYERS_MAX; i++) {
        char path[128], below[DEVICE_NAME_SIZE];

        (void)snprintf(path, sizeof(path), "sys/class/block/%s", name); /* fits */
        if (root_exists(root, "%s/partition", path)) {
            if (read_link_part(root, path, true, below, sizeof(below)) < 0)
                return;
        } else if (!find_below(root, name, below)) {
            return;
        }
        memcpy(name, below, sizeof(below));
    }
}

void devices_find_disk_of(const struct root *root, const struct mount_item *mount,
                          char name[DEVICE_NAME_SIZE])
{
    static const char prefix[] = "/dev/";
    const char *source = mount->source;
    char path[64];

    name[0] = '\0';
    if (begins_with(source, "zfs:")) {
        (void)snprintf(name, DEVICE_NAME_SIZE, "%s", source); /* truncation is fine */
        return;
    }
    (void)snprintf(path, sizeof(path), "sys/dev/block/%u:%u", mount->major, mount->minor);
    /* btrfs has a device number of its own, which belongs to no device */
    if (read_link_part(root, path, false, name, DEVICE_NAME_SIZE) < 0) {
        source += begins_with(source, prefix) ? strlen(prefix) : 0;
        if (strlen(source) >= DEVICE_NAME_SIZE || strstr(source, "..") ||
            !root_exists(root, "sys/class/block/%s", source)) {
            name[0] = '\0';
            return;
        }
        memcpy(name, source, strlen(source) + 1);
    }
    go_down(root, name);
    for (char *c = name; *c; c++)
        *c = *c == '!' ? '/' : *c;
}

static void read_mounts(const struct root *root, struct space *space, struct devices *devices)
{
    struct mounts sum;

    if (!space || space_read(space, root, &sum, &devices->mounts) < 0)
        return;
    for (size_t i = 0; i < devices->mounts.count; i++)
        devices_find_disk_of(root, &devices->mounts.items[i], devices->mounts.items[i].disk);
}

/* ---- all devices ----------------------------------------------------------- */

static int read_lines(const struct root *root, const char *path, unsigned heading, char *text,
                      struct devices *devices,
                      int (*add)(const struct root *root, const char *line,
                                 struct devices *devices))
{
    const char *line = text;
    int r = 0;

    if (root_read_start(root, text, TEXT_SIZE, "%s", path) < 0)
        return 0;
    while (heading-- > 0)
        line = parse_next_line(line);
    for (; *line && r == 0; line = parse_next_line(line))
        r = add(root, line, devices);
    return r;
}

/* Compares two disks or interfaces, whose structs begin with the name. */
static int compare_names(const void *left, const void *right)
{
    return strverscmp(left, right);
}

static int compare_mounts(const void *left, const void *right)
{
    return strcmp(((const struct mount_item *)left)->point,
                  ((const struct mount_item *)right)->point);
}

static void sort(void *items, size_t count, size_t size,
                 int (*compare)(const void *left, const void *right))
{
    if (count > 1)
        qsort(items, count, size, compare);
}

int devices_read(const struct root *root, struct space *space, struct devices *ret)
{
    AUTO_FREE char *text = malloc(TEXT_SIZE);
    struct devices devices = { 0 };
    int r = text ? read_lines(root, "proc/diskstats", 0, text, &devices, add_disk) : -ENOMEM;

    if (r == 0)
        r = read_lines(root, "proc/net/dev", 2, text, &devices, add_interface);
    if (r < 0) {
        devices_done(&devices);
        return r;
    }
    read_mounts(root, space, &devices);
    sort(devices.disks, devices.disk_count, sizeof(*devices.disks), compare_names);
    sort(devices.interfaces, devices.interface_count, sizeof(*devices.interfaces),
         compare_names);
    sort(devices.mounts.items, devices.mounts.count, sizeof(*devices.mounts.items),
         compare_mounts);
    *ret = devices;
    return 0;
}

void devices_done(struct devices *devices)
{
    free(devices->disks);
    free(devices->interfaces);
    mount_list_done(&devices->mounts);
    *devices = (struct devices){ 0 };
}

const struct disk_device *devices_find_disk(const struct devices *devices, const char *name)
{
    for (size_t i = 0; i < devices->disk_count; i++) {
        if (strcmp(devices->disks[i].name, name) == 0)
            return &devices->disks[i];
    }
    return NULL;
}

const struct network_device *devices_find_interface(const struct devices *devices,
                                                    const char *name)
{
    for (size_t i = 0; i < devices->interface_count; i++) {
        if (strcmp(devices->interfaces[i].name, name) == 0)
            return &devices->interfaces[i];
    }
    return NULL;
}
