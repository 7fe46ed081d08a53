/* SPDX-License-Identifier: Apache-2.0 */
#include "source/proc/schedstat.h"

#include <errno.h>

#include "base/parse.h"

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
