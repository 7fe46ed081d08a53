/* SPDX-License-Identifier: Apache-2.0 */
#include "source/proc/pid_statm.h"

#include <errno.h>

#include "base/parse.h"

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
    ssize_t n =
        cached_file_read_record(kept, root, text, sizeof(text), "proc/%d/statm", (int)pid);

    return n < 0 ? (int)n : pid_statm_parse(text, ret);
}
