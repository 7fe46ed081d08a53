/* SPDX-License-Identifier: Apache-2.0 */
/*
 * member.h - one process of the job: its open files and what was last read.
 *
 * A look costs one system call while the process rests: a process whose CPU clock
 * has not moved has not run, so it has not forked, waited, read, written or grown.
 * Only its resident size can fall by itself (reclaim), so that is read now and then (activity.h).
 *
 * A child made by vfork, posix_spawn or clone(CLONE_VM) runs in its parent's memory, most often
 * until it calls exec. That memory counts for the parent. Whether it still does so is asked before
 * its sizes are read, since it never comes back to that state.
 */
#ifndef JOB_MEMBER_H
#define JOB_MEMBER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arithmetic.h"
#include "base/clock.h"
#include "base/process_id.h"
#include "base/root.h"
#include "job/process_table.h"
#include "job/usage.h"

/* How a look is taken. */
struct look {
    const struct root *root;
    uint64_t now_ns;
    bool uses_clocks;    /* ask processes' CPU clocks */
    bool is_thorough;    /* read io and status whatever the clock says */
    bool passes_over;    /* what has not run since it was last looked at */
    bool reads_status;   /* also of what sleeps: others may have it swapped out */
    bool has_huge_pages; /* some are in use: what is opened may have them from its parent */
    bool was_born;       /* what is opened began while we looked: its peak is its size so far */
    bool is_main_only;   /* children that a process waited for do not count */
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

/* The values that were last read. */
struct member_reading {
    struct clock_span clock_span; /* when it was read, if it is the job's first process */
    uint64_t clock_ns;            /* its CPU clock; UNKNOWN if there is none */
    uint64_t cpu_ns;              /* of itself, ended threads included: the clock, or ticks */
    uint64_t rss_bytes;           /* 0 once it is a zombie */
    uint64_t shared_bytes;        /* the part of rss that files or shared memory back */
    uint64_t rss_peak_bytes;      /* largest VmHWM read, or rss seen */
    uint64_t swap_bytes;
    uint64_t hugetlb_bytes;   /* in no resident size */
    uint64_t with_huge_bytes; /* the most of both together, if it had huge pages */
    uint64_t threads;
    uint64_t faults;       /* minor and major */
    uint64_t child_faults; /* likewise, of children that it waited for */
    uint64_t size_faults;  /* `faults` as known before its size was last read */
    pid_t memory_tid;      /* the thread that its memory is read from; 0: the first */
    pid_t memory_owner;    /* the parent that made it; see borrows_memory */
    bool borrows_memory; /* it has no memory of its own yet, but runs in that of memory_owner */
    bool has_borrowed;   /* it did once: its ru_maxrss is not its own alone */
    bool is_zombie;
    bool is_being_reaped; /* its parent has its counts already */
    bool is_busy;      /* it runs, waits for a CPU, or for a disk: it has not gone to sleep */
    bool io_is_denied; /* we may not read it: what it reads and writes is unknown */
    bool io_is_stale;  /* it could not be read at the last look */

    uint64_t stat_clock_ns; /* clock_ns when stat was last read; UNKNOWN: never */
    uint64_t slow_clock_ns; /* likewise for io and status */
    uint64_t slow_read_ns;  /* when those were last read */
    uint64_t
        children_clock_ns;     /* clock_ns when its children were last listed; UNKNOWN: never */
    uint64_t placed_rss_bytes; /* rss_bytes at the last cgroup_escape_check() */
    uint64_t listed_by;        /* the last search that found it in the list of the job cgroup */
};

/* Its part in the counts of the job. */
struct member_account {
    struct usage usage; /* of itself and the children it waited for */
    struct usage base;  /* the part of it from before it joined the job */
    /* Page faults of children that it waited for, including children that had no memory of their own: now, and when
     * exited processes were last accounted for. */
    uint64_t waited_faults, accounted_faults;
    /* If children do not count: I/O that no living thread has, the children's part of it, and waited_faults before
     * that was read. */
    uint64_t inherited_io[IO_COUNTERS], children_io[IO_COUNTERS], io_faults;
    bool has_left;     /* it ended and was reaped */
    bool is_inherited; /* a process that waited for it has its final usage */
    bool is_counted;   /* its final usage is in the job's account already */
};

/* As of the last survey of its memory (job/memory/survey.h), or of its start. */
struct member_survey {
    bool is_known;
    bool is_walked;     /* by the survey that was last planned */
    unsigned char kind; /* likewise: of forked siblings that look alike, from 1; 0: of none */
    uint64_t own_bytes;
    uint64_t private_bytes;
    uint64_t faults;
};

/* For the process table, see process_notes.c. */
struct member_notes {
    char *command;           /* safe text; owned; NULL: not known */
    uint64_t named_cpu_ns;   /* seen_cpu_ns when its name was last checked between samples */
    bool command_is_due;     /* to be read, also after exec or if the name has changed */
    bool is_disowned;        /* it turned out not to belong to the job */
    bool has_wait_status;    /* it has ended so */
    int wait_status;         /* as wait(2) reports it */
    uint64_t started_ns;     /* monotonic; 0: not known */
    uint64_t seen_cpu_ns;    /* its own CPU time, also as seen between samples */
    uint64_t seen_ns;        /* when that was */
    uint64_t gpu_peak_bytes; /* UNKNOWN: it was not seen on a GPU */
    struct process_io
        foreign_io; /* in its counts, of children that are known and from before the run */
    struct process_io recorded_io; /* of the exit records of its threads */
    bool has_record;               /* the last of them has come */
    uint64_t recorded_cpu_ns;      /* its CPU time by that */
    uint64_t first_cpu_ns;         /* cpu_ns at the first reading of the job */
};

struct member {
    struct process_id id;
    pid_t parent_pid;
    char comm[PROCESS_NAME_SIZE]; /* hostile text */
    bool is_descendant;           /* not the job's first process */
    bool has_exec;

    struct member_files files;
    struct member_reading reading;
    struct member_account account;
    struct member_survey survey;
    struct member_notes notes;
};

/* Identifies the process and reads it. -ESRCH: it has ended. On success the caller
 * closes *ret. */
int member_open(const struct look *look, pid_t pid, struct member *ret);
void member_close(struct member *member);

/* The number under which files about its memory are found. */
static inline pid_t member_memory_pid(const struct member *member)
{
    return member->reading.memory_tid != 0 ? member->reading.memory_tid : member->id.pid;
}

/* Has it run since all of it was read? */
bool member_has_run(const struct member *member);

/* Reads what may have changed. Sets is_zombie and has_left. */
void member_look(struct member *member, const struct look *look);

/* Reads only its page faults so far, and the faults of the children that it waited for. The faults stay as they
 * were if the read fails. */
uint64_t member_read_faults(struct member *member, const struct root *root);

/* Its usage since it joined the job. */
struct usage member_usage(const struct member *member);

/* Reads the resident size and the CPU clock alone: the cheapest look, for peaks between samples. */
void member_glance(struct member *member, const struct look *look);

/* Reads the size of its address space; 0 if it has none any more. */
uint64_t member_space_bytes(struct member *member, const struct root *root);

/* A fork that still runs its parent's program. The main process of a job that was attached to may be
 * one too, but its parent is not part of the job. */
static inline bool member_is_copy(const struct member *member)
{
    return member->is_descendant && !member->has_exec;
}

/* The most memory it was seen to have, or the kernel saw. */
static inline uint64_t member_peak_bytes(const struct member *member)
{
    return larger(member->reading.rss_peak_bytes, member->reading.with_huge_bytes);
}

/* Reads its status alone: how much of it is swapped out, and its huge pages. */
void member_read_status(struct member *member, const struct root *root);

/* Reads its name again: it may have called exec. */
void member_read_name(struct member *member, const struct root *root);

/*
 * Whether it is about to call exec, or has just called it.
 *
 * A child made by vfork or posix_spawn has its parent's memory until it calls exec; if it were
 * counted, a large parent would count twice. For a moment after exec a process has no arguments,
 * which distinguish an agent (agents.h) from another spoor. Both states last about a millisecond
 * of CPU time, which the process may have to wait for. If they last longer, the process is counted
 * as it is.
 */
bool member_is_pre_exec(const struct root *root, const struct member *member);

#endif
