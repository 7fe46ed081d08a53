/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job.h - a process and everything it started: who belongs, and what they used.
 *
 *   membership.c   who belongs
 *   exits.c       what becomes of the counters of those that end
 *   totals.c       the sum, each quantity from the best source that serves
 *   measures.c     what is handed up: each value with its source
 *   cpu_totals.c   the CPU time
 *   process_notes.c  what each process was
 *   memory_totals.c  the memory, and the most of it between two readings
 *   glance.c       a look between two samples
 *   job_cgroup.c         a cgroup of the job's own
 *
 * job_refresh() looks at all processes; job_read() adds up what was seen.
 */
#ifndef JOB_JOB_H
#define JOB_JOB_H

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
#include "job/cgroup_escape.h"
#include "job/cpu_sources.h"
#include "job/exactness.h"
#include "job/job_cgroup.h"
#include "job/memory/memory_sharing.h"
#include "job/memory/shared_memory.h"
#include "job/process_events.h"
#include "job/roster.h"
#include "job/source_names.h"
#include "job/usage.h"
#include "source/host/meminfo.h"
#include "source/perf/event_set.h"
#include "source/proc/children.h"
#include "spoor/spoor.h"

struct job_options {
    pid_t pid;                    /* 0: there is no job, or it is a cgroup */
    const struct cgroup *adopted; /* a cgroup that is the job; NULL: it is a process */
    bool caller_spawned;          /* see SPOOR_CALLER_SPAWNED */
    bool is_main_only;            /* see SPOOR_MAIN_ONLY */
    enum spoor_detail detail;
    enum spoor_cgroup cgroup;
    const struct cgroups *
        cgroups; /* the job's before it gets its own, or those of `adopted`; NULL: none can be seen */
    const char *cgroup_folder;  /* NULL: one of those */
    unsigned disabled;          /* sources, see source_names.h */
    uint64_t budget_millionths; /* see budget_init() */
    bool storage_is_local;      /* the machine's disks count all that can be written */
    environment_get *environment;
};

/* The highest values seen since the last reading, by glances between samples too. */
struct job_peaks {
    struct memory_estimate memory;
    struct memory_split at_peak; /* of the job, when its total was highest: the parts add up */
    struct cgroup_memory job_cgroup;
    uint64_t process_count;
    uint64_t swap_bytes;
};

/* Nothing was seen yet: the parts of memory are not known. */
#define JOB_PEAKS_NONE                                      \
    (struct job_peaks)                                      \
    {                                                       \
        .memory = { .main = { 0, UNKNOWN, UNKNOWN },        \
                    .descendants = { 0, UNKNOWN, UNKNOWN }, \
                    .combined = { 0, UNKNOWN, UNKNOWN },    \
                    .pss_bytes = UNKNOWN },                 \
        .at_peak = MEMORY_SPLIT_UNKNOWN,                    \
    }

/* The sums over all processes; job_measure() gives each value with its origin. */
struct job_reading {
    struct clock_span cpu_span, main_cpu_span; /* when the CPU times were read */
    uint64_t cpu_error_ns;                     /* what the CPU time may be off besides */
    uint64_t missed_cpu_ns;                    /* used besides, not known when: see cpu_total */
    struct usage usage;
    struct cpu_counts cpu_counts;
    struct cpu_choice cpu;
    bool is_first;
    struct evidence evidence; /* of how complete the counts are */
    bool all_waited;          /* every process was waited for, so that all it did is counted */
    bool io_is_denied; /* a process cannot be read: what the job read and wrote is unknown */
    bool missed_cgroup_peak; /* it rose since the last reading, and no look saw that much */
    bool left_memory_cgroup; /* a process was seen outside of it */
    struct job_cgroup_reading job_cgroup;
    struct cgroup_events
        events; /* of the cgroup that counts the job's memory or throttles it */

    uint64_t main_cpu_ns, descendants_cpu_ns;
    struct memory_estimate memory; /* each the highest since the last reading */
    struct memory_estimate memory_now;
    uint64_t process_count_now;
    struct memory_split at_peak; /* of the job, at the moment of its highest total since then */
    uint64_t anon_bytes;         /* in the job cgroup, with shared memory */
    uint64_t swap_bytes;
    uint64_t rss_peak_bytes; /* the larger of the next two */
    uint64_t main_rss_peak_bytes;
    uint64_t descendants_rss_peak_bytes; /* the largest of one process */
    struct group_bytes discount;         /* how far marks may be above the pages there were */
    uint64_t main_rss_bound_bytes;       /* upper bounds; UNKNOWN: none is known */
    uint64_t descendants_rss_bound_bytes;
    uint64_t rss_bound_bytes;
    uint64_t main_threads, descendants_threads, threads;
    struct heads thread_peaks; /* so far; of threads only */
    uint64_t process_count, started_count;
    uint64_t process_peak;  /* the most at once, by events; UNKNOWN: none serve */
    uint64_t process_bound; /* what that cannot have been above */

    struct origin origin[METRIC_JOB_END]; /* of each value */
};

/* Counters of the whole job, apart from those of its processes. */
struct job_meters {
    struct job_cgroup job_cgroup;
    struct cgroup_watch cgroup_watch; /* of the job cgroup, or the one it began in */
    struct cgroup_events events;      /* as last read there */
    struct cgroup_escape escape;
    bool has_pressure[PRESSURE_COUNT]; /* the job cgroup counts it */
    struct event_set task_clock;       /* perf's count of the job's CPU time; empty: none */
    uint64_t attached_cpu_ns; /* what the processes had used when that began to count */
    uint64_t swap_used_bytes; /* of the machine; at samples set by the caller */
    uint64_t swap_read_bytes; /* likewise, when it was last read how much of it is the job's */
    uint64_t
        huge_pool_bytes; /* huge pages of the machine, used or free, so far; set by the caller */
    uint64_t huge_used_bytes, huge_read_bytes; /* as for swap */
    struct huge_pages huge_pages;
    /* Set by the caller: CPU time of the machine since the job began, and what interrupts and the hypervisor
     * had of it. UNKNOWN is fine. */
    uint64_t busy_ns, stolen_ns;
};

/* One number that shows growth of the job's memory. */
struct job_sentinel {
    struct cached_file file; /* of the machine's memory */
    uint64_t
        least_bytes; /* in use: the least since a glance saw growth; UNKNOWN: not read yet */
    uint64_t grown_bytes; /* by so much since then, as last read */
    bool has_grown;       /* by more than chance explains */
    bool is_raised;       /* it has, or may have: the next glance reads all sizes */
};

/* What the job has used so far, as far as its living processes do not say it. */
struct job_ledger {
    struct usage departed; /* of ended processes that no living one inherited */
    struct usage reported; /* what was last reported: totals never step back */
    struct cpu_total cpu;
    uint64_t
        descendants_ns; /* the most that the sum over processes had besides main's CPU time */
    uint64_t waited_ns; /* CPU time that wait4 reported of the processes we reaped */
    uint64_t user_ns, system_ns; /* as last reported: they add up to the CPU time */
    bool has_waited;             /* a process of the job has reaped a child, seen or not */
    bool saw_unwaited;           /* a process ended and its parent did not wait for it */
    bool is_suspect;             /* a process that ignores SIGCHLD had children */
    bool
        has_joined; /* a process was moved into an adopted cgroup: what it did there before it was
                      * found is not known */
    bool lost_chars; /* a process ended before its read and write calls could be asked for */
    bool has_unknown_chars; /* likewise, of the main process or one that we may not read */
};

/* Peaks of single processes and of the job, and what bounds them. */
struct job_marks {
    uint64_t main_rss_peak_bytes;
    uint64_t largest_peak_bytes; /* of any process of the job, main apart */
    bool main_peak_is_exact;
    uint64_t spawn_rss_bytes;  /* what we ourselves had when we forked: a floor of ru_maxrss */
    uint64_t main_bound_bytes; /* ru_maxrss of main: its own, or a child's; 0: not known yet */
    uint64_t largest_bound_bytes; /* the largest ru_maxrss of all that we reaped */
    bool outlived_main;           /* others lived when main ended */
    struct group_bytes discount;  /* pages counted twice in a resident size, at most */
    uint64_t hugetlb_bytes;       /* huge pages: the most of one process */
    struct double_mapping main_doubled, descendants_doubled;
    struct heads thread_peaks;     /* of all looks; of threads only */
    uint64_t cgroup_peak_bytes;    /* the cgroup's own, as last read */
    uint64_t page_cache_bytes;     /* the most of it that was seen in the cgroup */
    bool saw_main, saw_descendant; /* with memory of its own, at least once */
};

struct job {
    /* fixed when it begins */
    const struct root *root; /* borrowed */
    pid_t main_pid;          /* 0: there is none */
    bool is_tracked;         /* there is a job */
    bool is_spawned;         /* the tracker started it, and is the subreaper of its orphans */
    pid_t tracker_pid;       /* the subreaper; 0 unless is_spawned */
    bool is_main_only;       /* see job_options */
    bool uses_clocks;
    bool lists_children;   /* the kernel has children files */
    bool storage_is_local; /* see job_options */

    /* who belongs */
    struct roster roster;
    struct process_events process_events;
    struct agents agents;
    struct {
        struct process_id *ids; /* owned */
        size_t count, capacity;
    } inherited; /* children that the tracker had before: of no job */
    struct children_buffer children;
    uint64_t started_count;
    unsigned search_count;
    uint64_t searched_ns;    /* when that was */
    uint64_t suspended_ns;   /* clock_suspended_ns() when processes were last searched */
    uint64_t searched_ticks; /* likewise, of an adopted cgroup: since boot; 0: never */
    bool is_full;            /* more processes than the table holds */
    bool has_newborn;   /* the command of a process is read once it has lived for a while */
    unsigned untracked; /* bits of untracked_bit(): programs of the job whose work is not */
    struct {
        bool has_program; /* it has called exec, or was attached to */
        bool has_clock;   /* processes have CPU clocks here */
        bool has_ended;
        uint64_t cpu_ns;   /* also after its end */
        uint64_t ended_ns; /* when we were told of its end; 0: not yet */
    } main;

    /* what it uses */
    struct job_meters meters;
    struct job_ledger ledger;
    struct job_marks marks;
    struct memory_sharing sharing;
    struct activity activity;
    struct budget budget;

    /* looks and readings */
    struct clock_span look_span; /* when the clocks of all processes were last read */
    bool was_thorough;           /* the last look at all processes */
    bool is_border; /* set by the caller: it was, because a phase starts or stops */
    uint64_t glanced_memory_bytes; /* of the job cgroup, when resident sizes were last read */
    struct job_sentinel sentinel;
    struct job_peaks peaks; /* since the last reading */
    struct job_reading sum; /* of all that was seen, at the last reading */
    bool sum_holds;         /* no process was read since then */
    bool was_read;
};

/* Without a job there is nothing to refresh, read or glance at: the caller does not.
 * -ESRCH: no such process; -ENOTSUP: a cgroup was required and cannot be had (its reason is
 * in job->meters.job_cgroup.reason). The caller ends the job with job_done(), after a failure too. */
int job_init(struct job *job, const struct root *root, const struct job_options *options,
             uint64_t now_ns);
void job_done(struct job *job);

/* Looks at every process that may have changed (activity.h), finds new ones and accounts for those that
 * ended. `is_thorough` reads the slow files too. */
void job_refresh(struct job *job, uint64_t now_ns, bool is_thorough);

/* A look between samples, for peaks: whether the job runs and, if it may have grown, its resident
 * sizes. job->activity tells what it does. */
void job_glance(struct job *job, uint64_t now_ns);

/* Reads the sentinel: the memory of the job cgroup or, without one, the CPU time of the job and, if it has run, the
 * memory of the machine that no file backs. True: the job may have grown since the last glance, so that the next one reads all sizes. */
bool job_watch_memory(struct job *job);

/* The address space of the processes that use GPUs, in which GPU memory that they allocate or free has its
 * addresses. 0: there are none. */
uint64_t job_gpu_space_bytes(struct job *job);

/* Takes the events of processes that were born or ended. Those that live are looked at; between two
 * samples only if they have lived for a while. */
void job_take_events(struct job *job, uint64_t now_ns, bool is_sample);

/* A child of ours has ended and is about to be reaped: takes its last figures. */
void job_child_ended(struct job *job, pid_t pid, uint64_t now_ns);

void job_read(struct job *job, uint64_t now_ns, struct job_reading *ret);

/* What a reading says of a metric, and where that comes from. False: the job does not measure it. */
bool job_measure(const struct job *job, const struct job_reading *reading, enum metric metric,
                 struct measure *ret);

/* CPU time of the job so far in one number that nobody of it escapes; UNKNOWN where there is none. */
uint64_t job_whole_cpu_ns(struct job *job);

/* CPU time of the job so far by the cheapest source; UNKNOWN where none is cheap. Tells
 * whether the job is at rest. */
uint64_t job_quick_cpu_ns(struct job *job);

/* What each process was and used, ended or not, as process_table_finish() leaves it. `job_cpu_ns`: of
 * the job, as it is reported. The caller ends *ret with process_table_done(). Fails with -ENOMEM. */
int job_list_processes(const struct job *job, uint64_t job_cpu_ns, struct process_table *ret);

/* A process of the job has so much memory on GPUs. */
void job_note_gpu(struct job *job, pid_t pid, uint64_t bytes);

/* ---- among the files of the job ---- */

/* process_notes.c: a process was opened; its command may be read; so may those that were too young for it
 * before; all were read for the first time; it has left, and `was_inherited`: a parent has its counts. */
void job_note_start(struct job *job, struct member *member, uint64_t now_ns);
void job_note_command(struct job *job, struct member *member);
void job_note_newborn(struct job *job);
void job_note_first_reading(struct job *job);
void job_note_end(struct job *job, struct member *member, bool was_inherited);

/* The time of the live machine, or else the time given. */
uint64_t job_now_ns(const struct job *job, uint64_t now_ns);

struct look job_look(const struct job *job, uint64_t now_ns, bool is_thorough);
void job_add_member(struct job *job, const struct look *look, pid_t pid);
/* Reads the CPU time into a reading to which all processes have been added. */
void job_read_cpu(struct job *job, uint64_t now_ns, struct job_reading *reading);
/* Lets go of members that have turned out to be agents. */
void job_drop_agents(struct job *job);
/* An agent is not counted; one that runs, nor its go-between, which was gone at once. */
void job_disown(struct job *job, const struct member *agent);
void job_search(struct job *job, const struct look *look);
/* Notes the children that the tracker has besides the job: its program may have started them before it called
 * exec. */
void job_note_inherited(struct job *job);
bool job_is_inherited(const struct job *job, struct process_id id);

/* Until it calls exec, what we forked is a copy of ourselves: none of its memory is the
 * job's. */
void job_check_program(struct job *job, struct member *main, const struct look *look);

/* Notes what outlives the process: peaks, main's CPU time. */
void job_remember(struct job *job, struct member *member);
void job_account_exits(struct job *job);
void job_read_bounds(struct job *job, struct job_reading *reading);
/* measures.c: the sources that a reading starts with; and what is unknown because files of a process may not
 * be read. */
void job_label(const struct job *job, struct job_reading *reading);
void job_label_denied(const struct job *job, struct job_reading *reading);

/* glance.c: reads how many huge pages of the machine are in use. Those of the processes are read if that number
 * has changed. */
void job_note_huge_pages(struct job *job);
/* The swap space of the job: forked processes have the same pages there, together no more than the machine has. */
uint64_t job_cap_swap(const struct job *job, uint64_t sum_bytes);
/* All that is swapped out, and all huge pages, was read. */
void job_note_status_read(struct job *job);

/* The CPU time of the job so far; UNKNOWN: not known. */
void job_note_cpu(struct job *job, uint64_t now_ns, uint64_t cpu_ns);

/* memory_totals.c */
/* `is_glance`: between samples. */
void job_read_discount(const struct job *job, struct group_bytes *ret);
void job_read_memory(struct job *job, bool is_glance, struct memory_estimate *ret);
/* Whether a count that the job's cgroup keeps in this hierarchy is exact. */
bool job_cgroup_is_exact(const struct job *job, const struct job_reading *reading,
                         enum cgroup_tree tree); /* totals.c */
/* Whether the cgroup's peak has risen since the last reading above all that was seen. Then the I/O of all
 * processes is read, to tell page cache from memory of processes. */
bool job_missed_cgroup_peak(struct job *job, uint64_t now_ns,
                            const struct job_cgroup_reading *cgroup);
void job_raise_to_peaks(struct job *job, struct job_reading *reading);
void job_forget_unseen(const struct job *job, struct memory_estimate *memory);
void job_raise_threads(struct job *job, uint64_t main, uint64_t descendants); /* totals.c */

/* Whether the exit records explain the largest ru_maxrss. A record has the peak of the last program
 * that a process ran, ru_maxrss that of all of them: after an exec() with much memory, records are no
 * bound. */
bool job_records_hold(const struct job *job);

#endif
