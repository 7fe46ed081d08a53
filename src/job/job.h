/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job.h - a process and all its descendants: membership and usage.
 *
 * job_refresh() reads all processes, job_collect() the counters of the whole job; job_read()
 * derives the values from what was seen. docs/ARCHITECTURE.md shows the files that do it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/environment.h"
#include "base/measure.h"
#include "base/process_id.h"
#include "base/root.h"
#include "cgroup/cgroup.h"
#include "job/activity.h"
#include "job/agents.h"
#include "job/budget.h"
#include "job/cpu_sources.h"
#include "job/exactness.h"
#include "job/job_cgroup.h"
#include "job/memory/memory_sharing.h"
#include "job/memory/shared_memory.h"
#include "job/network.h"
#include "job/process_events.h"
#include "job/roster.h"
#include "job/source_names.h"
#include "job/surrounding.h"
#include "source/host/meminfo.h"
#include "source/perf/events.h"
#include "source/proc/children.h"
#include "source/proc/usage.h"
#include "spoor/spoor.h"

struct job_options {
    pid_t pid;                    /* 0: there is no job, or it is a cgroup */
    const struct cgroup *adopted; /* a cgroup that is the job; NULL: the job is a process */
    bool caller_spawned;          /* see SPOOR_CALLER_SPAWNED */
    bool is_main_only;            /* see SPOOR_MAIN_ONLY */
    bool has_counters;            /* see SPOOR_COUNTERS */
    enum spoor_detail detail;
    enum spoor_cgroup cgroup;
    /* The job's cgroups before it gets its own, or the cgroups of `adopted`; NULL: none are visible. */
    const struct cgroups *cgroups;
    const char *cgroup_folder;  /* NULL: below one of `cgroups` */
    unsigned disabled;          /* sources, see source_names.h */
    uint64_t budget_millionths; /* see budget_init() */
    bool storage_is_local;      /* the machine's disks count all bytes written */
    environment_get *environment;
};

/* The highest values since the last reading, including glances between samples. */
struct job_peaks {
    struct memory_estimate memory;
    /* Parts of the job's memory at its highest total: they add up. */
    struct memory_split at_peak;
    struct cgroup_memory job_cgroup;
    uint64_t process_count;
    uint64_t swap_bytes;
};

/* Nothing was read yet: the parts of memory are unknown. */
#define JOB_PEAKS_NONE                                 \
    (struct job_peaks)                                 \
    {                                                  \
        .memory = { .of = { { 0, UNKNOWN, UNKNOWN },   \
                            { 0, UNKNOWN, UNKNOWN },   \
                            { 0, UNKNOWN, UNKNOWN } }, \
                    .pss_bytes = UNKNOWN },            \
        .at_peak = MEMORY_SPLIT_UNKNOWN,               \
    }

/* Sums over all processes; job_measure() returns each value with its origin. */
struct job_reading {
    struct clock_span cpu_span, main_cpu_span; /* when the CPU times were read */
    uint64_t cpu_error_ns;  /* possible error of the CPU time, in addition to the span */
    uint64_t missed_cpu_ns; /* CPU time used at an unknown time, not included: see cpu_total */
    struct usage usage;
    struct cpu_counts cpu_counts;
    struct cpu_choice cpu;
    bool is_first;
    struct evidence evidence; /* evidence of completeness of the counts */
    /* Every process was waited for and a second count of CPU time agrees, so that all usage is counted. */
    bool processes_are_exact;
    bool io_is_denied;       /* no permission to read a process: the job's I/O is unknown */
    bool missed_cgroup_peak; /* the cgroup's peak rose above all values seen */
    uint64_t cgroup_memory_bytes; /* memory of the cgroup, read if missed_cgroup_peak */
    struct job_cgroup_reading job_cgroup;
    /* Upper bound of the job's memory peak; UNKNOWN: it is exact, or no cgroup counts it. */
    uint64_t memory_bound_bytes;
    bool memory_is_uncertain; /* memory of other processes may be in the peak */
    /* Events of the cgroup that counts the job's memory or throttles it. */
    struct cgroup_events events;

    struct cpu_split parts;        /* CPU time of main and of the descendants */
    struct memory_estimate memory; /* each value is the highest since the last reading */
    struct memory_estimate memory_now;
    uint64_t process_count_now;
    /* Parts of the job's memory at its highest total since the last reading. */
    struct memory_split at_peak;
    uint64_t anon_bytes; /* anonymous and shared memory in the job cgroup */
    uint64_t refaulted_bytes;
    uint64_t hardware[COUNTER_COUNT];
    uint64_t swap_bytes;
    uint64_t rss_peak_bytes[GROUP_COUNT];  /* the largest peak of one process */
    uint64_t discount[GROUP_COUNT];        /* upper bound of pages counted twice in the peaks */
    uint64_t rss_bound_bytes[GROUP_COUNT]; /* upper bounds; or UNKNOWN */
    uint64_t threads[GROUP_COUNT];
    uint64_t thread_peaks[GROUP_COUNT]; /* peaks so far */
    uint64_t process_count, started_count;
    uint64_t process_peak;  /* most processes at once, from events; UNKNOWN: no events */
    uint64_t process_bound; /* upper bound of process_peak */

    uint64_t network_bytes[NETWORK_COUNTS], network_bound_bytes[NETWORK_COUNTS];
    uint64_t network_connections;

    struct origin origin[METRIC_JOB_END]; /* origin of each value */
};

/* Counters of the whole job, as opposed to its processes. */
struct job_meters {
    struct job_cgroup job_cgroup;
    struct surrounding surrounding;
    /* Watch of the job cgroup, or of the cgroup the job began in. */
    struct cgroup_watch cgroup_watch;
    struct cgroup_events events; /* as last read */
    struct cgroup_escape escape;
    bool has_pressure[PRESSURE_COUNT]; /* counted by the job cgroup */
    struct event_set task_clock;       /* perf's count of the job's CPU time; empty: none */
    struct counters counters;          /* counters of the hardware; closed: none */
    const char *why_no_counters;       /* NULL: counters were not requested */
    uint64_t attached_cpu_ns;          /* CPU time of the processes when perf began to count */
    uint64_t swap_used_bytes; /* swap in use on the machine; at samples, set by the caller */
    uint64_t swap_read_bytes; /* swap_used_bytes when the job's part was last read */
    /* Peak size of the machine's huge page pool, free pages included. */
    uint64_t huge_pool_bytes;
    uint64_t huge_used_bytes, huge_read_bytes; /* like swap_*_bytes, for huge pages */
    struct huge_pages huge_pages;
    /* Set by the caller: CPU time of the machine since the job began, and the part used by
     * interrupts and the hypervisor. May be UNKNOWN. */
    uint64_t busy_ns, stolen_ns;
};

/* A single number that indicates growth of the job's memory. */
struct job_sentinel {
    struct cached_file file; /* file with the machine's memory */
    /* Least memory in use since a glance saw growth; UNKNOWN: not read yet. */
    uint64_t least_bytes;
    uint64_t grown_bytes; /* growth since then, as last read */
    bool has_grown;       /* grown by more than random variation */
    bool is_raised;       /* memory has grown or may have: the next glance reads all sizes */
    bool is_rising;       /* memory has grown since the last reading of the sentinel */
    bool has_settled;     /* memory has stopped rising: the next glance reads everything */
};

/* Usage of the job beyond the usage of its living processes. */
struct job_ledger {
    struct usage departed; /* usage of exited processes, unless a living process inherited it */
    struct usage reported; /* last reported values: totals never fall */
    struct cpu_total cpu;
    /* Maximum of the sum over processes without main's CPU time, and its value at the first reading. */
    uint64_t descendants_ns, first_descendants_ns;
    uint64_t ended_clocks_ns; /* CPU time of exited descendants by their clocks, in this run */
    uint64_t waited_ns;       /* CPU time that wait4 reported for the processes we reaped */
    struct cpu_split split;   /* user and system time, as last reported */
    struct cpu_split parts;   /* CPU time of main and descendants, as last reported */
    bool has_waited;          /* a process reaped a child during this run */
    bool saw_unwaited;        /* a process exited and its parent did not wait for it */
    bool is_suspect;          /* a process that ignores SIGCHLD had children */
    /* A process was moved into an adopted cgroup: its usage until it was found is unknown. */
    bool has_joined;
    bool lost_chars; /* a process exited before its read and write calls were counted */
    /* Like lost_chars, for the main process or a process whose /proc/PID/io we may not read. */
    bool has_unknown_chars;
};

/* Peaks of single processes and of the job, and their bounds. */
struct job_marks {
    uint64_t rss_peak_bytes[GROUP_JOB]; /* the largest peak of one process */
    bool main_peak_is_exact;
    uint64_t spawn_rss_bytes;     /* our own size at the fork: the lower limit of ru_maxrss */
    uint64_t main_bound_bytes;    /* ru_maxrss of main: its own peak or a child's; 0: unknown */
    uint64_t largest_bound_bytes; /* the largest ru_maxrss of all processes we reaped */
    bool outlived_main;           /* other processes were alive when main exited */
    uint64_t discount[GROUP_COUNT]; /* upper bound of pages counted twice in a resident size */
    uint64_t hugetlb_bytes;         /* most huge pages of one process */
    struct double_mapping doubled[GROUP_JOB];
    uint64_t thread_peaks[GROUP_COUNT]; /* peaks of all looks */
    uint64_t cgroup_peak_bytes;         /* the cgroup's own peak, as last read */
    uint64_t page_cache_bytes;          /* largest page cache seen in the cgroup */
    bool has_seen[GROUP_JOB]; /* a process with its own memory was seen, at least once */
};

struct job {
    /* fixed at the start */
    const struct root *root; /* borrowed */
    pid_t main_pid;          /* 0: none */
    bool is_tracked;         /* there is a job */
    bool is_spawned;         /* the tracker started it, and is the subreaper of its orphans */
    pid_t tracker_pid;       /* the subreaper; 0 unless is_spawned */
    bool is_main_only;       /* see job_options */
    bool uses_clocks;
    bool lists_children;   /* the kernel lists the children of a process */
    bool storage_is_local; /* see job_options */

    /* membership */
    struct roster roster;
    struct process_events process_events;
    struct agents agents;
    struct {
        struct process_id *ids; /* owned */
        size_t count, capacity;
    } inherited; /* children that the tracker had before the job: not part of it */
    struct children_buffer children;
    uint64_t started_count;
    unsigned search_count;
    uint64_t searched_ns;    /* time of the last search for processes */
    uint64_t suspended_ns;   /* clock_suspended_ns() at the last search */
    uint64_t searched_ticks; /* last search of an adopted cgroup, ticks since boot; 0: never */
    bool is_full;            /* more processes than the table can hold */
    bool has_newborn;        /* a process was too young to have its command read */
    /* Bits of untracked_bit(): programs of the job whose work is done elsewhere. */
    unsigned delegating;
    struct {
        bool has_program; /* main has called exec, or we attached to it */
        bool has_clock;   /* CPU clocks of processes are available */
        bool has_ended;
        uint64_t cpu_ns;   /* kept after main has exited */
        uint64_t ended_ns; /* when the exit of main was reported; 0: not yet */
    } main;

    /* usage */
    struct job_meters meters;
    struct job_ledger ledger;
    struct job_marks marks;
    struct memory_sharing sharing;
    struct activity activity;
    struct budget budget;
    struct job_network network;

    /* looks and readings */
    struct clock_span look_span; /* when the clocks of all processes were last read */
    bool was_thorough;           /* the last look at all processes read the slow files too */
    bool is_border;              /* set by the caller: a phase starts or stops */
    bool is_early;               /* set by the caller: read memory sharing as in a glance */
    /* Memory of the job cgroup when resident sizes were last read. */
    uint64_t glanced_memory_bytes;
    struct job_sentinel sentinel;
    struct job_peaks peaks; /* peaks since the last reading */
    struct job_reading sum; /* sums of everything seen at the last reading */
    bool sum_holds;         /* no process was read since the last reading */
    bool was_read;
};

/* Starts tracking a job. The other functions must not be called without a job (is_tracked).
 * -ESRCH: no such process; -ENOTSUP: a cgroup was required and is not available (the reason is
 * in job->meters.job_cgroup.reason). The caller must call job_done(), even after a failure. */
int job_init(struct job *job, const struct root *root, const struct job_options *options,
             uint64_t now_ns);
void job_done(struct job *job);

/* Reads every process that may have changed (activity.h), finds new ones and accounts for
 * exited ones. `is_thorough` reads the slow files too. */
void job_refresh(struct job *job, uint64_t now_ns, bool is_thorough);

/* Makes a look between samples, to catch peaks: checks whether the job runs and, if it may have
 * grown, reads its resident sizes. job->activity has the state. */
void job_glance(struct job *job, uint64_t now_ns);

/* Reads the sentinel: the memory of the job cgroup or, without one, the CPU time of the job
 * and, if the job has run, the anonymous memory of the machine. True: the job may have grown
 * since the last glance, so the next glance reads all sizes. */
bool job_watch_memory(struct job *job);

/* Returns the address space of the processes that use GPUs; allocating or freeing GPU memory
 * changes it. 0: there are none. */
uint64_t job_gpu_space_bytes(struct job *job);

/* Reads the events of processes that were started or exited. Reads those still alive; between
 * two samples, only if they have lived for a while. */
void job_take_events(struct job *job, uint64_t now_ns, bool is_sample);

/* Called when a child of ours has exited and is about to be reaped: reads its last figures. */
void job_child_ended(struct job *job, pid_t pid, uint64_t now_ns);

/* Adds up the processes, reads the counters of the whole job, and updates the ledger. */
void job_collect(struct job *job, uint64_t now_ns);

/* Derives the values from what was seen so far. Reads no file: a second call has the same result. */
void job_read(const struct job *job, struct job_reading *ret);

/* Begins the interval up to the next sample: forgets the peaks of the last one. */
void job_begin_interval(struct job *job);

/* Returns a value of a reading, with its origin. False: the job does not measure it. */
bool job_measure(const struct job *job, const struct job_reading *reading, enum metric metric,
                 struct measure *ret);

/* Whether a process was seen outside of the job cgroup in this hierarchy. */
static inline bool job_left_cgroup(const struct job *job, enum cgroup_controller tree)
{
    return job->meters.escape.has_left[job_cgroup_tree(&job->meters.job_cgroup, tree)];
}

/* Returns the CPU time of the job in one number, exited processes included; or UNKNOWN. */
uint64_t job_whole_cpu_ns(struct job *job);

/* Returns the CPU time of the job so far from the cheapest source, to check whether the job is
 * idle; UNKNOWN if no source is cheap. */
uint64_t job_quick_cpu_ns(struct job *job);

/* Lists each process, exited or not, and its usage, sorted by process_table_finish(). `job_cpu_ns`:
 * the job's CPU time as reported. The caller must call process_table_done(). Fails with -ENOMEM. */
int job_list_processes(const struct job *job, uint64_t job_cpu_ns, struct process_table *ret);

/* Records the GPU memory of a process of the job. */
void job_note_gpu(struct job *job, pid_t pid, uint64_t bytes);

/* ---- among the files of the job ---- */

/* process_notes.c: these are called, in this order, when a process was opened; when its command
 * may be read; to read the commands of processes that were too young before; after the first
 * reading of all processes; when a process has exited. */
void job_note_start(struct job *job, struct member *member, uint64_t now_ns);
void job_note_command(struct job *job, struct member *member);
void job_note_newborn(struct job *job);
void job_note_first_reading(struct job *job);
void job_note_end(struct job *job, struct member *member);
/* Excludes the usage of a process so far: it is from before the run, or before it joined. */
void member_note_first(struct member *member);
/* Returns the CPU time of a process in the run by its clock, as last read or glanced at. */
uint64_t member_clock_ns(const struct member *member);

/* Returns the current time of a live machine; on a fixture machine, returns `now_ns`. */
uint64_t job_now_ns(const struct job *job, uint64_t now_ns);

struct look job_look(const struct job *job, uint64_t now_ns, bool is_thorough);
void job_add_member(struct job *job, const struct look *look, pid_t pid);
/* Reads the CPU time. All processes must already have been added to the reading. */
void job_read_cpu(struct job *job, uint64_t now_ns, struct job_reading *reading);
/* Drops members that turned out to be agents. */
void job_drop_agents(struct job *job);
/* Excludes an agent and its intermediate process, which has already exited. */
void job_disown(struct job *job, const struct member *agent);
void job_search(struct job *job, const struct look *look);
/* Records the tracker's children other than the job: a program may have started them before it
 * called exec to run the tracker. */
void job_note_inherited(struct job *job);
bool job_is_inherited(const struct job *job, struct process_id id);

/* Checks whether main has called exec. Before that, the forked child is a copy of the tracker:
 * none of its memory is the job's. */
void job_check_program(struct job *job, struct member *main, const struct look *look);

/* Records facts that outlive the process: peaks, main's CPU time. */
void job_remember(struct job *job, struct member *member);
void job_account_exits(struct job *job);
void job_read_bounds(const struct job *job, struct job_reading *reading);
/* measures.c: job_label() sets the initial sources of a reading; job_label_denied() sets the
 * reasons of values that are unknown for lack of permission. */
void job_label(const struct job *job, struct job_reading *reading);
void job_label_denied(const struct job *job, struct job_reading *reading);

/* glance.c: reads how many huge pages of the machine are in use. If that number has changed,
 * also reads the huge pages of each process. */
void job_note_huge_pages(struct job *job);
/* Limits the job's swap space to the machine's: forked processes may share swapped pages. */
uint64_t job_cap_swap(const struct job *job, uint64_t sum_bytes);
/* Called when swap and huge pages of all processes were read. */
void job_note_status_read(struct job *job);

/* Records the CPU time of the job so far, which may be UNKNOWN. */
void job_note_cpu(struct job *job, uint64_t now_ns, uint64_t cpu_ns);

/* exits.c: programs whose work is done by a daemon, whose processes are not descendants of the
 * job: the job's figures lack their usage. */
struct untracked {
    const char *name; /* name of the program, as in /proc/PID/comm */
    const char *message;
};

extern const struct untracked untracked_programs[];
extern const size_t untracked_count; /* at most 32 */

/* Returns the bit of the program `name` (1 << its index); 0: the program does its own work. */
unsigned untracked_bit(const char *name);

/* exits.c: decides whether ru_maxrss of main, which has waited for children, is its own peak or
 * a child's. Memory grows by page faults, and the kernel counts the faults of main and of its
 * children separately; one fault may map a huge page. */
struct peak_evidence {
    uint64_t maxrss_bytes;
    uint64_t seen_bytes;   /* main's own peak at the last look */
    uint64_t faults;       /* faults of main itself since then */
    uint64_t child_faults; /* faults of all children that main waited for */
    uint64_t page_bytes;
};

struct peak_owner {
    bool is_main, is_certain;
};

struct peak_owner peak_owner_of(const struct peak_evidence *evidence);

/* memory_totals.c */
void job_read_discount(const struct job *job, uint64_t ret[GROUP_COUNT]);
/* `is_glance`: between samples, when memory sharing is seldom read. */
void job_read_memory(struct job *job, bool is_glance, struct memory_estimate *ret);
/* Whether a count of the job cgroup in this hierarchy is exact. */
bool job_cgroup_is_exact(const struct job *job, const struct job_reading *reading,
                         enum cgroup_controller tree); /* totals.c */
/* Whether all anonymous memory of the cgroup belongs to the job's processes. */
bool job_anon_is_certain(const struct job *job, const struct job_reading *reading);
/* Whether the cgroup's peak has risen since the last reading above all values seen. If so,
 * reads the I/O of all processes, to tell page cache from memory of processes. */
bool job_missed_cgroup_peak(struct job *job, uint64_t now_ns,
                            const struct job_cgroup_reading *cgroup);
/* Reads the memory of the cgroup if it has missed a peak. */
void job_collect_cgroup_memory(struct job *job);
void job_raise_to_peaks(const struct job *job, struct job_reading *reading);
void job_forget_unseen(const struct job *job, struct memory_estimate *memory);
/* totals.c: sets the sum of the threads, and raises the peaks. */
void job_raise_threads(struct job *job, uint64_t threads[GROUP_COUNT]);
