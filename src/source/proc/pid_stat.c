/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pid_stat.c - parse /proc/<pid>/stat.
 *
 * The file is one line: "42 (name) S 1 42 42 ...". The name may hold anything,
 * parentheses, spaces and newlines included, but no later field holds a ')'. So
 * the name ends at the last ')' of the line, and only there.
 */
#include "source/proc/pid_stat.h"

#include <errno.h>
#include <string.h>

#include "base/parse.h"

/* Columns of proc_pid_stat(5), numbered as there. */
enum {
    COL_PPID = 4,
    COL_FLAGS = 9,
    COL_MINFLT = 10,
    COL_CMINFLT = 11,
    COL_MAJFLT = 12,
    COL_CMAJFLT = 13,
    COL_UTIME = 14,
    COL_STIME = 15,
    COL_CUTIME = 16,
    COL_CSTIME = 17,
    COL_NUM_THREADS = 20,
    COL_STARTTIME = 22,
    COL_RSS = 24,
    COL_LAST = COL_RSS,
};

/* PF_FORKNOEXEC of the kernel's sched.h: forked, and no exec since. */
#define FLAG_FORKED 0x40u
/* PF_EXITING: it gives up what it holds, its memory before its open files. */
#define FLAG_EXITING 0x4u

static int parse_name(const char *text, struct pid_stat *stat, const char **ret_end)
{
    const char *name = strchr(text, '(');
    const char *end = strrchr(text, ')');
    size_t length;

    if (!name || !end || end < name)
        return -EBADMSG;
    length = (size_t)(end - name) - 1;
    if (length >= sizeof(stat->comm))
        return -EBADMSG;
    memcpy(stat->comm, name + 1, length);
    *ret_end = end;
    return 0;
}

int pid_stat_parse(const char *text, struct pid_stat *ret)
{
    int64_t column[COL_LAST + 1] = { 0 };
    struct pid_stat stat = { 0 };
    const char *cursor = text;
    const char *name_end;
    int64_t pid;

    if (parse_i64(&cursor, &pid) < 0 || pid <= 0 || pid > INT32_MAX ||
        parse_name(text, &stat, &name_end) < 0)
        return -EBADMSG;
    if (name_end[1] != ' ' || name_end[2] == '\0')
        return -EBADMSG;
    stat.state = name_end[2];
    cursor = name_end + 3;
    for (int i = COL_PPID; i <= COL_LAST; i++) {
        if (parse_i64(&cursor, &column[i]) < 0)
            return -EBADMSG;
        if (column[i] < 0)
            column[i] = 0; /* only tty_pgrp and priority can be, and are not used */
    }
    if (column[COL_PPID] > INT32_MAX)
        return -EBADMSG;
    stat.pid = (pid_t)pid;
    stat.parent_pid = (pid_t)column[COL_PPID];
    stat.has_exec = !((uint64_t)column[COL_FLAGS] & FLAG_FORKED);
    stat.is_ending =
        ((uint64_t)column[COL_FLAGS] & FLAG_EXITING) || stat.state == 'Z' || stat.state == 'X';
    stat.minor_faults = (uint64_t)column[COL_MINFLT];
    stat.child_minor_faults = (uint64_t)column[COL_CMINFLT];
    stat.major_faults = (uint64_t)column[COL_MAJFLT];
    stat.child_major_faults = (uint64_t)column[COL_CMAJFLT];
    stat.user_ticks = (uint64_t)column[COL_UTIME];
    stat.system_ticks = (uint64_t)column[COL_STIME];
    stat.child_user_ticks = (uint64_t)column[COL_CUTIME];
    stat.child_system_ticks = (uint64_t)column[COL_CSTIME];
    stat.threads = (uint64_t)column[COL_NUM_THREADS];
    stat.start_ticks = (uint64_t)column[COL_STARTTIME];
    stat.rss_pages = (uint64_t)column[COL_RSS];
    *ret = stat;
    return 0;
}

int pid_stat_read(struct cached_file *kept, const struct root *root, pid_t pid,
                  struct pid_stat *ret)
{
    char text[1024];
    ssize_t n =
        cached_file_read_record(kept, root, text, sizeof(text), "proc/%d/stat", (int)pid);

    return n < 0 ? (int)n : pid_stat_parse(text, ret);
}

int pid_stat_read_once(const struct root *root, pid_t pid, struct pid_stat *ret)
{
    struct cached_file file = CACHED_FILE_CLOSED;
    int r = pid_stat_read(&file, root, pid, ret);

    cached_file_close(&file);
    return r;
}
