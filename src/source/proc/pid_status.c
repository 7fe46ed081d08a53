/* SPDX-License-Identifier: Apache-2.0 */
#include "source/proc/pid_status.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/parse.h"
#include "base/unknown.h"
#include "source/proc/keyed.h"

#define FIELD(key, member, scale)                       \
    {                                                   \
        key, offsetof(struct pid_status, member), scale \
    }

static const struct keyed_field fields[] = {
    FIELD("Tgid:", thread_group, 1),         FIELD("Uid:", uid, 1),
    FIELD("VmHWM:", rss_peak_bytes, 1024),   FIELD("RssAnon:", rss_anon_bytes, 1024),
    FIELD("RssFile:", rss_file_bytes, 1024), FIELD("RssShmem:", rss_shmem_bytes, 1024),
    FIELD("VmSwap:", swap_bytes, 1024),      FIELD("HugetlbPages:", hugetlb_bytes, 1024),
    FIELD("Threads:", threads, 1),
};

/* The mask is sixteen hexadecimal digits; bit n - 1 is signal n. */
static bool mask_holds(const char *text, const char *key, int signal)
{
    const char *mask = parse_key(text, key);

    return mask && (strtoull(mask, NULL, 16) >> (signal - 1) & 1);
}

int pid_status_parse(const char *text, struct pid_status *ret)
{
    struct pid_status status = { 0 };

    keyed_parse(text, fields, ARRAY_SIZE(fields), &status);
    if (!is_known(status.thread_group))
        return -EBADMSG;
    status.ignores_child_signal = mask_holds(text, "SigIgn:", SIGCHLD);
    *ret = status;
    return 0;
}

int pid_status_read(const struct root *root, pid_t pid, struct pid_status *ret)
{
    char text[4096];
    /* "Groups:", in front of most lines, has up to 720 KiB: 65,536 groups. */
    ssize_t n =
        root_read_lines(root, text, sizeof(text), ROOT_LINE_SIZE, "proc/%d/status", (int)pid);

    return n < 0 ? (int)n : pid_status_parse(text, ret);
}
