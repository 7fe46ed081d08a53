/* SPDX-License-Identifier: Apache-2.0 */
#include "source/proc/same_memory.h"

#include <sys/syscall.h>
#include <unistd.h>

bool same_memory(const struct root *root, pid_t a, pid_t b)
{
    enum { COMPARE_MEMORY = 1 }; /* KCMP_VM */

    return root->is_live && syscall(SYS_kcmp, a, b, COMPARE_MEMORY, 0ul, 0ul) == 0;
}
