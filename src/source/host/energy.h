/* SPDX-License-Identifier: Apache-2.0 */
/*
 * energy.h - the energy that the CPU packages of the machine have used.
 *
 * Sources, best first: powercap (RAPL of Intel and AMD; only root may read it since Linux 5.10),
 * the counters of Cray nodes, hwmon (AMD, ARM), perf's power events. A virtual machine has none.
 *
 * The first reading tries only powercap's first package, which costs one system call if it is
 * not readable. The other sources are searched by the first reading after a tenth of a second,
 * so that a short command does not pay for the search.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/root.h"

enum { ENERGY_PACKAGES_MAX = 64 };

struct energy_package {
    char path[96];           /* path of the counter; empty: a perf event */
    struct cached_file file; /* the counter, or the perf event */
    double unit_uj;          /* microjoules per count */
    uint64_t range;          /* the counter wraps to 0 after this count; UINT64_MAX: never */
    uint64_t count;          /* as last read; UNKNOWN: it was not readable */
};

/* A zeroed struct is closed. */
struct energy {
    const char *source;              /* NULL: none */
    const char *reason;              /* why there is no source */
    struct energy_package *packages; /* owned */
    size_t count;
    double total_uj;            /* since the first reading */
    bool is_complete;           /* no package was missing, and none has wrapped twice */
    uint64_t first_ns, read_ns; /* times of readings; 0: none */
    uint64_t searched_ns;
    bool has_searched;
};

/* Reads all packages. Returns the energy in microjoules since the first reading; UNKNOWN: there is
 * no source. */
uint64_t energy_read(struct energy *energy, const struct root *root, uint64_t now_ns);
void energy_close(struct energy *energy);

/* Searches all sources at once, for callers that read only once. */
void energy_search(struct energy *energy, const struct root *root);

/* The reason if counters exist but we may not read them. */
extern const char energy_is_denied[];
