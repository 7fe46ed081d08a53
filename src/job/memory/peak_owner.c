/* SPDX-License-Identifier: Apache-2.0 */
#include "job/memory/peak_owner.h"

#include <stdbool.h>

#include "base/arithmetic.h"

enum peak_owner peak_owner_of(const struct peak_evidence *evidence)
{
    uint64_t page = evidence->page_bytes;
    uint64_t huge_page = page * (page / 8); /* of one page of page table entries */
    /* A child of fork begins with the memory of its parent. */
    uint64_t growth = less(evidence->maxrss_bytes, evidence->seen_bytes);
    bool self_can = product_u64(evidence->faults, huge_page) >= growth;
    bool child_can = product_u64(evidence->child_faults, huge_page) >= growth;
    bool self_did = product_u64(evidence->faults, page) >= growth; /* without huge pages */
    bool child_did = product_u64(evidence->child_faults, page) >= growth;
    bool has_more = evidence->faults >= evidence->child_faults;

    if (!self_can)
        return OWNER_CHILD;
    if (!child_can)
        return OWNER_SELF;
    return self_did || (!child_did && has_more) ? OWNER_PROBABLY_SELF : OWNER_PROBABLY_CHILD;
}
