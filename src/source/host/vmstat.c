/* SPDX-License-Identifier: Apache-2.0 */
/* vmstat.c - parse /proc/vmstat: "oom_kill 0". */
#include "source/host/vmstat.h"

#include <errno.h>
#include <string.h>

#include "base/parse.h"

int vmstat_parse_oom_kills(const char *text, uint64_t *ret_count)
{
    const char *value = parse_key(text, "oom_kill");

    if (!value)
        return -ENOENT;
    /* Without its newline the number may be half of one. */
    if (!strchr(value, '\n'))
        return -EBADMSG;
    return parse_u64(&value, ret_count);
}
