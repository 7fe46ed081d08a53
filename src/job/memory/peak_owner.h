/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peak_owner.h - decides whether a peak belongs to a process or to one of its children.
 *
 * ru_maxrss of a process that has waited for children is the largest of its own peak and
 * theirs. If it exceeds all values seen, either the process grew after the last look, or a
 * child was never seen at its largest. Page faults decide: memory comes by faults, and the
 * kernel counts those of the process and of its children separately.
 */
#ifndef JOB_MEMORY_PEAK_OWNER_H
#define JOB_MEMORY_PEAK_OWNER_H

#include <stdint.h>

struct peak_evidence {
    uint64_t maxrss_bytes;
    uint64_t seen_bytes;   /* the process's own peak at the last look */
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
