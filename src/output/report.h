/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.h - everything an output may say about a run. Borrowed, never changed.
 *
 * The session fills it; outputs read nothing else. All text from the job or the
 * user (command, name, tags, phase names) is hostile until an output escapes it.
 */
#ifndef OUTPUT_REPORT_H
#define OUTPUT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "job/gpu/gpu_view.h"
#include "job/limits.h"
#include "sample/metric.h"
#include "series/series.h"
#include "series/summary.h"
#include "source/host/facts.h"

struct warning {
    char code[32];
    char message[240];
};

enum { WARNINGS_MAX = 64 };

/* Whether a figure of the job's that is 0 was not measured: a process of it did not tell. */
struct gpu_doubts {
    bool memory, busy;
};

struct phase {
    char name[128];
    bool is_open;
    struct summary summary;
    struct gpu_doubts gpu_doubts;
};

enum { PHASES_MAX = 256 };

struct report {
    /* run */
    const char *id;             /* 32 hexadecimal digits */
    const char *name;           /* NULL: none */
    const char *const *tags;    /* "KEY=VALUE", ended by NULL; NULL: none */
    const char *const *command; /* ended by NULL; NULL: not known */
    const char *user;           /* NULL: not known */
    const char *cwd;            /* NULL: not known */
    pid_t pid;
    bool has_ended;  /* the wait status below is known */
    int wait_status; /* as wait(2) reports it */
    uint64_t interval_ns;

    const struct host_facts *host;
    const struct limits *limits;
    const struct gpu_view *gpu;
    const struct origin *origins; /* METRIC_COUNT of them */
    const struct summary *summary;
    const struct series *series;
    const struct phase *phases;
    size_t phase_count;

    /* what the tracker itself cost */
    uint64_t tracker_cpu_ns;        /* UNKNOWN where it cannot be read */
    uint64_t tracker_max_rss_bytes; /* UNKNOWN where it cannot be read */
    uint64_t late_samples;
    uint64_t detail_reads;

    const struct warning *warnings;
    size_t warning_count;
};

#endif
