/* SPDX-License-Identifier: Apache-2.0 */
#include "source/host/nfs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "source/host/mounts.h"

/* Parse /proc/self/mountstats. NFS mounts have lines of details, which start with a tab:
 *
 *     device server:/export mounted on /mnt with fstype nfs4 statvers=1.1
 *             age:    3600
 *             bytes:  0 0 0 0 81920 4096 20 1
 *
 * Age is in seconds since the mount. Bytes read and written by programs through the page cache and
 * without it, then those read from the server and written to it, then pages. Blanks in names are
 * escaped. */

#define BEFORE_TYPE " with fstype "

enum {
    COLUMN_READ = 4,
    COLUMN_WRITTEN,
    COLUMN_COUNT,
    TEXT_SIZE = 4 << 20, /* 600 mounts; pages that are not needed are not touched */
    TRIES_MAX = 3,
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

/* Counts a mount whose details are before `end`. Returns the next line of the table. */
static int count_mount(const struct mountinfo *mount, const char *type, const char *end,
                       uint64_t seconds, struct device_table *table, int line)
{
    const char *bytes = parse_key(type, "\tbytes:");
    uint64_t column[COLUMN_COUNT], age_seconds = UINT64_MAX;
    char name[DEVICE_NAME_SIZE];

    if (!bytes || (end && bytes > end) || !strchr(bytes, '\n'))
        return -EBADMSG;
    for (int i = 0; i < COLUMN_COUNT; i++) {
        if (parse_u64(&bytes, &column[i]) < 0)
            return -EBADMSG;
    }
    (void)parse_key_u64(type, "\tage:", &age_seconds); /* on failure it is old */
    (void)snprintf(name, sizeof(name), "%u:%u", mount->major, mount->minor); /* fits */
    return device_table_count(
        table, line, name, (struct device_bytes){ column[COLUMN_READ], column[COLUMN_WRITTEN] },
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
    return type ? -EBADMSG : device_table_sum(table, line, ret);
}

int nfs_read(const struct root *root, uint64_t seconds, struct device_table *table,
             struct device_bytes *ret)
{
    AUTO_FREE char *mountinfo = malloc(TEXT_SIZE);
    AUTO_FREE char *mountstats = malloc(TEXT_SIZE);
    int r = mountinfo && mountstats ? -EBADMSG : -ENOMEM;

    /* Again if something was mounted between the two. */
    for (int i = 0; i < TRIES_MAX && r == -EBADMSG; i++) {
        if (root_read(root, mountinfo, TEXT_SIZE, "proc/self/mountinfo") < 0 ||
            root_read(root, mountstats, TEXT_SIZE, "proc/self/mountstats") < 0)
            return -ENOENT;
        r = nfs_parse(mountinfo, mountstats, seconds, table, ret);
    }
    return r;
}
