/* SPDX-License-Identifier: Apache-2.0 */
#include "cgroup/cgroup.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/parse.h"

/* Find the cgroups of a process.
 *
 * /proc/PID/cgroup has a line for each tree, "4:memory:/a/b" or, for version 2, "0::/a/b". The
 * path starts at the top of the tree or, in a cgroup namespace, at the cgroup that is the
 * namespace's root: "/../x" is outside of that cgroup.
 *
 * mountinfo lists where a tree is mounted and which cgroup is visible there: the mount's
 * root. A Docker container on version 1 has the path "/docker/ID" and a mount whose root is
 * "/docker/ID": its cgroup is the mount point itself. */

/* Controller names of version 1. */
static const char *const names[CGROUP_CONTROLLER_COUNT] = {
    [CGROUP_MEMORY] = "memory", [CGROUP_CPU] = "cpu",   [CGROUP_CPUACCT] = "cpuacct",
    [CGROUP_CPUSET] = "cpuset", [CGROUP_PIDS] = "pids", [CGROUP_DMEM] = "dmem",
};

struct membership {
    struct text_part controllers; /* "cpu,cpuacct"; empty for version 2 */
    struct text_part path;
};

static int parse_membership(const char *line, struct membership *ret)
{
    const char *end = strchr(line, '\n');
    const char *first, *second;

    if (!end)
        return -EBADMSG;
    first = memchr(line, ':', (size_t)(end - line));
    second = first ? memchr(first + 1, ':', (size_t)(end - first - 1)) : NULL;
    if (!second || second[1] != '/')
        return -EBADMSG;
    ret->controllers = (struct text_part){ first + 1, (size_t)(second - first - 1) };
    ret->path = (struct text_part){ second + 1, (size_t)(end - second - 1) };
    return 0;
}

int cgroup_find_path(const char *cgroup_text, enum cgroup_controller controller,
                     struct text_part *ret)
{
    struct membership line;

    for (; *cgroup_text; cgroup_text = parse_next_line(cgroup_text)) {
        if (parse_membership(cgroup_text, &line) < 0)
            continue;
        if (controller == CGROUP_UNIFIED
                ? line.controllers.length == 0
                : text_part_has_option(line.controllers, names[controller])) {
            *ret = line.path;
            return 0;
        }
    }
    return -ENOENT;
}

static bool is_mount_of(const struct mountinfo *mount, enum cgroup_controller controller)
{
    if (controller == CGROUP_UNIFIED)
        return text_part_is(mount->type, "cgroup2");
    return text_part_is(mount->type, "cgroup") &&
           text_part_has_option(mount->super_options, names[controller]);
}

static bool leads_up(struct text_part path)
{
    for (size_t i = 0; i + 3 <= path.length; i++) {
        if (memcmp(path.start + i, "/..", 3) == 0 &&
            (i + 3 == path.length || path.start[i + 3] == '/'))
            return true;
    }
    return false;
}

/* Finds the part of a path below `mount_root`. -ENOENT: the path is not below it. */
static int path_below(struct text_part path, const char *mount_root, struct text_part *ret)
{
    size_t length = strlen(mount_root);

    /* "/" is a prefix of every path; other mount roots have no trailing slash. */
    if (length == 1)
        length = 0;
    if (path.length < length || memcmp(path.start, mount_root, length) != 0)
        return -ENOENT;
    path.start += length;
    path.length -= length;
    if (path.length > 0 && path.start[0] != '/')
        return -ENOENT;
    if (path.length == 1)
        path.length = 0;
    if (leads_up(path))
        return -ENOENT;
    *ret = path;
    return 0;
}

/* Decodes the root and the mount point. Returns false for a tree mounted on "/" itself, which
 * would hide the machine. */
static bool decode(const struct mountinfo *mount, char mount_root[CGROUP_PATH_SIZE],
                   char point[CGROUP_PATH_SIZE])
{
    return text_part_decode(mount->root, mount_root, CGROUP_PATH_SIZE) >= 0 &&
           text_part_decode(mount->point, point, CGROUP_PATH_SIZE) >= 0 &&
           mount_root[0] == '/' && point[0] == '/' && point[1] != '\0' && point[1] != '/';
}

static int place(const struct mountinfo *mount, struct text_part path, struct cgroup *ret)
{
    char mount_root[CGROUP_PATH_SIZE], point[CGROUP_PATH_SIZE];
    struct text_part below;
    size_t length;

    if (!decode(mount, mount_root, point))
        return -ENOENT;
    length = strlen(point + 1);
    if (path_below(path, mount_root, &below) < 0 || length + below.length >= CGROUP_PATH_SIZE)
        return -ENOENT;
    memcpy(ret->path, point + 1, length);
    memcpy(ret->path + length, below.start, below.length);
    ret->path[length + below.length] = '\0';
    ret->mount_length = length;
    return 0;
}

static size_t visible_length(const struct cgroup *cgroup)
{
    return strlen(cgroup->path) - cgroup->mount_length;
}

/* Uses a mount of a tree, unless a mount that was found earlier shows as many ancestors. */
static void take_mount(const struct mountinfo *mount, enum cgroup_controller controller,
                       struct text_part path, struct cgroup *ret)
{
    struct cgroup found = { .is_v2 = controller == CGROUP_UNIFIED };

    if (place(mount, path, &found) == 0 &&
        (!cgroup_is_visible(ret) || visible_length(&found) > visible_length(ret)))
        *ret = found;
}

/* Finds the mounts of trees. `paths`: the cgroup in each tree; a tree without one is skipped. */
static void find_mounts(const char *mountinfo_text,
                        const struct text_part paths[CGROUP_CONTROLLER_COUNT],
                        struct cgroup ret[CGROUP_CONTROLLER_COUNT])
{
    struct mountinfo mount;

    for (; *mountinfo_text; mountinfo_text = parse_next_line(mountinfo_text)) {
        if (mountinfo_parse_line(mountinfo_text, &mount) < 0)
            continue;
        for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
            if (paths[i].start && is_mount_of(&mount, (enum cgroup_controller)i))
                take_mount(&mount, (enum cgroup_controller)i, paths[i], &ret[i]);
        }
    }
}

int cgroups_parse(const char *cgroup_text, const char *mountinfo_text, struct cgroups *ret)
{
    struct cgroup found[CGROUP_CONTROLLER_COUNT] = { 0 };
    struct text_part paths[CGROUP_CONTROLLER_COUNT] = { 0 };
    bool is_any_visible = false;

    for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
        (void)cgroup_find_path(cgroup_text, (enum cgroup_controller)i, &paths[i]);
    find_mounts(mountinfo_text, paths, found);
    for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
        if (!paths[i].start)
            found[i] = found[CGROUP_UNIFIED];
        is_any_visible = is_any_visible || cgroup_is_visible(&found[i]);
    }
    if (!is_any_visible)
        return -ENOENT;
    memcpy(ret->of, found, sizeof(found));
    return 0;
}

static int path_in_hierarchy(const struct mountinfo *mount, const char *directory,
                             struct cgroup *ret, char path[CGROUP_PATH_SIZE])
{
    char mount_root[CGROUP_PATH_SIZE], point[CGROUP_PATH_SIZE];
    struct text_part whole = { directory, strlen(directory) }, below;
    struct cgroup found = { .is_v2 = text_part_is(mount->type, "cgroup2") };
    int length;

    if ((!found.is_v2 && !text_part_is(mount->type, "cgroup")) ||
        !decode(mount, mount_root, point) || path_below(whole, point, &below) < 0)
        return -ENOENT;
    length = snprintf(path, CGROUP_PATH_SIZE, "%s%.*s", mount_root[1] ? mount_root : "",
                      (int)below.length, below.start);
    if (length < 0 || length >= CGROUP_PATH_SIZE || whole.length > CGROUP_PATH_SIZE)
        return -ENOENT;
    found.mount_length = strlen(point) - 1;
    memcpy(found.path, directory + 1, whole.length);
    *ret = found;
    return 0;
}

int cgroups_parse_directory(const char *directory, const char *mountinfo_text,
                            struct cgroup *ret_own, struct cgroups *ret)
{
    struct cgroup found[CGROUP_CONTROLLER_COUNT] = { 0 };
    char path[CGROUP_PATH_SIZE] = "", candidate[CGROUP_PATH_SIZE];
    struct text_part paths[CGROUP_CONTROLLER_COUNT];
    struct cgroup own = { 0 };
    struct mountinfo mount;

    for (const char *line = mountinfo_text; *line; line = parse_next_line(line)) {
        struct cgroup next;

        /* The longest mount point is the visible one; of equal ones, the last. */
        if (mountinfo_parse_line(line, &mount) == 0 &&
            path_in_hierarchy(&mount, directory, &next, candidate) == 0 &&
            (!cgroup_is_visible(&own) || next.mount_length >= own.mount_length)) {
            own = next;
            memcpy(path, candidate, sizeof(path));
        }
    }
    if (!cgroup_is_visible(&own))
        return -EINVAL;
    if (path[0] == '\0')
        path[0] = '/';
    for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
        paths[i] = (struct text_part){ path, strlen(path) };
    find_mounts(mountinfo_text, paths, found);
    *ret_own = own;
    memcpy(ret->of, found, sizeof(found));
    return 0;
}

int cgroups_find(const struct root *root, pid_t pid, const char *mountinfo_text,
                 struct cgroups *ret)
{
    char text[32 * 1024];
    ssize_t n = root_read_start(root, text, sizeof(text), "proc/%d/cgroup", (int)pid);

    return n < 0 ? (int)n : cgroups_parse(text, mountinfo_text, ret);
}

int cgroups_read(const struct root *root, pid_t pid, struct cgroups *ret)
{
    AUTO_FREE char *mountinfo = NULL;
    int r = mountinfo_read(root, &mountinfo);

    return r < 0 ? r : cgroups_find(root, pid, mountinfo, ret);
}

bool cgroup_to_parent(struct cgroup *cgroup)
{
    char *slash;

    if (strlen(cgroup->path) <= cgroup->mount_length)
        return false;
    slash = strrchr(cgroup->path + cgroup->mount_length, '/');
    if (!slash)
        return false;
    *slash = '\0';
    return true;
}

int cgroup_to_child(struct cgroup *cgroup, const char *name)
{
    size_t used = strlen(cgroup->path);
    size_t length = strlen(name);

    if (used == 0 || length == 0 || strchr(name, '/') || strcmp(name, ".") == 0 ||
        strcmp(name, "..") == 0)
        return -EINVAL;
    if (used + 1 + length >= sizeof(cgroup->path))
        return -ENAMETOOLONG;
    cgroup->path[used] = '/';
    memcpy(cgroup->path + used + 1, name, length + 1);
    return 0;
}

/* ---- cgroup file ----------------------------------------------------------- */

/* Version 1 writes "no limit" as the largest number of pages, in bytes, which is a
 * little below 2^63 and depends on the size of a page. */
static const uint64_t NO_LIMIT_FROM = 1ull << 60;

static bool is_word(const char *text, const char *word)
{
    size_t length = strlen(word);

    return strncmp(text, word, length) == 0 &&
           (text[length] == '\0' || strcmp(text + length, "\n") == 0);
}

int cgroup_parse_u64(const char *text, uint64_t *ret)
{
    uint64_t value;

    if (is_word(text, "max") || is_word(text, "-1")) {
        *ret = UNKNOWN;
        return 0;
    }
    if (parse_whole_u64(text, &value) < 0)
        return -EBADMSG;
    *ret = value >= NO_LIMIT_FROM ? UNKNOWN : value;
    return 0;
}

static double quota_cpus(uint64_t quota_us, uint64_t period_us)
{
    return is_known(quota_us) ? (double)quota_us / (double)period_us : (double)NAN;
}

int cgroup_parse_quota(const char *text, double *ret_cpus)
{
    uint64_t quota_us = UNKNOWN, period_us;

    if (begins_with(text, "max "))
        text += 4;
    else if (parse_u64(&text, &quota_us) < 0)
        return -EBADMSG;
    if (parse_whole_u64(text, &period_us) < 0 || period_us == 0)
        return -EBADMSG;
    *ret_cpus = quota_cpus(quota_us, period_us);
    return 0;
}

static ssize_t read_text(const struct root *root, const struct cgroup *cgroup, const char *file,
                         char *buf, size_t size)
{
    if (!cgroup_is_visible(cgroup))
        return -ENOENT;
    return root_read(root, buf, size, "%s/%s", cgroup->path, file);
}

int cgroup_read_u64(const struct root *root, const struct cgroup *cgroup, const char *file,
                    uint64_t *ret)
{
    char text[64];
    ssize_t n = read_text(root, cgroup, file, text, sizeof(text));

    return n < 0 ? (int)n : cgroup_parse_u64(text, ret);
}

static int read_quota_v1(const struct root *root, const struct cgroup *cgroup, double *ret_cpus)
{
    uint64_t quota_us, period_us;
    int r = cgroup_read_u64(root, cgroup, "cpu.cfs_quota_us", &quota_us);

    if (r < 0)
        return r;
    r = cgroup_read_u64(root, cgroup, "cpu.cfs_period_us", &period_us);
    if (r < 0)
        return r;
    if (period_us == 0 || !is_known(period_us))
        return -EBADMSG;
    *ret_cpus = quota_cpus(quota_us, period_us);
    return 0;
}

int cgroup_read_quota(const struct root *root, const struct cgroup *cgroup, double *ret_cpus)
{
    char text[64];
    ssize_t n;

    if (!cgroup->is_v2)
        return read_quota_v1(root, cgroup, ret_cpus);
    n = read_text(root, cgroup, "cpu.max", text, sizeof(text));
    return n < 0 ? (int)n : cgroup_parse_quota(text, ret_cpus);
}

int cgroup_count_cpus(const struct root *root, const struct cgroup *cgroup, const char *file)
{
    char text[CPU_LIST_SIZE];
    ssize_t n = read_text(root, cgroup, file, text, sizeof(text));

    return n < 0 ? (int)n : parse_cpu_list(text, NULL, CPU_NUMBER_END);
}

/* ---- cgroup totals --------------------------------------------------------- */

static uint64_t key_or_unknown(const char *text, const char *key)
{
    uint64_t value;

    return parse_key_u64(text, key, &value) < 0 ? UNKNOWN : value;
}

int cgroup_parse_cpu_stat(const char *text, struct cgroup_cpu *ret)
{
    struct cgroup_cpu cpu = {
        .total_ns = product_u64(key_or_unknown(text, "usage_usec"), NS_PER_US),
        .user_ns = product_u64(key_or_unknown(text, "user_usec"), NS_PER_US),
        .system_ns = product_u64(key_or_unknown(text, "system_usec"), NS_PER_US),
    };

    if (!is_known(cpu.total_ns))
        return -EBADMSG;
    *ret = cpu;
    return 0;
}

/* Parses memory.stat. Both versions count shared memory as page cache, but no file backs it. */
int cgroup_parse_memory_stat(const char *text, struct cgroup_memory *ret)
{
    uint64_t anon = key_or_unknown(text, "anon");
    uint64_t file = key_or_unknown(text, "file");
    uint64_t shmem = key_or_unknown(text, "shmem");
    uint64_t dirty =
        sum_u64(key_or_unknown(text, "file_dirty"), key_or_unknown(text, "file_writeback"));
    uint64_t refaulted;

    if (!is_known(anon)) { /* version 1; total_ includes cgroups below */
        anon = key_or_unknown(text, "total_rss");
        file = key_or_unknown(text, "total_cache");
        shmem = key_or_unknown(text, "total_shmem");
        refaulted = key_or_unknown(text, "total_workingset_refault_file");
    } else {
        refaulted = key_or_unknown(text, "workingset_refault_file");
        if (!is_known(refaulted)) /* before Linux 5.9 */
            refaulted = key_or_unknown(text, "workingset_refault");
    }
    if (!is_known(anon) || !is_known(file))
        return -EBADMSG;
    if (!is_known(shmem) || shmem > file) /* the counters are not read at one instant */
        shmem = is_known(shmem) ? file : 0;
    *ret = (struct cgroup_memory){ anon, shmem, file - shmem, dirty, refaulted };
    return 0;
}

/* Returns the value of a key in a line such as "8:0 rbytes=4096 wbytes=8192 rios=1 wios=2
 * dbytes=0 dios=0"; 0: the line lacks the key. */
static uint64_t line_value(const char *line, const char *key)
{
    const char *found = memmem(line, strcspn(line, "\n"), key, strlen(key));
    uint64_t value;

    if (!found || found[-1] != ' ')
        return 0;
    found += strlen(key);
    return parse_u64(&found, &value) < 0 ? 0 : value;
}

int cgroup_parse_io_stat(const char *text, struct cgroup_io *ret)
{
    struct cgroup_io io = { 0 };

    for (; *text; text = parse_next_line(text)) {
        if (*text < '0' || *text > '9')
            return -EBADMSG;
        io.read_bytes = sum_u64(io.read_bytes, line_value(text, "rbytes="));
        io.written_bytes = sum_u64(io.written_bytes, line_value(text, "wbytes="));
    }
    *ret = io;
    return 0;
}

struct cgroup_dmem cgroup_parse_dmem(const char *text, const char *pci_address)
{
    struct cgroup_dmem dmem = { .largest_bytes = UNKNOWN };
    char prefix[64];
    int length = snprintf(prefix, sizeof(prefix), "drm/%s/vram", pci_address);

    for (; *text && length < (int)sizeof(prefix); text = parse_next_line(text)) {
        const char *cursor = text + strcspn(text, " \n");
        uint64_t bytes;

        if (strncmp(text, prefix, (size_t)length) != 0)
            continue;
        if (parse_u64(&cursor, &bytes) < 0)
            bytes = UNKNOWN; /* makes the sum unknown, too */
        dmem.bytes = sum_u64(dmem.bytes, bytes);
        raise_to(&dmem.largest_bytes, bytes);
    }
    if (!is_known(dmem.bytes) || !is_known(dmem.largest_bytes))
        dmem.bytes = dmem.largest_bytes = UNKNOWN;
    return dmem;
}

/* ---- cgroup events --------------------------------------------------------- */

int cgroup_parse_throttled(const char *text, uint64_t *ret_ns)
{
    uint64_t us;

    if (parse_key_u64(text, "throttled_usec", &us) < 0)
        return parse_key_u64(text, "throttled_time", ret_ns);
    *ret_ns = product_u64(us, NS_PER_US);
    return 0;
}

static struct cgroup quota_holder(const struct root *root, const struct cgroup *cgroup)
{
    struct cgroup holder = *cgroup;
    double cpus;

    do {
        if (cgroup_read_quota(root, &holder, &cpus) == 0 && !isnan(cpus))
            return holder;
    } while (cgroup_to_parent(&holder));
    return *cgroup;
}

void cgroup_watch_init(struct cgroup_watch *watch, const struct root *root,
                       const struct cgroups *cgroups)
{
    *watch = (struct cgroup_watch){ .memory_file = CACHED_FILE_CLOSED,
                                    .cpu_file = CACHED_FILE_CLOSED };
    if (!cgroups)
        return;
    watch->memory = cgroups->of[CGROUP_MEMORY];
    watch->cpu = quota_holder(root, &cgroups->of[CGROUP_CPU]);
}

void cgroup_watch_done(struct cgroup_watch *watch)
{
    cached_file_close(&watch->memory_file);
    cached_file_close(&watch->cpu_file);
}

static const char *read_kept_text(struct cached_file *kept, const struct root *root,
                                  const struct cgroup *cgroup, const char *file, char *buf,
                                  size_t size)
{
    if (!cgroup_is_visible(cgroup) ||
        cached_file_read(kept, root, READ_RECORD, buf, size, "%s/%s", cgroup->path, file) < 0)
        return "";
    return buf;
}

void cgroup_watch_read(struct cgroup_watch *watch, const struct root *root,
                       struct cgroup_events *ret)
{
    const char *memory_file = watch->memory.is_v2 ? "memory.events" : "memory.oom_control";
    const char *text;
    char buf[4096];

    /* A value whose parser fails stays unknown. */
    *ret = (struct cgroup_events){ .oom_kills_count = UNKNOWN, .throttled_ns = UNKNOWN };
    text = read_kept_text(&watch->memory_file, root, &watch->memory, memory_file, buf,
                          sizeof(buf));
    (void)parse_key_u64(text, "oom_kill", &ret->oom_kills_count);
    text = read_kept_text(&watch->cpu_file, root, &watch->cpu, "cpu.stat", buf, sizeof(buf));
    (void)cgroup_parse_throttled(text, &ret->throttled_ns);
}

/* ---- processes ---------------------------------------------------------- */

enum { DEPTH_MAX = 32 };

struct walk {
    const struct root *root;
    struct children_buffer *buffer;
    child_found *found;
    void *data;
    int count;
};

/* Adds the processes of a list, one per line; 0 is a process of an outer PID namespace. */
static void add_listed(struct walk *walk, const char *text)
{
    uint64_t pid;

    for (; *text; text = parse_next_line(text)) {
        const char *cursor = text;

        if (parse_u64(&cursor, &pid) < 0 || pid > INT32_MAX)
            continue;
        walk->count += pid != 0;
        if (walk->found)
            walk->found((pid_t)pid, walk->data);
    }
}

static int read_processes(struct walk *walk, const struct cgroup *cgroup)
{
    struct children_buffer *buffer = walk->buffer;
    ssize_t n = CHILDREN_UNREAD;

    while (children_buffer_try(buffer, &n))
        n = root_read(walk->root, buffer->text, buffer->size, "%s/cgroup.procs", cgroup->path);
    if (n >= 0)
        add_listed(walk, buffer->text);
    return n < 0 ? (int)n : 0;
}

/* Walks a tree of cgroups. Those below the first may be removed in the meantime. */
static int walk_tree(struct walk *walk, const struct cgroup *cgroup, int depth)
{
    AUTO_CLOSEDIR DIR *directory = root_open_folder(walk->root, "%s", cgroup->path);
    const struct dirent *entry;
    int r;

    if (!directory)
        return -errno;
    r = read_processes(walk, cgroup);
    while (depth < DEPTH_MAX && (entry = readdir(directory))) {
        struct cgroup below = *cgroup;

        if (entry->d_type == DT_DIR && cgroup_to_child(&below, entry->d_name) == 0)
            (void)walk_tree(walk, &below, depth + 1);
    }
    return r == -ENODEV ? -ENOENT : r;
}

int cgroup_each_process(const struct root *root, const struct cgroup *cgroup, bool is_deep,
                        struct children_buffer *buffer, child_found *found, void *data)
{
    struct walk walk = { root, buffer, found, data, 0 };
    int r = is_deep ? walk_tree(&walk, cgroup, 0) : read_processes(&walk, cgroup);

    return r == -ENOENT ? r : walk.count;
}

bool cgroup_is_populated(const struct root *root, const struct cgroup *cgroup)
{
    struct children_buffer buffer = { 0 };
    char text[256];
    uint64_t populated;
    int count;

    if (cgroup->is_v2 &&
        root_read(root, text, sizeof(text), "%s/cgroup.events", cgroup->path) > 0 &&
        parse_key_u64(text, "populated", &populated) == 0)
        return populated == 1;
    count = cgroup_each_process(root, cgroup, true, &buffer, NULL, NULL);
    children_buffer_done(&buffer);
    return count > 0;
}

/* ---- the directory ------------------------------------------------------ */

/* Drops cgroups that do not exist or contain no process: their counts are meaningless. */
static void drop_unpopulated(const struct root *root, const struct cgroup *own,
                             struct cgroups *cgroups)
{
    for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
        struct cgroup *cgroup = &cgroups->of[i];

        if (cgroup_is_visible(cgroup) && strcmp(cgroup->path, own->path) != 0 &&
            !cgroup_is_populated(root, cgroup))
            *cgroup = (struct cgroup){ 0 };
    }
    for (int i = CGROUP_UNIFIED + 1; i < CGROUP_CONTROLLER_COUNT; i++) {
        if (!cgroup_is_visible(&cgroups->of[i]))
            cgroups->of[i] = cgroups->of[CGROUP_UNIFIED];
    }
}

static int find(const struct root *root, const char *directory, struct cgroup *ret_own,
                struct cgroups *ret)
{
    AUTO_FREE char *mountinfo = NULL;
    /* Controllers that share a hierarchy may be symbolic links to it. */
    AUTO_FREE char *path = root->is_live ? realpath(directory, NULL) : strdup(directory);
    struct cgroups cgroups;
    struct cgroup own;
    int r;

    if (!path)
        return -errno;
    r = mountinfo_read(root, &mountinfo);
    if (r < 0)
        return r;
    r = cgroups_parse_directory(path, mountinfo, &own, &cgroups);
    if (r < 0)
        return r;
    if (!root_exists(root, "%s/cgroup.procs", own.path))
        return root_exists(root, "%s", own.path) ? -EINVAL : -ENOENT;
    if (!cgroup_is_populated(root, &own))
        return -ESRCH;
    drop_unpopulated(root, &own, &cgroups);
    *ret_own = own;
    *ret = cgroups;
    return 0;
}

int cgroup_directory_find(const struct root *root, const char *directory,
                          struct cgroup *ret_own, struct cgroups *ret, struct spoor_error *err)
{
    int r = find(root, directory, ret_own, ret);

    switch (r) {
    case 0:
        return 0;
    case -ENOENT:
    case -ENOTDIR:
        return error_set(err, ENOENT, "no such cgroup: '%s'", directory);
    case -EINVAL:
        return error_set(err, EINVAL,
                         "'%s' is not a cgroup: name a directory below /sys/fs/cgroup",
                         directory);
    case -ESRCH:
        return error_set(err, ESRCH, "there is no process in cgroup '%s'", directory);
    default:
        return error_sys(err, r, "cgroup '%s'", directory);
    }
}
