/* SPDX-License-Identifier: Apache-2.0 */
/*
 * measures.c - the values that the job reports, each with its source.
 *
 * Each reading starts with the sources of this table. If another source provided a value, the
 * code that reads the value changes its label: a source that was lost (cpu_totals.c), processes
 * outside the cgroup (totals.c), final values that arrive when a process exits
 * (memory_totals.c).
 */
#include <stddef.h>

#include "base/amount.h"
#include "base/compiler.h"
#include "job/job.h"

#define MAIN_EXITED "the process exited before it could be read"
#define THEY_EXITED "they exited before they could be read"
#define ALL_EXITED "no process could be read before it exited"
#define NONE_READ "no process could be read"
#define AT_END "known only at the end of a job started by spoor"
#define NO_SWITCHES "known only at the end of a command started by spoor"
#define NO_IO_WAIT "requires exit records (root) of a command started by spoor"
#define NO_BOUND "the peak is exact, or no cgroup counts the job's memory"
#define NO_REPORTS "known at the end of a run, if every closed connection was reported"
#define DENIED                                                                            \
    "permission denied: a process of another user or user namespace, or of a set-uid or " \
    "unreadable program"

/* General reasons; replace_reason() replaces them with specific ones. */
static const char no_counters[] = "requires --counters";
static const char no_cgroup[] = "requires a cgroup for the job alone";
static const char no_io[] = "cannot read /proc/PID/io";

#define AT(field) offsetof(struct job_reading, field)
#define USED(name) AT(usage.counter[USAGE_##name])
#define MEMORY(field) AT(memory.field), AT(memory_now.field)

_Static_assert(AT(usage) > 0, "0 is no place of a value");

/* Whether a value needs files in /proc. Without /proc, FILES values are unknown, and
 * FILES_UNTIL_END values are known only before the job's program starts and after its first
 * process has exited. */
enum need { NO_FILES, FILES, FILES_UNTIL_END };

/* clang-format off */
static const struct row {
    size_t value, now; /* offsets in struct job_reading; value 0: another module measures the metric; now 0: equal to value */
    enum need need;
    struct origin origin;
} rows[METRIC_JOB_END] = {
[METRIC_MAIN_CPU] =                 { AT(parts.first_ns), 0,                       NO_FILES,        { "procfs.cpuclock",      MAIN_EXITED, true } },
[METRIC_MAIN_RSS] =                 { MEMORY(of[GROUP_MAIN].total_bytes),                    FILES,           { "procfs.statm",         MAIN_EXITED, false } },
[METRIC_MAIN_PRIVATE] =             { MEMORY(of[GROUP_MAIN].private_bytes),                  FILES,           { "procfs.smaps_rollup",  MAIN_EXITED, false } },
[METRIC_MAIN_SHARED] =              { MEMORY(of[GROUP_MAIN].shared_bytes),                   FILES,           { "procfs.smaps_rollup",  MAIN_EXITED, false } },
[METRIC_MAIN_RSS_PEAK] =            { AT(rss_peak_bytes[GROUP_MAIN]), 0,                  FILES,           { "procfs.status.VmHWM",  MAIN_EXITED, false } },
[METRIC_MAIN_RSS_BOUND] =           { AT(rss_bound_bytes[GROUP_MAIN]), 0,                 NO_FILES,        { "wait4.ru_maxrss",      AT_END,      true } },
[METRIC_MAIN_RSS_DISCOUNT] =        { AT(discount[GROUP_MAIN]), 0,                        NO_FILES,        { "procfs.smaps",         MAIN_EXITED, false } },
[METRIC_MAIN_THREADS] =             { AT(threads[GROUP_MAIN]), 0,                         FILES,           { "procfs.stat",          MAIN_EXITED, false } },
[METRIC_MAIN_THREADS_PEAK] =        { AT(thread_peaks[GROUP_MAIN]), 0,            NO_FILES,        { "procfs.stat",          MAIN_EXITED, false } },
[METRIC_DESCENDANTS_CPU] =          { AT(parts.second_ns), 0,                      NO_FILES,        { "procfs.cpuclock",      NONE_READ,   false } },
[METRIC_DESCENDANTS_RSS] =          { MEMORY(of[GROUP_DESCENDANTS].total_bytes),             FILES,           { "procfs.smaps_rollup",  THEY_EXITED, false } },
[METRIC_DESCENDANTS_PRIVATE] =      { MEMORY(of[GROUP_DESCENDANTS].private_bytes),           FILES,           { "procfs.smaps_rollup",  THEY_EXITED, false } },
[METRIC_DESCENDANTS_SHARED] =       { MEMORY(of[GROUP_DESCENDANTS].shared_bytes),            FILES,           { "procfs.smaps_rollup",  THEY_EXITED, false } },
[METRIC_DESCENDANTS_RSS_PEAK] =     { AT(rss_peak_bytes[GROUP_DESCENDANTS]), 0,           FILES,           { "procfs.status.VmHWM",  THEY_EXITED, false } },
[METRIC_DESCENDANTS_RSS_BOUND] =    { AT(rss_bound_bytes[GROUP_DESCENDANTS]), 0,          NO_FILES,        { "wait4.ru_maxrss",      AT_END,      true } },
[METRIC_DESCENDANTS_RSS_DISCOUNT] = { AT(discount[GROUP_DESCENDANTS]), 0,                 NO_FILES,        { "procfs.smaps",         THEY_EXITED, false } },
[METRIC_DESCENDANTS_THREADS] =      { AT(threads[GROUP_DESCENDANTS]), 0,                  FILES,           { "procfs.stat",          THEY_EXITED, false } },
[METRIC_DESCENDANTS_THREADS_PEAK] = { AT(thread_peaks[GROUP_DESCENDANTS]), 0,     NO_FILES,        { "procfs.stat",          THEY_EXITED, false } },
[METRIC_JOB_CPU] =                  { USED(CPU_NS), 0,                             NO_FILES,        { "procfs.cpuclock",      NONE_READ,   false } },
[METRIC_JOB_USER] =                 { USED(USER_NS), 0,                            FILES_UNTIL_END, { "procfs.stat",          NONE_READ,   false } },
[METRIC_JOB_SYSTEM] =               { USED(SYSTEM_NS), 0,                          FILES_UNTIL_END, { "procfs.stat",          NONE_READ,   false } },
[METRIC_JOB_MAJOR_FAULTS] =         { USED(MAJOR_FAULTS), 0,                       FILES_UNTIL_END, { "procfs.stat",          NONE_READ,   false } },
[METRIC_JOB_MINOR_FAULTS] =         { USED(MINOR_FAULTS), 0,                       FILES_UNTIL_END, { "procfs.stat",          NONE_READ,   false } },
[METRIC_JOB_VOLUNTARY_SWITCHES] =   { USED(VOLUNTARY_SWITCHES), 0,                 NO_FILES,        { "wait4",                NO_SWITCHES, false } },
[METRIC_JOB_INVOLUNTARY_SWITCHES] = { USED(INVOLUNTARY_SWITCHES), 0,               NO_FILES,        { "wait4",                NO_SWITCHES, false } },
[METRIC_JOB_CPU_WAIT] =             { USED(CPU_WAIT_NS), 0,                        NO_FILES,        { "procfs.schedstat",     "no process ran long enough to be read", false } },
[METRIC_JOB_IO_WAIT] =              { USED(IO_WAIT_NS), 0,                         NO_FILES,        { "taskstats",            NO_IO_WAIT,  true } },
[METRIC_JOB_CYCLES] =               { AT(hardware[COUNTER_CYCLES]), 0,             NO_FILES,        { "perf.hardware",        no_counters, true } },
[METRIC_JOB_INSTRUCTIONS] =         { AT(hardware[COUNTER_INSTRUCTIONS]), 0,       NO_FILES,        { "perf.hardware",        no_counters, true } },
[METRIC_JOB_CACHE_MISSES] =         { AT(hardware[COUNTER_CACHE_MISSES]), 0,       NO_FILES,        { "perf.hardware",        no_counters, true } },
[METRIC_JOB_BRANCH_MISSES] =        { AT(hardware[COUNTER_BRANCH_MISSES]), 0,      NO_FILES,        { "perf.hardware",        no_counters, true } },
[METRIC_JOB_RSS] =                  { MEMORY(of[GROUP_JOB].total_bytes),                FILES,           { "procfs.smaps_rollup",  ALL_EXITED,  false } },
[METRIC_JOB_PRIVATE] =              { MEMORY(of[GROUP_JOB].private_bytes),              FILES,           { "procfs.smaps_rollup",  ALL_EXITED,  false } },
[METRIC_JOB_SHARED] =               { MEMORY(of[GROUP_JOB].shared_bytes),               FILES,           { "procfs.smaps_rollup",  ALL_EXITED,  false } },
[METRIC_JOB_PSS] =                  { MEMORY(pss_bytes),                           FILES,           { "procfs.smaps_rollup",  ALL_EXITED,  false } },
[METRIC_JOB_SWAP] =                 { AT(swap_bytes), 0,                           FILES,           { "procfs.status.VmSwap", "cannot read /proc/PID/status", false } },
[METRIC_JOB_RSS_PEAK] =             { AT(rss_peak_bytes[GROUP_JOB]), 0,                       NO_FILES,        { "procfs.status.VmHWM",  ALL_EXITED,  false } },
[METRIC_JOB_RSS_BOUND] =            { AT(rss_bound_bytes[GROUP_JOB]), 0,                      NO_FILES,        { "wait4.ru_maxrss",      AT_END,      true } },
[METRIC_JOB_RSS_DISCOUNT] =         { AT(discount[GROUP_JOB]), 0,                    NO_FILES,        { "procfs.smaps",         ALL_EXITED,  false } },
[METRIC_JOB_MEMORY_PEAK] =          { AT(job_cgroup.memory_peak_bytes), 0,               NO_FILES,        { "cgroup.memory.peak",   no_cgroup,   true } },
[METRIC_JOB_MEMORY_BOUND] =         { AT(memory_bound_bytes), 0,                   NO_FILES,        { "cgroup.memory.peak",   NO_BOUND,    true } },
[METRIC_JOB_ANON] =                 { AT(anon_bytes), 0,                           NO_FILES,        { "cgroup.memory.stat",   no_cgroup,   false } },
[METRIC_JOB_PAGE_CACHE] =           { AT(job_cgroup.memory.page_cache_bytes), 0,         NO_FILES,        { "cgroup.memory.stat",   no_cgroup,   false } },
[METRIC_JOB_REFAULTED] =            { AT(refaulted_bytes), 0,                      NO_FILES,        { "cgroup.memory.stat",   no_cgroup,   false } },
[METRIC_JOB_THREADS] =              { AT(threads[GROUP_JOB]), 0,                              FILES,           { "procfs.stat",          NONE_READ,   false } },
[METRIC_JOB_THREADS_PEAK] =         { AT(thread_peaks[GROUP_JOB]), 0,                 NO_FILES,        { "cgroup.pids.peak",     no_cgroup,   true } },
[METRIC_JOB_PROCESSES] =            { AT(process_count), AT(process_count_now),    FILES,           { "procfs.children",      NONE_READ,   false } },
[METRIC_JOB_PROCESSES_PEAK] =       { AT(process_peak), 0,                         NO_FILES,        { "perf.fork-ring",       "no source of process events is available", false } },
[METRIC_JOB_STARTED] =              { AT(started_count), 0,                        NO_FILES,        { "procfs.children",      NONE_READ,   false } },
[METRIC_JOB_READ] =                 { USED(READ_BYTES), 0,                         FILES_UNTIL_END, { "procfs.io",            no_io,       false } },
[METRIC_JOB_WRITTEN] =              { USED(WRITTEN_BYTES), 0,                      FILES_UNTIL_END, { "procfs.io",            no_io,       false } },
[METRIC_JOB_READ_CHARS] =           { USED(READ_CHARS), 0,                         FILES,           { "procfs.io",            no_io,       false } },
[METRIC_JOB_WRITTEN_CHARS] =        { USED(WRITTEN_CHARS), 0,                      FILES,           { "procfs.io",            no_io,       false } },
[METRIC_JOB_NETWORK_RECEIVED] = { AT(network_bytes[0]), 0, NO_FILES, { "sock_diag", NULL, false } },
[METRIC_JOB_NETWORK_SENT] = { AT(network_bytes[1]), 0, NO_FILES, { "sock_diag", NULL, false } },
[METRIC_JOB_LOOPBACK_RECEIVED] = { AT(network_bytes[2]), 0, NO_FILES, { "sock_diag", NULL, false } },
[METRIC_JOB_LOOPBACK_SENT] = { AT(network_bytes[3]), 0, NO_FILES, { "sock_diag", NULL, false } },
[METRIC_JOB_NETWORK_RECEIVED_BOUND] = { AT(network_bound_bytes[0]), 0, NO_FILES, { "sock_diag", NO_REPORTS, true } },
[METRIC_JOB_NETWORK_SENT_BOUND] = { AT(network_bound_bytes[1]), 0, NO_FILES, { "sock_diag", NO_REPORTS, true } },
[METRIC_JOB_LOOPBACK_RECEIVED_BOUND] = { AT(network_bound_bytes[2]), 0, NO_FILES, { "sock_diag", NO_REPORTS, true } },
[METRIC_JOB_LOOPBACK_SENT_BOUND] = { AT(network_bound_bytes[3]), 0, NO_FILES, { "sock_diag", NO_REPORTS, true } },
[METRIC_JOB_CONNECTIONS] = { AT(network_connections), 0, NO_FILES, { "sock_diag", NULL, false } },
[METRIC_JOB_OOM_KILLS] =            { AT(events.oom_kills_count), 0,               NO_FILES,        { "cgroup.oom_kill",      "no readable cgroup has a memory controller", true } },
[METRIC_JOB_THROTTLED] =            { AT(events.throttled_ns), 0,                  NO_FILES,        { "cgroup.cpu.stat",      "no readable cgroup has a CPU controller", true } },
[METRIC_JOB_CPU_PRESSURE] =         { AT(job_cgroup.pressure_ns[PRESSURE_CPU]), 0,       NO_FILES,        { "cgroup.cpu.pressure",  NULL,        true } },
[METRIC_JOB_MEMORY_PRESSURE] =      { AT(job_cgroup.pressure_ns[PRESSURE_MEMORY]), 0,    NO_FILES,        { "cgroup.memory.pressure", NULL,      true } },
[METRIC_JOB_IO_PRESSURE] =          { AT(job_cgroup.pressure_ns[PRESSURE_IO]), 0,        NO_FILES,        { "cgroup.io.pressure",   NULL,        true } },
};

static const enum metric of_sharing[] = {
    METRIC_MAIN_PRIVATE, METRIC_MAIN_SHARED, METRIC_DESCENDANTS_PRIVATE,
    METRIC_DESCENDANTS_SHARED, METRIC_JOB_PRIVATE, METRIC_JOB_SHARED, METRIC_JOB_PSS,
};

/* Known from wait4, if we reap the processes. */
static const enum metric of_wait4[] = {
    METRIC_JOB_USER, METRIC_JOB_SYSTEM, METRIC_JOB_MAJOR_FAULTS, METRIC_JOB_MINOR_FAULTS,
};
/* clang-format on */

static void replace_reason(struct origin *origins, const char *general, const char *reason)
{
    for (int i = 0; reason && i < METRIC_JOB_END; i++) {
        if (rows[i].origin.reason == general)
            origins[i].reason = reason;
    }
}

static void label_cgroup(const struct job *job, struct origin *origins)
{
    const struct job_cgroup *cgroup = &job->meters.job_cgroup;

    replace_reason(origins, no_cgroup, cgroup->reason);
    for (int i = 0; i < PRESSURE_COUNT; i++) {
        if (!job->meters.has_pressure[i]) /* the sample has the machine's pressure */
            origins[METRIC_JOB_CPU_PRESSURE + i].source = NULL;
    }
    if ((job_cgroup_has(cgroup, CGROUP_UNIFIED) && !cgroup->is_surrounding) ||
        cgroup->is_adopted)
        origins[METRIC_JOB_PROCESSES].source = "cgroup.procs";
    else if (!job->lists_children)
        origins[METRIC_JOB_PROCESSES].source = "procfs.stat";
    origins[METRIC_JOB_STARTED].source = origins[METRIC_JOB_PROCESSES].source;
}

/* Sets why private and shared memory are unknown. The total is then a sum of resident sizes. */
static void omit_sharing(struct origin *origins, const char *reason)
{
    for (size_t i = 0; i < ARRAY_SIZE(of_sharing); i++)
        origins[of_sharing[i]].reason = reason;
    origins[METRIC_JOB_RSS].source = origins[METRIC_DESCENDANTS_RSS].source = "procfs.statm";
}

static void label_without_files(const struct root *root, struct origin *origins)
{
    for (int i = 0; i < METRIC_JOB_END; i++) {
        if (rows[i].need == FILES)
            origins[i].reason = root->proc_fault;
    }
    origins[METRIC_JOB_STARTED].reason = root->proc_fault;
    origins[METRIC_JOB_RSS_PEAK].source = "wait4.ru_maxrss";
}

void job_label(const struct job *job, struct job_reading *reading)
{
    struct origin *origins = reading->origin;

    for (int i = 0; i < METRIC_JOB_END; i++)
        origins[i] = rows[i].origin;
    for (size_t i = 0; job->is_spawned && i < ARRAY_SIZE(of_wait4); i++)
        origins[of_wait4[i]].source = "wait4";
    label_cgroup(job, origins);
    replace_reason(origins, no_counters, job->meters.why_no_counters);
    if (job->sharing.mode == SPOOR_DETAIL_NEVER)
        omit_sharing(origins, "disabled by --detail never");
    for (int i = METRIC_JOB_NETWORK_RECEIVED; i <= METRIC_JOB_CONNECTIONS; i++) {
        if (job->network.reason)
            origins[i].reason = job->network.reason;
    }
    if (job->root->proc_fault)
        label_without_files(job->root, origins);
}

void job_label_denied(const struct job *job, struct job_reading *reading)
{
    if (reading->io_is_denied)
        replace_reason(reading->origin, no_io, DENIED);
    if (job->sharing.is_denied)
        omit_sharing(reading->origin, DENIED);
}

static bool is_hidden(const struct job *job, const struct job_reading *reading, enum need need)
{
    if (!job->root->proc_fault || need == NO_FILES)
        return false;
    return need == FILES || (!reading->is_first && !job->main.has_ended);
}

bool job_measure(const struct job *job, const struct job_reading *reading, enum metric metric,
                 struct measure *ret)
{
    const struct row *row = &rows[metric];

    if (row->value == 0 || !reading->origin[metric].source)
        return false;
    *ret = (struct measure){ UNKNOWN, UNKNOWN, reading->origin[metric] };
    if (job->delegating &&
        metric >= METRIC_DESCENDANTS_CPU) /* a daemon does part of the job's work */
        ret->origin.is_exact = false;
    if (is_hidden(job, reading, row->need))
        return true;
    ret->value = raw_at(reading, row->value);
    ret->now = row->now > 0 ? raw_at(reading, row->now) : ret->value;
    return true;
}
