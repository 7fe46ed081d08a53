/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file_limit.h"

#include <sys/resource.h>

void file_limit_raise(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit); /* fewer are kept open then */
    }
}

bool file_limit_allows(int fd)
{
    enum { LEFT_FREE = 64 };
    static _Atomic rlim_t known; /* as it was last: asked again when it seems to be reached */
    struct rlimit limit;

    if (known > (rlim_t)fd + LEFT_FREE)
        return true;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return true;
    known = limit.rlim_cur;
    return limit.rlim_cur > (rlim_t)fd + LEFT_FREE;
}
