/* SPDX-License-Identifier: Apache-2.0 */
#include "job/memory/peak_owner.h"

#include <stdbool.h>

#include "base/arithmetic.h"

/* Minimum page faults of a program start. */
enum { STARTUP_FAULTS = 128 };

#define SLACK_BYTES ((uint64_t)512 * 1024)

enum peak_owner peak_owner_of(const struct peak_evidence *evidence)
{
    uint64_t page = evidence->page_bytes;
    uint64_t huge_page = page * (page / 8); /* covered by one page of page table entries */
    /* A child of fork begins with the memory of its parent. */
    uint64_t growth = sub_floor0(evidence->maxrss_bytes, evidence->seen_bytes);
    bool self_can = product_u64(evidence->faults, huge_page) >= growth;
    bool child_can = product_u64(evidence->child_faults, huge_page) >= growth;
    bool self_did = product_u64(evidence->faults, page) >= growth; /* without huge pages */
    bool child_did = product_u64(evidence->child_faults, page) >= evidence->maxrss_bytes;
    /* Relative to the growth that each would have needed. */
    bool has_more = product_u64(evidence->faults, evidence->maxrss_bytes) >=
                    product_u64(evidence->child_faults, growth);

    /* The kernel counts in batches. And it is unlikely that a child came this close. */
    if (growth <= evidence->maxrss_bytes / 64 + SLACK_BYTES)
        return OWNER_PROBABLY_SELF;
    if (!self_can)
        return OWNER_CHILD;
    if (!child_can)
        return OWNER_SELF;
    if (self_did || child_did)
        return self_did ? OWNER_PROBABLY_SELF : OWNER_PROBABLY_CHILD;
    /* Only one of them with huge pages. */
    return has_more || product_u64(sub_floor0(evidence->child_faults, STARTUP_FAULTS),
                                   huge_page) < evidence->maxrss_bytes
               ? OWNER_PROBABLY_SELF
               : OWNER_PROBABLY_CHILD;
}
