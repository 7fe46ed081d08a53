/* SPDX-License-Identifier: Apache-2.0 */
/* job_cgroup_read.c - what the job's cgroup says. */
#include <errno.h>

#include "base/compiler.h"
#include "base/unknown.h"
#include "cgroup/cgroup.h"
#include "job/job_cgroup.h"
#include "source/host/host.h"

bool job_cgroup_has_memory(const struct job_cgroup *job_cgroup)
{
    if (job_cgroup_has(job_cgroup, CGROUP_TREE_MEMORY))
        return true;
    return job_cgroup_has(job_cgroup, CGROUP_TREE_UNIFIED) &&
           root_exists(job_cgroup->root, "%s/memory.current",
                       job_cgroup->folders[CGROUP_TREE_UNIFIED].own.path);
}

/* The name of a file with version 1, and in which tree, and with version 2. NULL: there is none. */
static const struct {
    enum cgroup_tree v1_tree;
    const char *v1, *v2;
} files[CGROUP_TREE_FILE_COUNT] = {
    [CGROUP_TREE_FILE_CPU_STAT] = { .v2 = "cpu.stat" },
    [CGROUP_TREE_FILE_CPU] = { CGROUP_TREE_CPUACCT, "cpuacct.usage", NULL },
    [CGROUP_TREE_FILE_CPU_USER] = { CGROUP_TREE_CPUACCT, "cpuacct.usage_user", NULL },
    [CGROUP_TREE_FILE_CPU_SYSTEM] = { CGROUP_TREE_CPUACCT, "cpuacct.usage_sys", NULL },
    [CGROUP_TREE_FILE_MEMORY_PEAK] = { CGROUP_TREE_MEMORY, "memory.max_usage_in_bytes",
                                       "memory.peak" },
    [CGROUP_TREE_FILE_MEMORY_CURRENT] = { CGROUP_TREE_MEMORY, "memory.usage_in_bytes",
                                          "memory.current" },
    [CGROUP_TREE_FILE_MEMORY_STAT] = { CGROUP_TREE_MEMORY, "memory.stat", "memory.stat" },
    [CGROUP_TREE_FILE_THREADS_PEAK] = { CGROUP_TREE_PIDS, "pids.peak", "pids.peak" },
    [CGROUP_TREE_FILE_IO] = { .v2 = "io.stat" },
    [CGROUP_TREE_FILE_PRESSURE + PRESSURE_CPU] = { .v2 = "cpu.pressure" },
    [CGROUP_TREE_FILE_PRESSURE + PRESSURE_MEMORY] = { .v2 = "memory.pressure" },
    [CGROUP_TREE_FILE_PRESSURE + PRESSURE_IO] = { .v2 = "io.pressure" },
};

/* Reads a file from the tree that has it, version 1 first; -ENOENT if none has. */
static ssize_t read_record(struct job_cgroup *job_cgroup, enum job_cgroup_file file, char *text,
                           size_t size)
{
    bool is_v1 = files[file].v1 && job_cgroup_has(job_cgroup, files[file].v1_tree);
    enum cgroup_tree tree = is_v1 ? files[file].v1_tree : CGROUP_TREE_UNIFIED;
    const char *name = is_v1 ? files[file].v1 : files[file].v2;
    ssize_t n;

    if (!name || !job_cgroup_has(job_cgroup, tree) || job_cgroup->is_missing[file])
        return -ENOENT;
    n = cached_file_read_record(&job_cgroup->files[file], job_cgroup->root, text, size, "%s/%s",
                                job_cgroup->folders[tree].own.path, name);
    job_cgroup->is_missing[file] = n == -ENOENT;
    return n;
}

static uint64_t read_number(struct job_cgroup *job_cgroup, enum job_cgroup_file file)
{
    char text[64];
    uint64_t value;

    if (read_record(job_cgroup, file, text, sizeof(text)) < 0 ||
        cgroup_parse_u64(text, &value) < 0)
        return UNKNOWN;
    return value;
}

static bool read_cpu_stat(struct job_cgroup *job_cgroup, struct cgroup_cpu *ret)
{
    char text[1024];

    return read_record(job_cgroup, CGROUP_TREE_FILE_CPU_STAT, text, sizeof(text)) >= 0 &&
           cgroup_parse_cpu_stat(text, ret) == 0;
}

static void read_cpu(struct job_cgroup *job_cgroup, struct job_cgroup_reading *reading)
{
    struct cgroup_cpu cpu;

    if (!read_cpu_stat(job_cgroup, &cpu)) {
        cpu.total_ns = read_number(job_cgroup, CGROUP_TREE_FILE_CPU);
        cpu.user_ns = read_number(job_cgroup, CGROUP_TREE_FILE_CPU_USER);
        cpu.system_ns = read_number(job_cgroup, CGROUP_TREE_FILE_CPU_SYSTEM);
        cgroup_split_cpu(&cpu, job_cgroup->last.user_ns, job_cgroup->last.system_ns);
        reading->split_is_by_ticks = true;
    }
    reading->cpu_ns = cpu.total_ns;
    reading->user_ns = cpu.user_ns;
    reading->system_ns = cpu.system_ns;
}

uint64_t job_cgroup_read_cpu_ns(struct job_cgroup *job_cgroup)
{
    struct cgroup_cpu cpu;

    return read_cpu_stat(job_cgroup, &cpu) ? cpu.total_ns
                                           : read_number(job_cgroup, CGROUP_TREE_FILE_CPU);
}

static int read_memory_stat(struct job_cgroup *job_cgroup, struct cgroup_memory *ret)
{
    char text[8192];
    ssize_t n = read_record(job_cgroup, CGROUP_TREE_FILE_MEMORY_STAT, text, sizeof(text));

    return n < 0 ? (int)n : cgroup_parse_memory_stat(text, ret);
}

uint64_t job_cgroup_read_memory_bytes(struct job_cgroup *job_cgroup)
{
    return read_number(job_cgroup, CGROUP_TREE_FILE_MEMORY_CURRENT);
}

static void note_memory(struct job_cgroup *job_cgroup)
{
    if (job_cgroup->is_adopted)
        raise_to(&job_cgroup->peaks.memory_seen_bytes,
                 job_cgroup_read_memory_bytes(job_cgroup));
}

/* Of a cgroup that was there before us, the kernel's peak counts if it has risen since. Otherwise
 * the most that was seen does. */
static void take_adopted_peaks(struct job_cgroup *job_cgroup,
                               struct job_cgroup_reading *reading)
{
    const struct job_cgroup_peaks *peaks = &job_cgroup->peaks;

    note_memory(job_cgroup);
    if (is_known(reading->threads_peak) && reading->threads_peak <= peaks->threads_before)
        reading->threads_peak = UNKNOWN;
    reading->memory_peak_is_sampled = !is_known(reading->memory_peak_bytes) ||
                                      reading->memory_peak_bytes <= peaks->memory_before_bytes;
    if (reading->memory_peak_is_sampled)
        reading->memory_peak_bytes =
            peaks->memory_seen_bytes > 0 ? peaks->memory_seen_bytes : UNKNOWN;
}

static void read_memory(struct job_cgroup *job_cgroup, struct job_cgroup_reading *reading)
{
    (void)read_memory_stat(job_cgroup, &reading->memory); /* else it stays unknown */
    reading->memory_peak_bytes = read_number(job_cgroup, CGROUP_TREE_FILE_MEMORY_PEAK);
}

void job_cgroup_raise_memory(struct job_cgroup *job_cgroup, struct cgroup_memory *peak)
{
    struct cgroup_memory memory;

    note_memory(job_cgroup);
    if (read_memory_stat(job_cgroup, &memory) < 0)
        return;
    raise_to(&peak->anon_bytes, memory.anon_bytes);
    raise_to(&peak->shmem_bytes, memory.shmem_bytes);
    raise_to(&peak->page_cache_bytes, memory.page_cache_bytes);
}

static void read_io(struct job_cgroup *job_cgroup, struct job_cgroup_reading *reading)
{
    struct children_buffer *buffer = &job_cgroup->io_text;
    struct cgroup_io io;
    ssize_t n;

    do
        n = buffer->size == 0
                ? -EFBIG
                : read_record(job_cgroup, CGROUP_TREE_FILE_IO, buffer->text, buffer->size);
    while (n == -EFBIG && children_buffer_grow(buffer) == 0);
    if (n < 0 || cgroup_parse_io_stat(buffer->text, &io) < 0)
        return;
    reading->read_bytes = io.read_bytes;
    reading->written_bytes = io.written_bytes;
}

void job_cgroup_read_pressure(struct job_cgroup *job_cgroup, struct job_cgroup_reading *reading)
{
    char text[512];

    for (int i = 0; i < PRESSURE_COUNT; i++) {
        if (read_record(job_cgroup, (enum job_cgroup_file)(CGROUP_TREE_FILE_PRESSURE + i), text,
                        sizeof(text)) >= 0)
            (void)pressure_parse(text, &reading->pressure_ns[i]); /* else it stays as it was */
    }
}

static bool is_lost(uint64_t value, uint64_t before)
{
    return !is_known(value) && is_known(before);
}

/* A cgroup that is not ours, or that systemd made for us, may be removed as soon as it is empty. What
 * was last read of it stands. */
static void keep_last(struct job_cgroup *job_cgroup, struct job_cgroup_reading *reading)
{
    if (is_lost(reading->cpu_ns, job_cgroup->last.cpu_ns) ||
        is_lost(reading->memory_peak_bytes, job_cgroup->last.memory_peak_bytes)) {
        *reading = job_cgroup->last;
        reading->is_gone = true;
    } else {
        job_cgroup->last = *reading;
    }
}

void job_cgroup_read(struct job_cgroup *job_cgroup, struct job_cgroup_reading *ret)
{
    *ret = (struct job_cgroup_reading)JOB_CGROUP_READING_UNKNOWN;
    if (!job_cgroup->root)
        return;
    read_cpu(job_cgroup, ret);
    read_memory(job_cgroup, ret);
    read_io(job_cgroup, ret);
    job_cgroup_read_pressure(job_cgroup, ret);
    ret->threads_peak = read_number(job_cgroup, CGROUP_TREE_FILE_THREADS_PEAK);
    if (job_cgroup->is_adopted)
        take_adopted_peaks(job_cgroup, ret);
    keep_last(job_cgroup, ret);
}

ssize_t job_cgroup_read_procs(struct job_cgroup *job_cgroup, char *text, size_t size)
{
    if (!job_cgroup_has(job_cgroup, CGROUP_TREE_UNIFIED))
        return -ENOENT;
    return cached_file_read(&job_cgroup->files[CGROUP_TREE_FILE_PROCS], job_cgroup->root, text,
                            size, "%s/cgroup.procs",
                            job_cgroup->folders[CGROUP_TREE_UNIFIED].own.path);
}
