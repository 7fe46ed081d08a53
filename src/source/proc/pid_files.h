/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pid_files.h - the files of a process in /proc, and two system calls that compare with them.
 *
 * A file that is read at every sample is kept open by its reader (struct cached_file). A process that has
 * ended gives -ENOENT or -ESRCH; text that is not such a file gives -EBADMSG.
 */
#ifndef SOURCE_PROC_PID_FILES_H
#define SOURCE_PROC_PID_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"

/* ---- /proc/PID/stat: who a process is and what it has used ----------------- */

struct pid_stat {
    pid_t pid;
    pid_t parent_pid;
    char comm[64];         /* hostile text; the kernel keeps 15 bytes, 63 of its own threads */
    char state;            /* 'R', 'S', 'D', 'T', 'Z', ... */
    bool has_exec;         /* 9: it runs a program of its own, not a copy of its parent's */
    bool is_ending;        /* 9: its first thread is ending, or has; others may go on */
    uint64_t minor_faults; /* 10 */
    uint64_t child_minor_faults; /* 11: of waited-for children */
    uint64_t major_faults;       /* 12 */
    uint64_t child_major_faults; /* 13: of waited-for children */
    uint64_t user_ticks;         /* 14 */
    uint64_t system_ticks;       /* 15 */
    uint64_t child_user_ticks;   /* 16: of waited-for children and theirs */
    uint64_t child_system_ticks; /* 17 */
    uint64_t threads;            /* 20 */
    uint64_t start_ticks;        /* 22: since boot; with the pid it names a process */
};

/* A child of fork() takes 12 page faults or more before it ends. One that took fewer had no memory of
 * its own: a child of vfork() that did not call exec, such as the one that starts an agent. */
enum { FORK_FAULTS_MIN = 8 };

static inline bool pid_stat_is_zombie(const struct pid_stat *stat)
{
    return stat->state == 'Z' || stat->state == 'X';
}

/* -EBADMSG: not such a line. */
int pid_stat_parse(const char *text, struct pid_stat *ret);

/* -ENOENT or -ESRCH: the process has ended. */
int pid_stat_read(struct cached_file *kept, const struct root *root, pid_t pid,
                  struct pid_stat *ret);
int pid_stat_read_once(const struct root *root, pid_t pid, struct pid_stat *ret);

/* ---- /proc/PID/statm: the cheapest look at a process's memory -------------- */

/* All 0 for a process that has ended and was not reaped yet. */
struct pid_statm {
    uint64_t size_pages;
    uint64_t resident_pages;
    uint64_t shared_pages; /* the part of resident that a file or shared memory backs */
};

int pid_statm_parse(const char *text, struct pid_statm *ret);
int pid_statm_read(struct cached_file *kept, const struct root *root, pid_t pid,
                   struct pid_statm *ret);

/* ---- /proc/PID/status: high-water mark, swap, thread group ----------------- */

/* UNKNOWN where the line is missing, as the Vm lines are for a zombie. */
struct pid_status {
    uint64_t thread_group;   /* Tgid: differs from the pid where that names a thread */
    uint64_t uid;            /* real user */
    uint64_t rss_peak_bytes; /* VmHWM; a new program (exec) starts it anew */
    uint64_t rss_shmem_bytes;
    uint64_t swap_bytes;
    uint64_t hugetlb_bytes; /* pages of hugetlbfs, which are in none of the above */
    uint64_t threads;
    bool ignores_child_signal; /* SigIgn holds SIGCHLD: its children are never waited for */
};

/* -EBADMSG: not such a file. */
int pid_status_parse(const char *text, struct pid_status *ret);
int pid_status_read(const struct root *root, pid_t pid, struct pid_status *ret);

/* /proc/PID/io: what a process has read and written.
 *
 * The file of a process already holds what its waited-for children did. Needs
 * the rights of a debugger: -EACCES for a process of another user. */

struct pid_io {
    uint64_t read_chars;    /* bytes that read calls returned */
    uint64_t written_chars; /* bytes that write calls took */
    uint64_t read_bytes;    /* fetched from storage */
    uint64_t written_bytes; /* sent to storage, counted when a page is dirtied */
};

int pid_io_parse(const char *text, struct pid_io *ret);
int pid_io_read(struct cached_file *kept, const struct root *root, pid_t pid,
                struct pid_io *ret);
/* Of one thread alone: that of a process includes ended threads and children that it waited for. */
int thread_io_read(const struct root *root, pid_t pid, pid_t tid, struct pid_io *ret);

/* ---- The arguments of a process, for a run that did not start it ----------- */

/* Splits the file's text, arguments that each end with a NUL, into at most
 * `capacity` - 1 pointers and a NULL. Returns how many. The pointers lead into `text`,
 * which must be followed by one more NUL. */
size_t cmdline_split(char *text, size_t length, const char **arguments, size_t capacity);

/* Reads the arguments, cut to `size`, and ends them with a NUL. Returns the length; 0: there are none (a zombie,
 * a process during exec). Hostile text. */
ssize_t pid_cmdline_read(const struct root *root, pid_t pid, char *text, size_t size);

/* ---- What a thread had of the processors (/proc/TID/schedstat) ------------- */

/* In all its life. */
struct schedstat {
    uint64_t run_ns;    /* CPU time */
    uint64_t waited_ns; /* for a processor, up to the last time that it got one */
};

/* -ENOENT: there is no such thread, or the kernel does not count. */
int schedstat_read(const struct root *root, pid_t thread_id, struct schedstat *ret);

int schedstat_parse(const char *text, struct schedstat *ret);

/* The CPU clock of a process: nanoseconds of CPU time of all its
 * threads, ended ones included, its children apart.
 *
 * One system call, 0.2 us, for any process of any user, also one that has ended
 * and was not reaped. A pid says nothing of who it is: ask a kept file first. */

/* -ENOTSUP: the root is not the live machine. -ESRCH: no such process. */
int cpu_clock_read(const struct root *root, pid_t pid, uint64_t *ret_ns);

/* Do two processes have one memory?
 *
 * A child made by vfork() or posix_spawn() runs in its parent's memory until it calls
 * exec. Each of the two seems to have all of it, mapped by nobody else. */

/* One system call, 0.3 us. False where it cannot be told: not the live machine, another
 * user's process, a kernel without kcmp. */
bool same_memory(const struct root *root, pid_t a, pid_t b);

#endif
