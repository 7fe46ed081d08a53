/* SPDX-License-Identifier: Apache-2.0 */
#include "source/host/mounts.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/parse.h"

/* ---- mountinfo ------------------------------------------------------------- */

/* Parse /proc/PID/mountinfo.
 *
 *     36 35 98:0 /folder /mnt/point rw,noatime master:1 - ext4 /dev/sda1 rw,discard
 *
 * The parts: numbers of the mount and its parent, device, root, mount point, options of the
 * mount, any number of words, a lone dash, type, source, options of the filesystem. The
 * parts are separated by one blank, so an empty source shows as two blanks. */

bool text_part_is(struct text_part part, const char *word)
{
    return strncmp(word, part.start, part.length) == 0 && word[part.length] == '\0';
}

bool text_part_starts(struct text_part part, const char *start)
{
    size_t length = strlen(start);

    return part.length >= length && memcmp(part.start, start, length) == 0;
}

bool text_part_has_option(struct text_part part, const char *word)
{
    const char *end = part.start + part.length;

    while (part.start < end) {
        const char *comma = memchr(part.start, ',', (size_t)(end - part.start));

        part.length = (size_t)((comma ? comma : end) - part.start);
        if (text_part_is(part, word))
            return true;
        part.start += part.length + 1;
    }
    return false;
}

static bool is_octal(char c)
{
    return c >= '0' && c <= '7';
}

/* Whether the text starts with an escape: a backslash and three octal digits for one byte. */
static bool is_escape(const char *text, size_t length)
{
    return length >= 4 && text[0] == '\\' && text[1] >= '0' && text[1] <= '3' &&
           is_octal(text[2]) && is_octal(text[3]);
}

int text_part_decode(struct text_part part, char *buf, size_t size)
{
    size_t used = 0;

    if (part.length > INT_MAX)
        return -ENAMETOOLONG;
    for (size_t i = 0; i < part.length; i++) {
        const char *text = part.start + i;
        char c = *text;

        if (is_escape(text, part.length - i)) {
            c = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 | (text[3] - '0'));
            i += 3;
        }
        if (c == '\0')
            return -EBADMSG;
        if (used + 1 >= size)
            return -ENAMETOOLONG;
        buf[used++] = c;
    }
    if (size == 0)
        return -ENAMETOOLONG;
    buf[used] = '\0';
    return (int)used;
}

/* Takes the next part of a line and moves *cursor past the blank after it. After the last
 * part, *cursor is at `end`, the newline. */
static int take_part(const char **cursor, const char *end, struct text_part *ret)
{
    const char *start = *cursor;
    const char *blank = memchr(start, ' ', (size_t)(end - start));

    if (start == end)
        return -EBADMSG;
    *ret = (struct text_part){ start, (size_t)((blank ? blank : end) - start) };
    *cursor = blank ? blank + 1 : end;
    return 0;
}

static int parse_device(struct text_part part, struct mountinfo *mount)
{
    const char *cursor = part.start;
    uint64_t major, minor;

    if (parse_u64(&cursor, &major) < 0 || *cursor++ != ':' || parse_u64(&cursor, &minor) < 0 ||
        cursor != part.start + part.length || major > UINT_MAX || minor > UINT_MAX)
        return -EBADMSG;
    mount->major = (unsigned)major;
    mount->minor = (unsigned)minor;
    return 0;
}

int mountinfo_read(const struct root *root, char **ret)
{
    enum { SIZE = 1024 * 1024 };
    AUTO_FREE char *text = malloc(SIZE);
    ssize_t n;

    if (!text)
        return -ENOMEM;
    n = root_read_start(root, text, SIZE, "proc/self/mountinfo");
    if (n < 0)
        return (int)n;
    *ret = take_ptr(text);
    return 0;
}

int mountinfo_parse_line(const char *line, struct mountinfo *ret)
{
    enum { ID, PARENT, DEVICE, ROOT, POINT, OPTIONS, FIXED_COUNT };
    struct text_part part[FIXED_COUNT];
    const char *end = strchr(line, '\n');
    struct text_part optional;
    struct mountinfo mount;

    if (!end)
        return -EBADMSG;
    for (int i = 0; i < FIXED_COUNT; i++) {
        if (take_part(&line, end, &part[i]) < 0)
            return -EBADMSG;
    }
    do {
        if (take_part(&line, end, &optional) < 0)
            return -EBADMSG;
    } while (!text_part_is(optional, "-"));
    if (take_part(&line, end, &mount.type) < 0 || take_part(&line, end, &mount.source) < 0 ||
        take_part(&line, end, &mount.super_options) < 0 || line != end)
        return -EBADMSG;
    if (parse_device(part[DEVICE], &mount) < 0)
        return -EBADMSG;
    mount.root = part[ROOT];
    mount.point = part[POINT];
    *ret = mount;
    return 0;
}

/* ---- mounts ---------------------------------------------------------------- */

/* File systems beyond these are left out: no machine has so many disks. */
enum { FILESYSTEMS_MAX = 512, POOLS_MAX = 64 };

struct seen {
    unsigned count;
    dev_t device[FILESYSTEMS_MAX];
    unsigned pool_count;
    struct text_part pool[POOLS_MAX];
};

static const char *const image_types[] = { "squashfs", "iso9660", "udf",
                                           "erofs",    "cramfs",  "romfs" };
static const char *const image_sources[] = { "/dev/loop", "/dev/ram", "/dev/sr", "/dev/fuse" };

static bool is_one_of(struct text_part part, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (*part.start == *words[i] && text_part_is(part, words[i]))
            return true;
    }
    return false;
}

static bool starts_as_one_of(struct text_part part, const char *const *starts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (text_part_starts(part, starts[i]))
            return true;
    }
    return false;
}

bool mount_is_disk(const struct mountinfo *mount)
{
    return text_part_starts(mount->source, "/dev/") &&
           !text_part_has_option(mount->super_options, "ro") &&
           !is_one_of(mount->type, image_types, ARRAY_SIZE(image_types)) &&
           !starts_as_one_of(mount->source, image_sources, ARRAY_SIZE(image_sources));
}

/* Types of file systems in memory or of the kernel. The files of an overlay are on another
 * mount. */
static const char *const unstored_types[] = {
    "autofs",    "binfmt_misc", "bpf",      "cgroup",  "cgroup2",   "configfs",   "debugfs",
    "devpts",    "devtmpfs",    "efivarfs", "fusectl", "hugetlbfs", "mqueue",     "nsfs",
    "overlay",   "proc",        "pstore",   "ramfs",   "rootfs",    "rpc_pipefs", "securityfs",
    "selinuxfs", "sysfs",       "tmpfs",    "tracefs",
};

/* Types of file systems that report their space without waiting, even if frozen. */
static const char *const prompt_types[] = {
    "btrfs", "ext2", "ext3", "ext4", "f2fs", "squashfs", "vfat", "xfs",
};

/* Sources that /proc/diskstats does not count, and whose data may be stored anywhere. */
static const char *const uncounted_sources[] = { "/dev/loop", "/dev/ram", "/dev/zram",
                                                 "/dev/fd", "/dev/fuse" };

static bool is_unstored(const struct mountinfo *mount)
{
    return is_one_of(mount->type, unstored_types, ARRAY_SIZE(unstored_types));
}

static bool is_local(const struct mountinfo *mount)
{
    if (text_part_has_option(mount->super_options, "ro") || is_unstored(mount))
        return true;
    return text_part_starts(mount->source, "/dev/") &&
           !starts_as_one_of(mount->source, uncounted_sources, ARRAY_SIZE(uncounted_sources));
}

bool mounts_are_local(const char *text)
{
    struct mountinfo mount;

    for (; *text; text = parse_next_line(text)) {
        if (mountinfo_parse_line(text, &mount) < 0 || !is_local(&mount))
            return false;
    }
    return true;
}

bool mounts_may_stall(const char *text)
{
    struct mountinfo mount;

    for (; *text; text = parse_next_line(text)) {
        if (mountinfo_parse_line(text, &mount) < 0 ||
            (!is_one_of(mount.type, prompt_types, ARRAY_SIZE(prompt_types)) &&
             !is_unstored(&mount)))
            return true;
    }
    return false;
}

static bool is_seen(const struct seen *seen, dev_t device)
{
    for (unsigned i = 0; i < seen->count; i++) {
        if (seen->device[i] == device)
            return true;
    }
    return false;
}

/* Whether the mount is visible. A later mount may hide it: the mount point then shows the other
 * file system. Files of btrfs have device numbers that are not in mountinfo. */
static bool is_visible(const struct mountinfo *mount, const char *point, dev_t device)
{
    struct stat stat_;

    if (text_part_is(mount->type, "btrfs"))
        return true;
    return stat(point, &stat_) == 0 && stat_.st_dev == device;
}

static int read_space(const char *point, struct mounts *ret)
{
    struct statvfs space;

    if (statvfs(point, &space) < 0)
        return -errno;
    if (space.f_bfree > space.f_blocks)
        return -EBADMSG;
    *ret = (struct mounts){
        .total_bytes = product_u64(space.f_blocks, space.f_frsize),
        .used_bytes = product_u64(space.f_blocks - space.f_bfree, space.f_frsize),
        .free_bytes = product_u64(space.f_bavail, space.f_frsize),
    };
    return 0;
}

static int read_mount(const struct mountinfo *mount, char point[PATH_MAX], struct mounts *ret)
{
    if (text_part_decode(mount->point, point, PATH_MAX) < 0 ||
        !is_visible(mount, point, makedev(mount->major, mount->minor)))
        return -ENOENT;
    return read_space(point, ret);
}

static struct text_part pool_of(const struct mountinfo *mount)
{
    const char *slash = memchr(mount->source.start, '/', mount->source.length);

    return (struct text_part){
        mount->source.start,
        slash ? (size_t)(slash - mount->source.start) : mount->source.length,
    };
}

bool mount_is_zfs(const struct mountinfo *mount)
{
    return text_part_is(mount->type, "zfs") && mount->source.length > 0;
}

static bool is_same(struct text_part a, struct text_part b)
{
    return a.length == b.length && memcmp(a.start, b.start, a.length) == 0;
}

static bool is_seen_pool(const struct seen *seen, struct text_part pool)
{
    for (unsigned i = 0; i < seen->pool_count; i++) {
        if (is_same(seen->pool[i], pool))
            return true;
    }
    return false;
}

void mounts_add_dataset(struct mounts *pool, const struct mounts *dataset)
{
    pool->used_bytes = sum_u64(pool->used_bytes, dataset->used_bytes);
    pool->free_bytes = larger(pool->free_bytes, dataset->free_bytes);
    pool->total_bytes = sum_u64(pool->used_bytes, pool->free_bytes);
}

/* Sums up all mounted datasets of a pool; `text` starts at its first line. */
static int read_pool(const char *text, struct text_part pool, char point[PATH_MAX],
                     struct mounts *ret)
{
    struct mountinfo mount;
    bool has_any = false;

    *ret = (struct mounts){ 0 };
    for (; *text; text = parse_next_line(text)) {
        char ignored[PATH_MAX];
        struct mounts dataset;

        if (mountinfo_parse_line(text, &mount) < 0 || !mount_is_zfs(&mount) ||
            !is_same(pool_of(&mount), pool) ||
            read_mount(&mount, has_any ? ignored : point, &dataset) < 0)
            continue;
        mounts_add_dataset(ret, &dataset);
        has_any = true;
    }
    return has_any ? 0 : -ENOENT;
}

/* Whether a mount is an overlay that is the root. A container may see no other disk. */
static bool is_root_overlay(const struct mountinfo *mount)
{
    return text_part_is(mount->type, "overlay") && text_part_is(mount->point, "/");
}

/* Whether the mount on the first line of `text` counts; *space is its space. */
static bool is_counted(struct seen *seen, const char *text, const struct mountinfo *mount,
                       char point[PATH_MAX], struct mounts *space)
{
    dev_t device;

    if (mount_is_zfs(mount)) {
        struct text_part pool = pool_of(mount);

        if (seen->pool_count == POOLS_MAX || is_seen_pool(seen, pool))
            return false;
        seen->pool[seen->pool_count++] = pool;
        return read_pool(text, pool, point, space) == 0;
    }
    device = makedev(mount->major, mount->minor);
    if (!mount_is_disk(mount) || seen->count == FILESYSTEMS_MAX || is_seen(seen, device) ||
        read_mount(mount, point, space) < 0)
        return false;
    seen->device[seen->count++] = device;
    return true;
}

static char *copy_part(struct text_part part, const char *prefix)
{
    size_t length = strlen(prefix);
    /* The decoded text is never longer than the text with escapes. */
    char *copy = malloc(length + part.length + 1);

    if (!copy)
        return NULL;
    memcpy(copy, prefix, length);
    if (text_part_decode(part, copy + length, part.length + 1) < 0)
        copy[length] = '\0';
    return copy;
}

static int list_mount(struct mount_list *list, const struct mountinfo *mount, const char *point,
                      const struct mounts *space)
{
    struct mount_item *items = realloc(list->items, (list->count + 1) * sizeof(*items));
    bool is_pool = mount_is_zfs(mount);
    struct mount_item item = { .major = mount->major, .minor = mount->minor, .space = *space };

    if (!items)
        return -ENOMEM;
    list->items = items;
    item.point = strdup(point);
    item.source = copy_part(is_pool ? pool_of(mount) : mount->source, is_pool ? "zfs:" : "");
    item.type = copy_part(mount->type, "");
    list->items[list->count++] = item;
    return item.point && item.source && item.type ? 0 : -ENOMEM;
}

void mount_list_done(struct mount_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].point);
        free(list->items[i].source);
        free(list->items[i].type);
    }
    free(list->items);
    *list = (struct mount_list){ 0 };
}

static int add_mount(const struct mountinfo *mount, const char *point,
                     const struct mounts *space, struct mounts *sum, struct mount_list *list)
{
    sum->total_bytes = sum_u64(sum->total_bytes, space->total_bytes);
    sum->used_bytes = sum_u64(sum->used_bytes, space->used_bytes);
    sum->free_bytes = sum_u64(sum->free_bytes, space->free_bytes);
    return list ? list_mount(list, mount, point, space) : 0;
}

static int read_all(const char *text, struct mounts *sum, struct mount_list *list)
{
    struct seen seen = { .count = 0 };
    struct mountinfo mount, overlay;
    bool has_any = false, has_overlay = false;
    char point[PATH_MAX];
    struct mounts space = { 0 };
    int r = 0;

    for (; *text && r == 0; text = parse_next_line(text)) {
        if (mountinfo_parse_line(text, &mount) < 0)
            continue;
        if (is_counted(&seen, text, &mount, point, &space)) {
            r = add_mount(&mount, point, &space, sum, list);
            has_any = true;
        } else if (is_root_overlay(&mount)) {
            overlay = mount;
            has_overlay = true;
        }
    }
    if (has_any || r < 0)
        return r;
    if (!has_overlay || read_mount(&overlay, point, &space) < 0)
        return -ENOENT;
    return add_mount(&overlay, point, &space, sum, list);
}

int mounts_read(const struct root *root, const char *text, struct mounts *ret,
                struct mount_list *ret_list)
{
    struct mount_list list = { 0 };
    struct mounts sum = { 0 };
    int r = root->is_live ? read_all(text, &sum, ret_list ? &list : NULL) : -ENOTSUP;

    if (r < 0) {
        mount_list_done(&list);
        return r;
    }
    *ret = sum;
    if (ret_list)
        *ret_list = list;
    return 0;
}
