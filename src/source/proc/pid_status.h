/* SPDX-License-Identifier: Apache-2.0 */
/* pid_status.h - /proc/PID/status: high-water mark, swap, thread group. */
#ifndef SOURCE_PROC_PID_STATUS_H
#define SOURCE_PROC_PID_STATUS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"

/* UNKNOWN where the line is missing, as the Vm lines are for a zombie. */
struct pid_status {
    uint64_t thread_group;   /* Tgid: differs from the pid where that names a thread */
    uint64_t uid;            /* real user */
    uint64_t rss_peak_bytes; /* VmHWM; a new program (exec) starts it anew */
    uint64_t rss_anon_bytes;
    uint64_t rss_file_bytes;
    uint64_t rss_shmem_bytes;
    uint64_t swap_bytes;
    uint64_t hugetlb_bytes; /* pages of hugetlbfs, which are in none of the above */
    uint64_t threads;
    bool ignores_child_signal; /* SigIgn holds SIGCHLD: its children are never waited for */
};

/* -EBADMSG: not such a file. */
int pid_status_parse(const char *text, struct pid_status *ret);
int pid_status_read(const struct root *root, pid_t pid, struct pid_status *ret);

#endif
