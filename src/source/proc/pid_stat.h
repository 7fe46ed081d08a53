/* SPDX-License-Identifier: Apache-2.0 */
/* pid_stat.h - /proc/PID/stat: who a process is and what it has used. */
#ifndef SOURCE_PROC_PID_STAT_H
#define SOURCE_PROC_PID_STAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"

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
    uint64_t rss_pages;          /* 24 */
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

#endif
