/* SPDX-License-Identifier: Apache-2.0 */
/*
 * member.h - one process of the job: its open files and last readings.
 *
 * A look at a sleeping process costs one system call: if its CPU clock has not advanced, it has
 * not forked, waited, read, written or grown. Only its resident size can still shrink, by
 * reclaim, so the size is read now and then (activity.h).
 *
 * A child created by vfork, posix_spawn or clone(CLONE_VM) runs in its parent's memory, usually
 * until it calls exec. That memory is counted for the parent. Whether the child still runs in
 * it is checked before its sizes are read: once a process has its own memory, it never borrows
 * again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/amount.h"
#include "base/clock.h"
#include "base/measure.h"
#include "base/process_id.h"
#include "base/root.h"
#include "job/process_table.h"
#include "source/proc/usage.h"

/* Settings of a look. */
struct look {
    const struct root *root;
    uint64_t now_ns;
    bool uses_clocks;    /* read processes' CPU clocks */
    bool is_thorough;    /* read io and status even if the clock has not advanced */
    bool passes_over;    /* skip processes that have not run since the last look */
    bool reads_status;   /* read status of sleeping processes, too: they may be swapped out */
    bool has_huge_pages; /* huge pages are in use: a new member may have inherited them */
    bool was_born;     /* new members started during the run: their peak so far is their size */
    bool is_main_only; /* children that a process waited for do not count */
};

struct process_io {
    uint64_t read_bytes, written_bytes;
};

struct member_files {
    struct cached_file stat, statm, io, children;
};

#define MEMBER_FILES_CLOSED                                                            \
    (struct member_files)                                                              \
    {                                                                                  \
        CACHED_FILE_CLOSED, CACHED_FILE_CLOSED, CACHED_FILE_CLOSED, CACHED_FILE_CLOSED \
    }

/* The last readings of a process. */
struct member_reading {
    struct clock_span clock_span; /* when the clock was read, for the main process */
    uint64_t clock_ns;            /* its CPU clock; or UNKNOWN */
    uint64_t cpu_ns;    /* its own CPU time, exited threads included: from the clock or ticks */
    uint64_t rss_bytes; /* 0 once it is a zombie */
    uint64_t shared_bytes;   /* the part of rss backed by files or shared memory */
    uint64_t rss_peak_bytes; /* largest VmHWM or rss read */
    uint64_t peak_read_ns;   /* when VmHWM was last read; 0: never */
    uint64_t swap_bytes;
    uint64_t hugetlb_bytes; /* not part of any resident size */
    /* Peak of resident memory plus huge pages; 0: no huge pages were seen. */
    uint64_t with_huge_bytes;
    uint64_t threads;
    uint64_t faults;        /* minor and major */
    uint64_t child_faults;  /* faults of children that it waited for */
    uint64_t size_faults;   /* `faults` before rss_bytes was last read */
    uint64_t before_faults; /* `faults` when the sentinel was reset, or at opening */
    pid_t memory_tid;       /* the thread to read memory from; 0: the first */
    pid_t memory_owner;     /* the parent that created the process; see borrows_memory */
    bool borrows_memory;    /* the process still runs in the memory of memory_owner */
    /* The process ran in its parent's memory earlier: its ru_maxrss may be the parent's. */
    bool has_borrowed;
    bool is_zombie;
    bool is_being_reaped; /* the parent's counts already include this process */
    bool is_busy;      /* the process runs, or waits for a CPU or disk, so it is not asleep */
    bool io_is_denied; /* no permission to read /proc/PID/io: the I/O is unknown */
    bool io_is_stale;  /* the I/O could not be read at the last look */

    uint64_t stat_clock_ns;     /* clock_ns when stat was last read; UNKNOWN: never */
    uint64_t slow_clock_ns;     /* clock_ns when io and status were last read */
    uint64_t slow_read_ns;      /* when io and status were last read */
    uint64_t children_clock_ns; /* clock_ns at the last list of its children; UNKNOWN: never */
    uint64_t placed_rss_bytes;  /* rss_bytes at the last cgroup_escape_check() */
    /* The last search that found the process in the list of the job cgroup. */
    uint64_t listed_by;
};

/* The part of this process in the counts of the job. */
struct member_account {
    struct usage usage; /* usage of itself and of the children it waited for */
    struct usage base;  /* the part of the usage from before it joined the job */
    /* Page faults of waited-for children, including children without memory of their own: all
     * of them at the last look, and the part from children whose exits are accounted for. */
    uint64_t waited_faults, accounted_faults;
    /* If children do not count: I/O of exited threads and children, the part of it due to
     * children, and waited_faults when that I/O was read. */
    uint64_t inherited_io[IO_COUNTERS], children_io[IO_COUNTERS], io_faults;
    bool has_left;     /* the process exited and was reaped */
    bool is_inherited; /* a process that waited for this one has its final usage */
    bool is_counted;   /* the job's account already includes the final usage */
};

/* State at the last survey of the process's memory (job/memory/survey.h), or at its start. */
struct member_survey {
    bool is_known;
    bool is_walked;     /* the last planned survey walks its page tables */
    unsigned char kind; /* its group of similar siblings in the survey, from 1; 0: none */
    uint64_t own_bytes;
    uint64_t private_bytes;
    uint64_t shared_huge_bytes; /* huge pages of hugetlbfs */
    uint64_t faults;
};

/* For the process table, see process_notes.c. */
struct member_notes {
    char *command;           /* safe text; owned; NULL: unknown */
    uint64_t named_cpu_ns;   /* seen_cpu_ns when its name was last checked between samples */
    bool command_is_due;     /* read its command again, after exec or if the name has changed */
    bool is_disowned;        /* the process turned out not to belong to the job */
    bool has_wait_status;    /* `wait_status` is valid */
    int wait_status;         /* as wait(2) reports it */
    uint64_t started_ns;     /* monotonic; 0: unknown */
    uint64_t seen_cpu_ns;    /* its own CPU time, including looks between samples */
    uint64_t seen_ns;        /* when seen_cpu_ns was read */
    uint64_t gpu_peak_bytes; /* UNKNOWN: never seen on a GPU */
    /* Part of the process's I/O counts: of known children, or from before the run. */
    struct process_io foreign_io;
    struct process_io recorded_io; /* from the exit records of its threads */
    uint64_t recorded_wait_ns;     /* time waited for a CPU, from the exit records */
    uint64_t first_wait_ns;        /* time waited for a CPU before the run */
    bool has_record;               /* the last exit record has arrived */
    bool lacks_records;            /* records of its other threads may be missing */
    uint64_t recorded_cpu_ns;      /* CPU time in the last exit record */
    uint64_t first_cpu_ns;         /* cpu_ns at the first reading of the job */
    uint64_t first_waited_faults;  /* waited_faults at the first reading of the job */
};

struct member {
    struct process_id id;
    pid_t parent_pid;
    char comm[PROCESS_NAME_SIZE]; /* untrusted text */
    enum member_group group;      /* GROUP_MAIN or GROUP_DESCENDANTS */
    bool has_exec;

    struct member_files files;
    struct member_reading reading;
    struct member_account account;
    struct member_survey survey;
    struct member_notes notes;
};

/* Identifies and reads a process. -ESRCH: it has exited. The caller closes *ret. */
int member_open(const struct look *look, pid_t pid, struct member *ret);
void member_close(struct member *member);

/* Returns the PID or TID under which a process's memory is read. */
static inline pid_t member_memory_pid(const struct member *member)
{
    return member->reading.memory_tid != 0 ? member->reading.memory_tid : member->id.pid;
}

/* Whether the process has run since it was last read in full. */
bool member_has_run(const struct member *member);

/* Reads the values that may have changed since the last look. Sets is_zombie and has_left. */
void member_look(struct member *member, const struct look *look);

/* Reads only the page faults of a process so far. Returns the last value if the read fails. */
uint64_t member_read_faults(struct member *member, const struct root *root);

/* Returns the page faults of the children that a process has waited for so far. */
uint64_t member_waited_faults(struct member *member, const struct root *root);

/* Returns the usage of a process since it joined the job. */
struct usage member_usage(const struct member *member);

/* Reads only resident size and CPU clock: the cheapest look, for peaks between samples. */
void member_glance(struct member *member, const struct look *look);

/* Reads the size of a process's address space; 0 if it was released. */
uint64_t member_space_bytes(struct member *member, const struct root *root);

/* Whether the process is a fork that still runs its parent's program. The main process of an
 * attached job may be such a fork too, but its parent is not part of the job. */
static inline bool member_is_copy(const struct member *member)
{
    return member->group != GROUP_MAIN && !member->has_exec;
}

/* Returns the peak memory of a process, from our readings or the kernel's mark. */
static inline uint64_t member_peak_bytes(const struct member *member)
{
    return larger(member->reading.rss_peak_bytes, member->reading.with_huge_bytes);
}

/* Reads only /proc/PID/status: peak, swapped memory and huge pages. Does nothing for a zombie. */
void member_read_status(struct member *member, const struct root *root);

/* Reads the name of a process again: it may have called exec. False: the process has exited. */
bool member_read_name(struct member *member, const struct root *root);

/*
 * Whether a process is about to call exec, or has just called it.
 *
 * A child created by vfork or posix_spawn has its parent's memory until it calls exec; if that
 * memory were counted, a large parent would count twice. For a moment after exec a process has
 * no arguments, which distinguish an agent (agents.h) from another spoor process. Both states
 * last about a millisecond of CPU time, but the process may have to wait for a CPU. If they
 * last longer, the process is counted as it is.
 */
bool member_is_pre_exec(const struct root *root, const struct member *member);
