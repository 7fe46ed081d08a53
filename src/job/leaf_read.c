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

/* Reads a file of a folder of the leaf; -ENOENT where there is no such folder. All but the list
 * of processes are one record. */
static ssize_t read_record(struct leaf *leaf, enum leaf_tree tree, enum leaf_file kept,
                           const char *file, char *text, size_t size)
{
    ssize_t n;

    if (!leaf_has(leaf, tree) || leaf->is_missing[kept])
        return -ENOENT;
    n = kept_read_record(&leaf->files[kept], leaf->root, text, size, "%s/%s",
                         leaf->folders[tree].own.path, file);
    leaf->is_missing[kept] = n == -ENOENT;
    return n;
}

static uint64_t read_number(struct leaf *leaf, enum leaf_tree tree, enum leaf_file kept,
                            const char *file)
{
    char text[64];
    uint64_t value;

    if (read_record(leaf, tree, kept, file, text, sizeof(text)) < 0 ||
        cgroup_parse_u64(text, &value) < 0)
        return UNKNOWN;
    return value;
}

static bool read_cpu_stat(struct leaf *leaf, struct cgroup_cpu *ret)
{
    char text[1024];

    return read_record(leaf, LEAF_UNIFIED, LEAF_FILE_CPU, "cpu.stat", text, sizeof(text)) >=
               0 &&
           cgroup_parse_cpu_stat(text, ret) == 0;
}

static void read_cpu(struct leaf *leaf, struct leaf_reading *reading)
{
    struct cgroup_cpu cpu;

    if (read_cpu_stat(leaf, &cpu)) {
        reading->cpu_ns = cpu.total_ns;
        reading->user_ns = cpu.user_ns;
        reading->system_ns = cpu.system_ns;
        return;
    }
    reading->cpu_ns = read_number(leaf, LEAF_CPUACCT, LEAF_FILE_CPU, "cpuacct.usage");
    reading->user_ns =
        read_number(leaf, LEAF_CPUACCT, LEAF_FILE_CPU_USER, "cpuacct.usage_user");
    reading->system_ns =
        read_number(leaf, LEAF_CPUACCT, LEAF_FILE_CPU_SYSTEM, "cpuacct.usage_sys");
}

static enum leaf_tree memory_tree(const struct leaf *leaf)
{
    return leaf_has(leaf, LEAF_MEMORY) ? LEAF_MEMORY : LEAF_UNIFIED;
}

static int read_memory_stat(struct leaf *leaf, struct cgroup_memory *ret)
{
    char text[8192];
    ssize_t n = read_record(leaf, memory_tree(leaf), LEAF_FILE_MEMORY_STAT, "memory.stat", text,
                            sizeof(text));

    return n < 0 ? (int)n : cgroup_parse_memory_stat(text, ret);
}

static void note_memory(struct leaf *leaf)
{
    enum leaf_tree tree = memory_tree(leaf);
    const char *file = tree == LEAF_MEMORY ? "memory.usage_in_bytes" : "memory.current";
    uint64_t bytes;

    if (!leaf->is_adopted)
        return;
    bytes = read_number(leaf, tree, LEAF_FILE_MEMORY_CURRENT, file);
    raise_to(&leaf->peaks.memory_seen_bytes, bytes);
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
    enum leaf_tree tree = memory_tree(leaf);
    const char *peak = tree == LEAF_MEMORY ? "memory.max_usage_in_bytes" : "memory.peak";

    (void)read_memory_stat(leaf, &reading->memory); /* else it stays unknown */
    reading->memory_peak_bytes = read_number(leaf, tree, LEAF_FILE_MEMORY_PEAK, peak);
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

    if (read_record(leaf, LEAF_UNIFIED, LEAF_FILE_IO, "io.stat", text, sizeof(text)) < 0 ||
        cgroup_parse_io_stat(text, &io) < 0)
        return;
    reading->read_bytes = io.read_bytes;
    reading->written_bytes = io.written_bytes;
}

void leaf_read_pressure(struct leaf *leaf, struct leaf_reading *reading)
{
    static const char *const files[PRESSURE_COUNT] = { "cpu.pressure", "memory.pressure",
                                                       "io.pressure" };
    char text[512];

    for (int i = 0; i < PRESSURE_COUNT; i++) {
        if (read_record(leaf, LEAF_UNIFIED, (enum leaf_file)(LEAF_FILE_PRESSURE + i), files[i],
                        text, sizeof(text)) >= 0)
            (void)pressure_parse(text, &reading->pressure_ns[i]); /* else it stays as it was */
    }
}

uint64_t leaf_read_cpu_ns(struct leaf *leaf)
{
    struct cgroup_cpu cpu;

    if (read_cpu_stat(leaf, &cpu))
        return cpu.total_ns;
    return read_number(leaf, LEAF_CPUACCT, LEAF_FILE_CPU, "cpuacct.usage");
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
    ret->threads_peak = read_number(leaf, leaf_has(leaf, LEAF_PIDS) ? LEAF_PIDS : LEAF_UNIFIED,
                                    LEAF_FILE_THREADS_PEAK, "pids.peak");
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
