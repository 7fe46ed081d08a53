/* SPDX-License-Identifier: Apache-2.0 */
#include "source/host/mounts.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#include "base/arithmetic.h"
#include "base/compiler.h"
#include "base/parse.h"

/* Filesystems beyond these are left out: there is no machine with so many disks. */
enum { FILESYSTEMS_MAX = 512 };

struct seen {
    unsigned count;
    dev_t device[FILESYSTEMS_MAX];
};

static const char *const image_types[] = { "squashfs", "iso9660", "udf",
                                           "erofs",    "cramfs",  "romfs" };
static const char *const image_sources[] = { "/dev/loop", "/dev/ram", "/dev/sr", "/dev/fuse" };

bool mount_is_disk(const struct mountinfo *mount)
{
    if (!text_part_starts(mount->source, "/dev/") ||
        text_part_has_option(mount->super_options, "ro"))
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(image_types); i++) {
        if (text_part_is(mount->type, image_types[i]))
            return false;
    }
    for (size_t i = 0; i < ARRAY_SIZE(image_sources); i++) {
        if (text_part_starts(mount->source, image_sources[i]))
            return false;
    }
    return true;
}

/* Of memory, or of the kernel's own. What overlay shows is of another mount. */
static const char *const unstored_types[] = {
    "autofs",    "binfmt_misc", "bpf",      "cgroup",  "cgroup2",   "configfs",   "debugfs",
    "devpts",    "devtmpfs",    "efivarfs", "fusectl", "hugetlbfs", "mqueue",     "nsfs",
    "overlay",   "proc",        "pstore",   "ramfs",   "rootfs",    "rpc_pipefs", "securityfs",
    "selinuxfs", "sysfs",       "tmpfs",    "tracefs",
};

/* They know their space by heart, also if frozen. */
static const char *const prompt_types[] = {
    "btrfs", "ext2", "ext3", "ext4", "f2fs", "squashfs", "vfat", "xfs",
};

/* diskstats does not count these, and what they write may go anywhere. */
static const char *const uncounted_sources[] = { "/dev/loop", "/dev/ram", "/dev/zram",
                                                 "/dev/fd", "/dev/fuse" };

static bool is_unstored(const struct mountinfo *mount)
{
    for (size_t i = 0; i < ARRAY_SIZE(unstored_types); i++) {
        if (text_part_is(mount->type, unstored_types[i]))
            return true;
    }
    return false;
}

static bool is_prompt(const struct mountinfo *mount)
{
    for (size_t i = 0; i < ARRAY_SIZE(prompt_types); i++) {
        if (text_part_is(mount->type, prompt_types[i]))
            return true;
    }
    return is_unstored(mount);
}

static bool is_local(const struct mountinfo *mount)
{
    if (text_part_has_option(mount->super_options, "ro") || is_unstored(mount))
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(uncounted_sources); i++) {
        if (text_part_starts(mount->source, uncounted_sources[i]))
            return false;
    }
    return text_part_starts(mount->source, "/dev/");
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
        if (mountinfo_parse_line(text, &mount) < 0 || !is_prompt(&mount))
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

/* A mount may be hidden below a later one, and then its point shows the other
 * filesystem. Files of btrfs bear numbers that mountinfo does not know. */
static bool is_visible(const struct mountinfo *mount, const char *point, dev_t device)
{
    struct stat stat_;

    if (text_part_is(mount->type, "btrfs"))
        return true;
    return stat(point, &stat_) == 0 && stat_.st_dev == device;
}

static int add_filesystem(const char *point, struct mounts *sum)
{
    struct statvfs space;

    if (statvfs(point, &space) < 0)
        return -errno;
    if (space.f_bfree > space.f_blocks)
        return -EBADMSG;
    sum->total_bytes = sum_u64(sum->total_bytes, product_u64(space.f_blocks, space.f_frsize));
    sum->used_bytes =
        sum_u64(sum->used_bytes, product_u64(space.f_blocks - space.f_bfree, space.f_frsize));
    sum->free_bytes = sum_u64(sum->free_bytes, product_u64(space.f_bavail, space.f_frsize));
    return 0;
}

int mounts_read(const struct root *root, const char *text, struct mounts *ret)
{
    struct seen seen = { .count = 0 };
    struct mounts sum = { 0 };
    struct mountinfo mount;
    char point[PATH_MAX];

    if (!root->is_live)
        return -ENOTSUP;
    for (; *text && seen.count < FILESYSTEMS_MAX; text = parse_next_line(text)) {
        dev_t device;

        if (mountinfo_parse_line(text, &mount) < 0 || !mount_is_disk(&mount))
            continue;
        device = makedev(mount.major, mount.minor);
        if (is_seen(&seen, device) || text_part_decode(mount.point, point, sizeof(point)) < 0)
            continue;
        if (is_visible(&mount, point, device) && add_filesystem(point, &sum) == 0)
            seen.device[seen.count++] = device;
    }
    if (seen.count == 0)
        return -ENOENT;
    *ret = sum;
    return 0;
}
