/* SPDX-License-Identifier: Apache-2.0 */
#include "source/proc/run_delay.h"

#include <errno.h>

#include "base/parse.h"

int run_delay_parse(const char *text, uint64_t *ret_ns)
{
    uint64_t run_ns, waited_ns;

    if (parse_u64(&text, &run_ns) < 0 || parse_u64(&text, &waited_ns) < 0)
        return -EBADMSG;
    *ret_ns = waited_ns;
    return 0;
}

int run_delay_read(const struct root *root, pid_t thread_id, uint64_t *ret_ns)
{
    char text[128];
    ssize_t n = root_read(root, text, sizeof(text), "proc/%d/schedstat", (int)thread_id);

    return n < 0 ? (int)n : run_delay_parse(text, ret_ns);
}
