/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peak_owner.h - whose peak is it?
 *
 * ru_maxrss of a process that has waited for children is the largest of its own peak and theirs.
 * If it is above all that was seen, either the process grew after it was last looked at, or a child
 * was never seen at its largest. Page faults tell: memory comes by faults, and the kernel counts
 * those of the process and of its children apart.
 */
#ifndef JOB_MEMORY_PEAK_OWNER_H
#define JOB_MEMORY_PEAK_OWNER_H

#include <stdint.h>

struct peak_evidence {
    uint64_t maxrss_bytes;
    uint64_t seen_bytes;   /* the process's own peak, when it was last looked at */
    uint64_t faults;       /* its own since then */
    uint64_t child_faults; /* of all children that it waited for */
    uint64_t page_bytes;
};

enum peak_owner {
    OWNER_SELF,
    OWNER_CHILD,
    OWNER_PROBABLY_SELF,
    OWNER_PROBABLY_CHILD,
};

enum peak_owner peak_owner_of(const struct peak_evidence *evidence);

#endif
