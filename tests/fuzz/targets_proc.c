/* SPDX-License-Identifier: Apache-2.0 */
/* targets_proc.c - files of /proc/PID. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/amount.h"
#include "fuzz.h"
#include "job/command_line.h"
#include "source/proc/children.h"
#include "source/proc/pid_files.h"
#include "source/proc/smaps.h"
#include "text/utf8.h"

static void run_pid_stat(char *text, UNUSED size_t length)
{
    struct pid_stat stat;

    if (pid_stat_parse(text, &stat) < 0)
        return;
    CHECK_ENDED(stat.comm);
    CHECK(stat.pid > 0);
    CHECK(stat.parent_pid >= 0);
    CHECK(stat.state != '\0');
    CHECK(stat.user_ticks <= INT64_MAX);
    CHECK(!pid_stat_is_zombie(&stat) || stat.is_ending);
}

static void run_pid_status(char *text, UNUSED size_t length)
{
    struct pid_status status;

    if (pid_status_parse(text, &status) == 0 && is_known(status.rss_peak_bytes))
        CHECK(status.rss_peak_bytes % 1024 == 0);
}

static void run_pid_statm(char *text, UNUSED size_t length)
{
    struct pid_statm statm;

    (void)pid_statm_parse(text, &statm);
}

/* Either all fields are read or the text is rejected. */
static void run_pid_io(char *text, UNUSED size_t length)
{
    struct pid_io io;

    if (pid_io_parse(text, &io) == 0 && !strstr(text, "18446744073709551615"))
        CHECK(is_known(io.read_chars) && is_known(io.written_chars) &&
              is_known(io.read_bytes) && is_known(io.written_bytes));
}

static void run_schedstat(char *text, UNUSED size_t length)
{
    struct schedstat stat;

    (void)schedstat_parse(text, &stat);
}

static void count_child(pid_t child, void *data)
{
    CHECK(child > 0);
    ++*(int *)data;
}

static void run_children(char *text, size_t length)
{
    int found = 0, r = children_parse(text, count_child, &found);

    CHECK(r == -EBADMSG || r == found);
    CHECK((size_t)found <= length);
}

static void run_smaps_rollup(char *text, UNUSED size_t length)
{
    struct smaps_rollup rollup;

    (void)smaps_rollup_parse(text, &rollup);
}

/* ---- smaps ------------------------------------------------------------------------ */

struct areas {
    size_t count;
    uint64_t sum;
};

static int add_area(const struct smaps_area *area, void *data)
{
    struct areas *areas = data;
    const uint64_t values[] = { area->start,
                                area->end,
                                area->offset,
                                area->device,
                                area->inode,
                                area->sizes.rss,
                                area->sizes.pss,
                                area->sizes.shared_clean,
                                area->sizes.shared_dirty,
                                area->sizes.private_clean,
                                area->sizes.private_dirty,
                                area->sizes.anonymous,
                                area->sizes.merged };

    areas->count++;
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
        areas->sum = areas->sum * 31 + values[i];
    return 0;
}

/* Returns a descriptor that returns a piece of the text at each read, as the kernel does: each message of a
 * SOCK_SEQPACKET socket is one read. */
static int open_pieces(const char *text, size_t length)
{
    enum { PIECES = 7 };
    size_t size = length / PIECES + 1;
    int fds[2];

    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) == 0);
    for (size_t at = 0; at < length; at += size) {
        size_t left = length - at;
        ssize_t count = left < size ? (ssize_t)left : (ssize_t)size;

        CHECK(write(fds[1], text + at, (size_t)count) == count);
    }
    close(fds[1]);
    return fds[0];
}

/* The areas do not depend on where the kernel ends a read. */
static void run_smaps(char *text, size_t length)
{
    enum { SOCKET_BYTES = 100000 }; /* a larger text may not fit into the socket */
    struct areas whole = { 0 }, pieces = { 0 };
    int fd = memfd_create("smaps", MFD_CLOEXEC);
    int r;

    CHECK(fd >= 0 && pwrite(fd, text, length, 0) == (ssize_t)length);
    r = smaps_parse(fd, add_area, &whole);
    close(fd);
    if (length > SOCKET_BYTES)
        return;
    fd = open_pieces(text, length);
    CHECK(smaps_parse(fd, add_area, &pieces) == r);
    close(fd);
    CHECK(pieces.count == whole.count && pieces.sum == whole.sum);
}

/* ---- the command line --------------------------------------------------------------- */

/* Returns the first character that is unsafe or not valid UTF-8; NULL if there is none. */
static const char *find_unsafe(const char *text)
{
    uint32_t character;
    int n;

    for (; (n = utf8_decode(text, &character)) > 0; text += n)
        if (utf8_is_unsafe(character))
            return text;
    return n == 0 ? NULL : text;
}

static void run_cmdline(char *text, size_t length)
{
    enum { CAPACITY = 64 };
    const char *arguments[CAPACITY];
    size_t count = cmdline_split(text, length, arguments, CAPACITY);
    char *line;

    CHECK(count < CAPACITY && arguments[count] == NULL);
    line = command_line_make(arguments, length % 2 == 1);
    CHECK((line != NULL) == (count > 0));
    CHECK(!line || (strlen(line) <= COMMAND_LINE_MAX && find_unsafe(line) == NULL));
    free(line);
}

const struct fuzz_target proc_targets[] = {
    { "pid_stat", run_pid_stat, 1 },   { "pid_status", run_pid_status, 1 },
    { "pid_statm", run_pid_statm, 1 }, { "pid_io", run_pid_io, 1 },
    { "schedstat", run_schedstat, 1 }, { "children", run_children, 1 },
    { "smaps", run_smaps, 2 },         { "smaps_rollup", run_smaps_rollup, 1 },
    { "cmdline", run_cmdline, 1 },     { NULL, NULL, 0 },
};
