/* SPDX-License-Identifier: Apache-2.0 */
/* leaf_read.c - what the job's cgroup says. */
#include <errno.h>

#include "base/compiler.h"
#include "base/unknown.h"
#include "job/leaf.h"
#include "source/cgroup/cgroup_file.h"
#include "source/cgroup/cgroup_totals.h"
#include "source/host/pressure.h"

bool leaf_has_memory(const struct leaf *leaf)
{
    if (leaf_has(leaf, LEAF_MEMORY))
        return true;
    return leaf_has(leaf, LEAF_UNIFIED) &&
           root_exists(leaf->root, "%s/memory.current", leaf->folders[LEAF_UNIFIED].own.path);
}

/* The name of a file with version 1, and in which tree, and with version 2. NULL: there is none. */
static const struct {
    enum leaf_tree v1_tree;
    const char *v1, *v2;
} files[LEAF_FILE_COUNT] = {
    [LEAF_FILE_CPU_STAT] = { .v2 = "cpu.stat" },
    [LEAF_FILE_CPU] = { LEAF_CPUACCT, "cpuacct.usage", NULL },
    [LEAF_FILE_CPU_USER] = { LEAF_CPUACCT, "cpuacct.usage_user", NULL },
    [LEAF_FILE_CPU_SYSTEM] = { LEAF_CPUACCT, "cpuacct.usage_sys", NULL },
    [LEAF_FILE_MEMORY_PEAK] = { LEAF_MEMORY, "memory.max_usage_in_bytes", "memory.peak" },
    [LEAF_FILE_MEMORY_CURRENT] = { LEAF_MEMORY, "memory.usage_in_bytes", "memory.current" },
    [LEAF_FILE_MEMORY_STAT] = { LEAF_MEMORY, "memory.stat", "memory.stat" },
    [LEAF_FILE_THREADS_PEAK] = { LEAF_PIDS, "pids.peak", "pids.peak" },
    [LEAF_FILE_IO] = { .v2 = "io.stat" },
    [LEAF_FILE_PRESSURE + PRESSURE_CPU] = { .v2 = "cpu.pressure" },
    [LEAF_FILE_PRESSURE + PRESSURE_MEMORY] = { .v2 = "memory.pressure" },
    [LEAF_FILE_PRESSURE + PRESSURE_IO] = { .v2 = "io.pressure" },
};

/* Reads a file from the tree that has it, version 1 first; -ENOENT if none has. */
static ssize_t read_record(struct leaf *leaf, enum leaf_file file, char *text, size_t size)
{
    bool is_v1 = files[file].v1 && leaf_has(leaf, files[file].v1_tree);
    enum leaf_tree tree = is_v1 ? files[file].v1_tree : LEAF_UNIFIED;
    const char *name = is_v1 ? files[file].v1 : files[file].v2;
    ssize_t n;

    if (!name || !leaf_has(leaf, tree) || leaf->is_missing[file])
        return -ENOENT;
    n = kept_read_record(&leaf->files[file], leaf->root, text, size, "%s/%s",
                         leaf->folders[tree].own.path, name);
    leaf->is_missing[file] = n == -ENOENT;
    return n;
}

static uint64_t read_number(struct leaf *leaf, enum leaf_file file)
{
    char text[64];
    uint64_t value;

    if (read_record(leaf, file, text, sizeof(text)) < 0 || cgroup_parse_u64(text, &value) < 0)
        return UNKNOWN;
    return value;
}

static bool read_cpu_stat(struct leaf *leaf, struct cgroup_cpu *ret)
{
    char text[1024];

    return read_record(leaf, LEAF_FILE_CPU_STAT, text, sizeof(text)) >= 0 &&
           cgroup_parse_cpu_stat(text, ret) == 0;
}

static void read_cpu(struct leaf *leaf, struct leaf_reading *reading)
{
    struct cgroup_cpu cpu;

    if (!read_cpu_stat(leaf, &cpu)) {
        cpu.total_ns = read_number(leaf, LEAF_FILE_CPU);
        cpu.user_ns = read_number(leaf, LEAF_FILE_CPU_USER);
        cpu.system_ns = read_number(leaf, LEAF_FILE_CPU_SYSTEM);
    }
    reading->cpu_ns = cpu.total_ns;
    reading->user_ns = cpu.user_ns;
    reading->system_ns = cpu.system_ns;
}

uint64_t leaf_read_cpu_ns(struct leaf *leaf)
{
    struct cgroup_cpu cpu;

    return read_cpu_stat(leaf, &cpu) ? cpu.total_ns : read_number(leaf, LEAF_FILE_CPU);
}

static int read_memory_stat(struct leaf *leaf, struct cgroup_memory *ret)
{
    char text[8192];
    ssize_t n = read_record(leaf, LEAF_FILE_MEMORY_STAT, text, sizeof(text));

    return n < 0 ? (int)n : cgroup_parse_memory_stat(text, ret);
}

uint64_t leaf_read_memory_bytes(struct leaf *leaf)
{
    return read_number(leaf, LEAF_FILE_MEMORY_CURRENT);
}

static void note_memory(struct leaf *leaf)
{
    if (leaf->is_adopted)
        raise_to(&leaf->peaks.memory_seen_bytes, leaf_read_memory_bytes(leaf));
}

/* Of a cgroup that was there before us, the kernel's peak counts if it has risen since. Otherwise
 * the most that was seen does. */
static void take_adopted_peaks(struct leaf *leaf, struct leaf_reading *reading)
{
    const struct leaf_peaks *peaks = &leaf->peaks;

    note_memory(leaf);
    if (is_known(reading->threads_peak) && reading->threads_peak <= peaks->threads_before)
        reading->threads_peak = UNKNOWN;
    reading->memory_peak_is_sampled = !is_known(reading->memory_peak_bytes) ||
                                      reading->memory_peak_bytes <= peaks->memory_before_bytes;
    if (reading->memory_peak_is_sampled)
        reading->memory_peak_bytes =
            peaks->memory_seen_bytes > 0 ? peaks->memory_seen_bytes : UNKNOWN;
}

static void read_memory(struct leaf *leaf, struct leaf_reading *reading)
{
    (void)read_memory_stat(leaf, &reading->memory); /* else it stays unknown */
    reading->memory_peak_bytes = read_number(leaf, LEAF_FILE_MEMORY_PEAK);
}

void leaf_raise_memory(struct leaf *leaf, struct cgroup_memory *peak)
{
    struct cgroup_memory memory;

    note_memory(leaf);
    if (read_memory_stat(leaf, &memory) < 0)
        return;
    raise_to(&peak->anon_bytes, memory.anon_bytes);
    raise_to(&peak->shmem_bytes, memory.shmem_bytes);
    raise_to(&peak->page_cache_bytes, memory.page_cache_bytes);
}

static void read_io(struct leaf *leaf, struct leaf_reading *reading)
{
    struct cgroup_io io;
    char text[8192];

    if (read_record(leaf, LEAF_FILE_IO, text, sizeof(text)) < 0 ||
        cgroup_parse_io_stat(text, &io) < 0)
        return;
    reading->read_bytes = io.read_bytes;
    reading->written_bytes = io.written_bytes;
}

void leaf_read_pressure(struct leaf *leaf, struct leaf_reading *reading)
{
    char text[512];

    for (int i = 0; i < PRESSURE_COUNT; i++) {
        if (read_record(leaf, (enum leaf_file)(LEAF_FILE_PRESSURE + i), text, sizeof(text)) >=
            0)
            (void)pressure_parse(text, &reading->pressure_ns[i]); /* else it stays as it was */
    }
}

static bool is_lost(uint64_t value, uint64_t before)
{
    return !is_known(value) && is_known(before);
}

/* A cgroup that is not ours, or that systemd made for us, may be removed as soon as it is empty. What
 * was last read of it stands. */
static void keep_last(struct leaf *leaf, struct leaf_reading *reading)
{
    if (is_lost(reading->cpu_ns, leaf->last.cpu_ns) ||
        is_lost(reading->memory_peak_bytes, leaf->last.memory_peak_bytes)) {
        *reading = leaf->last;
        reading->is_gone = true;
    } else {
        leaf->last = *reading;
    }
}

void leaf_read(struct leaf *leaf, struct leaf_reading *ret)
{
    *ret = (struct leaf_reading)LEAF_READING_UNKNOWN;
    if (!leaf->root)
        return;
    read_cpu(leaf, ret);
    read_memory(leaf, ret);
    read_io(leaf, ret);
    leaf_read_pressure(leaf, ret);
    ret->threads_peak = read_number(leaf, LEAF_FILE_THREADS_PEAK);
    if (leaf->is_adopted)
        take_adopted_peaks(leaf, ret);
    keep_last(leaf, ret);
}

ssize_t leaf_read_procs(struct leaf *leaf, char *text, size_t size)
{
    if (!leaf_has(leaf, LEAF_UNIFIED))
        return -ENOENT;
    return kept_read(&leaf->files[LEAF_FILE_PROCS], leaf->root, text, size, "%s/cgroup.procs",
                     leaf->folders[LEAF_UNIFIED].own.path);
}
