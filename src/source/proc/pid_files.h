/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pid_files.h - the files of a process in /proc, and two related system calls.
 *
 * A file that is read at every sample is kept open by its reader (struct cached_file). Readers
 * return -ENOENT or -ESRCH if the process has exited, and -EBADMSG if the text has another
 * format.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"

/* ---- /proc/PID/stat: identity and usage of a process ------------------------ */

struct pid_stat {
    pid_t pid;
    pid_t parent_pid;
    char comm[64];  /* hostile text; at most 15 bytes, 63 for kernel threads */
    char state;     /* 'R', 'S', 'D', 'T', 'Z', ... */
    bool has_exec;  /* 9: the process runs its own program, not a copy of its parent's */
    bool is_ending; /* 9: the first thread is exiting or has exited; others may continue */
    uint64_t minor_faults;       /* 10 */
    uint64_t child_minor_faults; /* 11: faults of waited-for children */
    uint64_t major_faults;       /* 12 */
    uint64_t child_major_faults; /* 13: faults of waited-for children */
    uint64_t user_ticks;         /* 14 */
    uint64_t system_ticks;       /* 15 */
    uint64_t child_user_ticks;   /* 16: ticks of waited-for children and their children */
    uint64_t child_system_ticks; /* 17 */
    uint64_t threads;            /* 20 */
    uint64_t start_ticks; /* 22: since boot; identifies a process together with the PID */
};

/* A child of fork() takes 12 page faults or more before it exits. A child with fewer had no
 * memory of its own: a child of vfork() that did not call exec, such as the process that
 * starts an agent. */
enum { FORK_FAULTS_MIN = 8 };

static inline bool pid_stat_is_zombie(const struct pid_stat *stat)
{
    return stat->state == 'Z' || stat->state == 'X';
}

/* -EBADMSG: the text has another format. */
int pid_stat_parse(const char *text, struct pid_stat *ret);

/* -ENOENT or -ESRCH: the process has exited. */
int pid_stat_read(struct cached_file *kept, const struct root *root, pid_t pid,
                  struct pid_stat *ret);

/* ---- /proc/PID/statm: the cheapest look at a process's memory -------------- */

/* All members are 0 for a zombie. */
struct pid_statm {
    uint64_t size_pages;
    uint64_t resident_pages;
    uint64_t shared_pages; /* the part of resident that is backed by a file or shared memory */
};

int pid_statm_parse(const char *text, struct pid_statm *ret);
int pid_statm_read(struct cached_file *kept, const struct root *root, pid_t pid,
                   struct pid_statm *ret);

/* ---- /proc/PID/status: high-water mark, swap, thread group ----------------- */

/* A member is UNKNOWN if its line is missing, like the Vm lines of a zombie. */
struct pid_status {
    uint64_t thread_group;   /* Tgid: differs from the PID if that is the PID of a thread */
    uint64_t uid;            /* real user */
    uint64_t rss_peak_bytes; /* VmHWM; exec resets it */
    uint64_t rss_shmem_bytes;
    uint64_t swap_bytes;
    uint64_t hugetlb_bytes; /* pages of hugetlbfs, not included above */
    uint64_t threads;
    /* SigIgn contains SIGCHLD: children of the process are never waited for. */
    bool ignores_child_signal;
};

/* -EBADMSG: the text has another format. */
int pid_status_parse(const char *text, struct pid_status *ret);
int pid_status_read(const struct root *root, pid_t pid, struct pid_status *ret);

/* /proc/PID/io: bytes read and written by a process.
 *
 * The file of a process includes the children it waited for. Needs ptrace permission:
 * -EACCES for a process of another user. */

struct pid_io {
    uint64_t read_chars;    /* bytes that read calls returned */
    uint64_t written_chars; /* bytes passed to write calls */
    uint64_t read_bytes;    /* fetched from storage */
    uint64_t written_bytes; /* sent to storage, counted when a page is dirtied */
};

int pid_io_parse(const char *text, struct pid_io *ret);
int pid_io_read(struct cached_file *kept, const struct root *root, pid_t pid,
                struct pid_io *ret);
/* Reads the I/O of one thread alone. The file of a process also includes exited threads and the
 * children it waited for. */
int thread_io_read(const struct root *root, pid_t pid, pid_t tid, struct pid_io *ret);

/* ---- The arguments of a process, for a run that did not start it ----------- */

/* Splits the file's text, arguments that each end with a NUL, into at most `capacity` - 1
 * pointers and a NULL. Returns their number. The pointers point into `text`, which must be
 * followed by one more NUL. */
size_t cmdline_split(char *text, size_t length, const char **arguments, size_t capacity);

/* Reads the arguments, truncated to `size`, NUL-terminated. Returns their length; 0: there are
 * none (a zombie, or a process during exec). Hostile text. */
ssize_t pid_cmdline_read(const struct root *root, pid_t pid, char *text, size_t size);

/* ---- Run and wait times of a thread (/proc/TID/schedstat) ------------------- */

/* Totals over a thread's lifetime. */
struct schedstat {
    uint64_t run_ns;    /* CPU time */
    uint64_t waited_ns; /* time spent waiting for a CPU, without the current wait */
};

/* Reads the times. -ENOENT: there is no such thread, or the kernel does not count these
 * times. */
int schedstat_read(const struct root *root, pid_t thread_id, struct schedstat *ret);

int schedstat_parse(const char *text, struct schedstat *ret);

/* The CPU clock of a process: nanoseconds of CPU time of all its threads, exited ones
 * included, without its children.
 *
 * Takes one system call, 0.2 us, for any process of any user, even a zombie. A PID does not
 * identify a process: read an open file first. */

/* Reads the clock. -ENOTSUP: the root is not the live machine. -ESRCH: no such process. */
int cpu_clock_read(const struct root *root, pid_t pid, uint64_t *ret_ns);

/* Whether two processes have the same memory.
 *
 * A child created by vfork() or posix_spawn() runs in its parent's memory until it calls exec.
 * Until then each of the two seems to have all of that memory as private memory. */

/* Takes one system call, 0.3 us. Returns false if unknown: not the live machine, another user's
 * process, a kernel without kcmp. */
bool same_memory(const struct root *root, pid_t a, pid_t b);

/* Whether our PIDs are the machine's PIDs: we are in its first PID namespace. */
bool pid_namespace_is_first(const struct root *root);
