/* SPDX-License-Identifier: Apache-2.0 */
#include "source/host/loadavg.h"

#include <errno.h>
#include <string.h>

#include "base/parse.h"

int loadavg_parse_last_pid(const char *text, uint64_t *ret)
{
    const char *last = strrchr(text, ' ');

    return last && strchr(text, '/') ? parse_whole_u64(last, ret) : -EBADMSG;
}
