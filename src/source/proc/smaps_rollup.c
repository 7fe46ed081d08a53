/* SPDX-License-Identifier: Apache-2.0 */
#include "source/proc/smaps_rollup.h"

#include <errno.h>

#include "base/compiler.h"
#include "base/unknown.h"
#include "source/proc/keyed.h"

#define FIELD(key, member)                               \
    {                                                    \
        key, offsetof(struct smaps_rollup, member), 1024 \
    }

static const struct keyed_field fields[] = {
    FIELD("Rss:", rss),
    FIELD("Pss:", pss),
    FIELD("Pss_Anon:", pss_anon),
    FIELD("Pss_File:", pss_file),
    FIELD("Pss_Shmem:", pss_shmem),
    FIELD("Shared_Clean:", shared_clean),
    FIELD("Shared_Dirty:", shared_dirty),
    FIELD("Private_Clean:", private_clean),
    FIELD("Private_Dirty:", private_dirty),
    FIELD("Anonymous:", anonymous),
    FIELD("KSM:", merged),
};

int smaps_rollup_parse(const char *text, struct smaps_rollup *ret)
{
    struct smaps_rollup rollup;

    if (*text == '\0')
        return -ESRCH;
    keyed_parse(text, fields, ARRAY_SIZE(fields), &rollup);
    if (!is_known(rollup.rss) || !is_known(rollup.pss) || !is_known(rollup.shared_clean) ||
        !is_known(rollup.shared_dirty) || !is_known(rollup.private_clean) ||
        !is_known(rollup.private_dirty) || !is_known(rollup.anonymous))
        return -EBADMSG;
    *ret = rollup;
    return 0;
}

int smaps_rollup_read(const struct root *root, pid_t pid, struct smaps_rollup *ret)
{
    char text[2048];
    ssize_t n = root_read(root, text, sizeof(text), "proc/%d/smaps_rollup", (int)pid);

    return n < 0 ? (int)n : smaps_rollup_parse(text, ret);
}
