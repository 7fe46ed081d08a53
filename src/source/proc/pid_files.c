/* SPDX-License-Identifier: Apache-2.0 */
#include "source/proc/pid_files.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/parse.h"

/* ---- pid stat -------------------------------------------------------------- */

/* Parse /proc/<pid>/stat.
 *
 * The file is one line: "42 (name) S 1 42 42 ...". The name may contain anything,
 * parentheses, spaces and newlines included, but no later field contains a ')'. So the name
 * ends at the last ')' of the line. */

/* Columns, numbered as in proc_pid_stat(5). */
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
    COL_LAST = COL_STARTTIME,
};

/* PF_FORKNOEXEC of the kernel's sched.h: forked, and has not called exec since. */
#define FLAG_FORKED 0x40u
/* PF_EXITING: the process is releasing its resources, its memory before its open files. */
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
            column[i] = 0; /* only tty_pgrp and priority can be negative, and are not used */
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
    *ret = stat;
    return 0;
}

int pid_stat_read(struct cached_file *kept, const struct root *root, pid_t pid,
                  struct pid_stat *ret)
{
    char text[1024];
    ssize_t n =
        cached_file_read(kept, root, READ_RECORD, text, sizeof(text), "proc/%d/stat", (int)pid);

    return n < 0 ? (int)n : pid_stat_parse(text, ret);
}

/* ---- pid statm ------------------------------------------------------------- */

int pid_statm_parse(const char *text, struct pid_statm *ret)
{
    struct pid_statm statm;

    if (parse_u64(&text, &statm.size_pages) < 0 ||
        parse_u64(&text, &statm.resident_pages) < 0 ||
        parse_u64(&text, &statm.shared_pages) < 0)
        return -EBADMSG;
    *ret = statm;
    return 0;
}

int pid_statm_read(struct cached_file *kept, const struct root *root, pid_t pid,
                   struct pid_statm *ret)
{
    char text[256];
    ssize_t n = cached_file_read(kept, root, READ_RECORD, text, sizeof(text), "proc/%d/statm",
                                 (int)pid);

    return n < 0 ? (int)n : pid_statm_parse(text, ret);
}

/* ---- pid status ------------------------------------------------------------ */

#define STATUS_FIELD(key, member, scale)                \
    {                                                   \
        key, offsetof(struct pid_status, member), scale \
    }

static const struct keyed_field status_fields[] = {
    STATUS_FIELD("Tgid:", thread_group, 1),
    STATUS_FIELD("Uid:", uid, 1),
    STATUS_FIELD("VmHWM:", rss_peak_bytes, 1024),
    STATUS_FIELD("RssShmem:", rss_shmem_bytes, 1024),
    STATUS_FIELD("VmSwap:", swap_bytes, 1024),
    STATUS_FIELD("HugetlbPages:", hugetlb_bytes, 1024),
    STATUS_FIELD("Threads:", threads, 1),
};

/* Whether a signal is in a mask: sixteen hexadecimal digits, in which bit n - 1 is signal n. */
static bool mask_holds(const char *text, const char *key, int signal)
{
    const char *mask = parse_key(text, key);

    return mask && (strtoull(mask, NULL, 16) >> (signal - 1) & 1);
}

int pid_status_parse(const char *text, struct pid_status *ret)
{
    struct pid_status status = { 0 };

    keyed_parse(text, status_fields, ARRAY_SIZE(status_fields), &status);
    if (!is_known(status.thread_group))
        return -EBADMSG;
    status.ignores_child_signal = mask_holds(text, "SigIgn:", SIGCHLD);
    *ret = status;
    return 0;
}

int pid_status_read(const struct root *root, pid_t pid, struct pid_status *ret)
{
    char text[4096];
    /* The line "Groups:", which precedes most others, may be 720 KiB long: 65,536 groups. */
    ssize_t n =
        root_read_lines(root, text, sizeof(text), ROOT_LINE_SIZE, "proc/%d/status", (int)pid);

    return n < 0 ? (int)n : pid_status_parse(text, ret);
}

/* ---- pid io ---------------------------------------------------------------- */

static const struct keyed_field io_fields[] = {
    { "rchar:", offsetof(struct pid_io, read_chars), 1 },
    { "wchar:", offsetof(struct pid_io, written_chars), 1 },
    { "read_bytes:", offsetof(struct pid_io, read_bytes), 1 },
    { "write_bytes:", offsetof(struct pid_io, written_bytes), 1 },
};

int pid_io_parse(const char *text, struct pid_io *ret)
{
    struct pid_io io;

    if (keyed_parse(text, io_fields, ARRAY_SIZE(io_fields), &io) != ARRAY_SIZE(io_fields))
        return -EBADMSG;
    *ret = io;
    return 0;
}

int pid_io_read(struct cached_file *kept, const struct root *root, pid_t pid,
                struct pid_io *ret)
{
    char text[512];
    ssize_t n =
        cached_file_read(kept, root, READ_RECORD, text, sizeof(text), "proc/%d/io", (int)pid);

    return n < 0 ? (int)n : pid_io_parse(text, ret);
}

int thread_io_read(const struct root *root, pid_t pid, pid_t tid, struct pid_io *ret)
{
    char text[512];
    ssize_t n =
        root_read_start(root, text, sizeof(text), "proc/%d/task/%d/io", (int)pid, (int)tid);

    return n < 0 ? (int)n : pid_io_parse(text, ret);
}

/* ---- pid cmdline ----------------------------------------------------------- */

size_t cmdline_split(char *text, size_t length, const char **arguments, size_t capacity)
{
    size_t count = 0;

    for (size_t at = 0; at < length && count + 1 < capacity; at += strlen(text + at) + 1)
        arguments[count++] = text + at;
    arguments[count] = NULL;
    return count;
}

ssize_t pid_cmdline_read(const struct root *root, pid_t pid, char *text, size_t size)
{
    return root_read_start(root, text, size, "proc/%d/cmdline", (int)pid);
}

/* ---- schedstat ------------------------------------------------------------- */

int schedstat_parse(const char *text, struct schedstat *ret)
{
    struct schedstat times;

    if (parse_u64(&text, &times.run_ns) < 0 || parse_u64(&text, &times.waited_ns) < 0)
        return -EBADMSG;
    *ret = times;
    return 0;
}

int schedstat_read(const struct root *root, pid_t thread_id, struct schedstat *ret)
{
    char text[128];
    ssize_t n = root_read(root, text, sizeof(text), "proc/%d/schedstat", (int)thread_id);

    return n < 0 ? (int)n : schedstat_parse(text, ret);
}

/* ---- cpu clock ------------------------------------------------------------- */

int cpu_clock_read(const struct root *root, pid_t pid, uint64_t *ret_ns)
{
    /* The clock ID that clock_getcpuclockid() computes, without its system call: the complement
     * of the PID, then 3 bits. The value 2 means "scheduler's count, whole process". */
    clockid_t clock = (clockid_t)(~(unsigned)pid << 3 | 2);
    struct timespec time;

    if (!root->is_live)
        return -ENOTSUP;
    if (clock_gettime(clock, &time) < 0)
        return errno == EINVAL ? -ESRCH : -errno;
    *ret_ns = (uint64_t)time.tv_sec * NS_PER_SECOND + (uint64_t)time.tv_nsec;
    return 0;
}

/* ---- same memory ----------------------------------------------------------- */

bool same_memory(const struct root *root, pid_t a, pid_t b)
{
    enum { COMPARE_MEMORY = 1 }; /* KCMP_VM */

    return root->is_live && syscall(SYS_kcmp, a, b, COMPARE_MEMORY, 0ul, 0ul) == 0;
}

/* ---- PID namespace --------------------------------------------------------- */

/* Whether we are in the first PID namespace, which has the same inode number on every
 * kernel. */
bool pid_namespace_is_first(const struct root *root)
{
    char link[64];

    return root_read_link(root, link, sizeof(link), "proc/self/ns/pid") > 0 &&
           strcmp(link, "pid:[4026531836]") == 0;
}
