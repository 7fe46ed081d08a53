/* SPDX-License-Identifier: Apache-2.0 */
#include "source/host/process_count.h"

#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/unknown.h"
#include "source/proc/children.h"

#define LIST_EVERY_NS (60 * NS_PER_SECOND)

/* The inode of the first PID namespace: a constant of the kernel. */
#define FIRST_NAMESPACE "pid:[4026531836]"

enum { READINGS_NEEDED = 3 };

static void count_one(pid_t pid, void *data)
{
    uint64_t *count = data;

    (void)pid;
    ++*count;
}

static uint64_t count_listed(const struct root *root)
{
    uint64_t count = 0;

    return proc_each_pid(root, count_one, &count) < 0 ? UNKNOWN : count;
}

static uint64_t count_links(const struct root *root)
{
    AUTO_CLOSE int fd = root_open_dir(root, "proc");
    struct stat status;

    return fd >= 0 && fstat(fd, &status) == 0 ? (uint64_t)status.st_nlink : UNKNOWN;
}

static bool has_links(const struct root *root)
{
    char name[64];

    return root->is_live && root_read_link(root, name, sizeof(name), "proc/self/ns/pid") > 0 &&
           strcmp(name, FIRST_NAMESPACE) == 0;
}

/* From the list, and learns how many links are not of processes. If processes came or went
 * meanwhile, nothing is learned. */
static uint64_t read_list(struct process_count *count, const struct root *root, uint64_t now_ns)
{
    uint64_t before = count->has_links ? count_links(root) : UNKNOWN;
    uint64_t listed = count_listed(root);
    uint64_t after = count->has_links ? count_links(root) : UNKNOWN;

    if (!is_known(before) || before != after || !is_known(listed) || listed > after)
        return listed;
    if (after - listed != count->other)
        count->readings = 0;
    count->other = after - listed;
    count->readings++;
    if (count->readings >= READINGS_NEEDED)
        count->list_at_ns = now_ns + LIST_EVERY_NS;
    return listed;
}

uint64_t process_count_read(struct process_count *count, const struct root *root,
                            uint64_t now_ns)
{
    uint64_t links;

    if (!count->has_checked) {
        count->has_links = has_links(root);
        count->has_checked = true;
    }
    if (count->readings < READINGS_NEEDED || now_ns >= count->list_at_ns)
        return read_list(count, root, now_ns);
    links = count_links(root);
    return is_known(links) && links >= count->other ? links - count->other : UNKNOWN;
}
