/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sharing.h - corrects an estimate of shared memory where sums per process cannot settle
 * it, by the mappings of the processes and, if need be, by their pages.
 *
 * Such a look costs as much as the estimate and more, so what it finds is kept and added
 * to later estimates, until processes come or go or their files' part moves by 5 %.
 */
#ifndef JOB_MEMORY_SHARING_H
#define JOB_MEMORY_SHARING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/root.h"
#include "job/memory/memory_areas.h"
#include "job/memory/page_scan.h"
#include "job/memory/shared_memory.h"

struct correction {
    int64_t main, descendants, combined; /* bytes to add to the totals */
};

struct sharing {
    bool uses_smaps; /* may read the mappings */
    bool uses_scan;  /* may read the pages */
    bool has_correction;
    bool is_too_large;            /* more areas than are looked at: no correction */
    struct correction correction; /* as long as has_correction */
    uint64_t mapped_bytes;        /* of all processes, when it was made */
    uint64_t ambiguity_bytes;     /* that it left */
    uint64_t settled_bytes;       /* of doubled_bytes that proved to be nothing */
    size_t areas_per_process;     /* expected */
    uint64_t scan_cost_ns;        /* of pages that there was no time for */
    uint64_t reads;               /* looks at mappings */
    uint64_t scans;               /* looks at the pages of a file */
    struct memory_areas areas;
    struct page_scan scan;
};

void sharing_init(struct sharing *sharing, bool uses_smaps, bool uses_scan);
void sharing_done(struct sharing *sharing);

/* Processes came or went: what was found does not hold any more. */
void sharing_forget(struct sharing *sharing);

/* What looking at the mappings of `count` processes is likely to take beyond `walk_ns`, the
 * time that their sums took. */
uint64_t sharing_cost_ns(const struct sharing *sharing, size_t count, uint64_t walk_ns);

enum sharing_result {
    SHARING_CLEAR,     /* nothing to correct */
    SHARING_CORRECTED, /* by what was found before */
    SHARING_READ,      /* by a look at the mappings now */
    SHARING_DEFERRED,  /* it would take more than the allowance, or a part of it would */
    SHARING_FAILED,    /* a process ended meanwhile, or cannot be looked at */
};

/* Corrects what shared_memory_estimate() made of the views. */
enum sharing_result sharing_correct(struct sharing *sharing, const struct root *root,
                                    const struct memory_view *views, size_t count,
                                    uint64_t walk_ns, uint64_t allowance_ns,
                                    struct memory_estimate *estimate);

#endif
