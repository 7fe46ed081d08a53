/* SPDX-License-Identifier: Apache-2.0 */
#include "source/gpu/nvidia_namespace.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/parse.h"
#include "source/gpu/nvidia_list.h"

/* The inode that the kernel gives the first pid namespace. */
#define FIRST_NAMESPACE "pid:[4026531836]"
#define DESCRIPTORS_MAX 4096
#define PROCESSES_MAX 1024
#define NAMES_MAX 32
#define STATUS_SIZE 8192

int nvidia_namespace_parse(const char *status, unsigned level, pid_t *ret)
{
    const char *cursor = parse_key(status, "NSpid:");
    uint64_t number = 0;

    if (!cursor || level == 0)
        return -EBADMSG;
    for (unsigned i = 0; i < level; i++) {
        if (*cursor == '\n' || *cursor == '\0')
            return -ENOENT;
        if (parse_u64(&cursor, &number) < 0)
            return -EBADMSG;
    }
    if (number == 0 || number > INT_MAX)
        return -EBADMSG;
    *ret = (pid_t)number;
    return 0;
}

unsigned nvidia_namespace_count(const char *status)
{
    unsigned count = 0;
    pid_t pid;

    /* The kernel nests 32 levels at most. */
    while (count < 33 && nvidia_namespace_parse(status, count + 1, &pid) == 0)
        count++;
    return count;
}

struct nvidia_namespace nvidia_namespace_read(const struct root *root)
{
    struct nvidia_namespace ns = { .is_nested = true };
    char text[STATUS_SIZE];

    if (root_read_link(root, text, sizeof(text), "proc/self/ns/pid") > 0)
        ns.is_nested = strcmp(text, FIRST_NAMESPACE) != 0;
    if (root_read_lines(root, text, sizeof(text), ROOT_LINE_SIZE, "proc/self/status") > 0)
        ns.level = nvidia_namespace_count(text);
    return ns;
}

bool nvidia_namespace_is_foreign(const struct nvidia_namespace *ns, const struct root *root,
                                 unsigned pid)
{
    return ns->is_nested && !root_exists(root, "proc/%u/stat", pid);
}

/* Our number of a process that /proc knows by one of an outer namespace: 0, where there is
 * none. Such a /proc is mounted from the host. */
static pid_t look_up(const struct nvidia_namespace *ns, const struct root *root, unsigned pid)
{
    char text[STATUS_SIZE];
    pid_t ours;

    if (ns->level < 2 ||
        root_read_lines(root, text, sizeof(text), ROOT_LINE_SIZE, "proc/%u/status", pid) < 0)
        return 0;
    return nvidia_namespace_parse(text, ns->level, &ours) == 0 ? ours : 0;
}

struct name {
    unsigned from;
    pid_t to; /* 0: not known */
};

static struct name *find_name(struct name *names, size_t count, unsigned from)
{
    for (size_t i = 0; i < count; i++)
        if (names[i].from == from)
            return &names[i];
    return NULL;
}

/* Is it the job's, and may it have samples of this device under its own number? */
static bool is_ours(const struct nvidia_present *present, unsigned pid)
{
    return gpu_pids_have(present->pids, pid) &&
           ((pid_t)pid == present->sole || nvidia_clients_find(present->clients, (pid_t)pid));
}

/* Lists the numbers of the samples that are not the job's but may be. Returns how many. */
static size_t list_foreigners(const struct nvidia_namespace *ns, const struct root *root,
                              const struct nvidia_present *present,
                              const struct nvml_process_usage *list, size_t count,
                              struct name names[NAMES_MAX])
{
    size_t found = 0;

    for (size_t i = 0; i < count && found < NAMES_MAX; i++) {
        unsigned pid = list[i].pid;
        pid_t ours;

        if (is_ours(present, pid) || find_name(names, found, pid))
            continue;
        ours = look_up(ns, root, pid);
        if (ours > 0 && gpu_pids_have(present->pids, (unsigned)ours) && (unsigned)ours != pid)
            names[found++] = (struct name){ .from = pid, .to = ours };
        else if (gpu_pids_have(present->pids, pid) ||
                 nvidia_namespace_is_foreign(ns, root, pid))
            names[found++] = (struct name){ .from = pid };
    }
    return found;
}

static bool names_any_of(const struct nvidia_present *present,
                         const struct nvml_process_usage *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is_ours(present, list[i].pid))
            return true;
    return false;
}

/* Is the one foreigner of the samples the job's one process? */
static bool is_the_same(const struct nvidia_present *present, unsigned foreigner)
{
    return present->sole > 0 && (present->is_alone || present->listed == foreigner);
}

struct nvidia_renamed nvidia_namespace_rename(const struct nvidia_namespace *ns,
                                              const struct root *root,
                                              const struct nvidia_present *present,
                                              struct nvml_process_usage *list, size_t count)
{
    struct name names[NAMES_MAX] = { { 0 } };
    struct nvidia_renamed renamed = { 0 };
    size_t found;

    if (!ns->is_nested || count == 0)
        return renamed;
    found = list_foreigners(ns, root, present, list, count, names);
    if (found == 1 && names[0].to == 0 && is_the_same(present, names[0].from) &&
        !names_any_of(present, list, count)) {
        names[0].to = present->sole;
        renamed.is_concluded = true;
    }
    for (size_t i = 0; i < count; i++) {
        const struct name *name = find_name(names, found, list[i].pid);

        if (name && (name->to > 0 || gpu_pids_have(present->pids, list[i].pid)))
            list[i].pid = (unsigned)name->to;
    }
    for (size_t i = 0; i < found; i++)
        renamed.foreign_count += names[i].to == 0;
    return renamed;
}

void nvidia_held_add(struct nvidia_held *held, const char *target)
{
    static const char device[] = "/dev/nvidia";
    const char *cursor;
    uint64_t minor;

    if (strncmp(target, device, strlen(device)) != 0)
        return;
    cursor = target + strlen(device);
    if (strncmp(cursor, "-uvm", 4) == 0 && strncmp(cursor, "-uvm-", 5) != 0)
        held->has_memory = true;
    /* A number and nothing behind it: not /dev/nvidiactl, nor a name of the job's making. */
    if (*cursor >= '0' && *cursor <= '9' && parse_u64(&cursor, &minor) == 0 &&
        *cursor == '\0' && minor < NVIDIA_MINORS_MAX)
        held->minors[minor / 64] |= UINT64_C(1) << minor % 64;
}

bool nvidia_held_has(const struct nvidia_held *held, unsigned minor)
{
    if (!held->has_memory || minor >= NVIDIA_MINORS_MAX)
        return false;
    return held->minors[minor / 64] >> minor % 64 & 1;
}

static void close_folder(DIR **folder)
{
    if (*folder)
        closedir(*folder);
}

int nvidia_held_read(const struct root *root, pid_t pid, struct nvidia_held *ret)
{
    CLEANUP(close_folder) DIR *folder = NULL;
    AUTO_CLOSE int fd = root_open_dir(root, "proc/%d/fd", (int)pid);
    struct nvidia_held held = { 0 };

    if (fd < 0)
        return fd;
    folder = fdopendir(fd);
    if (!folder)
        return -errno;
    (void)take_fd(&fd); /* the folder's now */
    for (int i = 0; i < DESCRIPTORS_MAX; i++) {
        const struct dirent *entry = readdir(folder);
        char target[64];
        ssize_t length;

        if (!entry)
            break;
        length = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1);
        if (length <= 0)
            continue;
        target[length] = '\0';
        nvidia_held_add(&held, target);
    }
    *ret = held;
    return 0;
}

void nvidia_holders_read(const struct root *root, const struct gpu_pids *pids,
                         const unsigned *minors, struct nvidia_holder *holders, size_t count)
{
    size_t pid_count = pids->count < PROCESSES_MAX ? pids->count : PROCESSES_MAX;

    memset(holders, 0, count * sizeof(*holders));
    for (size_t i = 0; i < pid_count; i++) {
        struct nvidia_held held;

        if (nvidia_held_read(root, pids->list[i], &held) < 0)
            continue;
        for (size_t j = 0; j < count; j++)
            if (nvidia_held_has(&held, minors[j]) && holders[j].count++ == 0)
                holders[j].pid = pids->list[i];
    }
}
