/* SPDX-License-Identifier: Apache-2.0 */
/*
 * needs.h - the resources to request for the next run, by the usage of earlier runs (pure).
 *
 * Each quantity is the usage of a run, with a margin, rounded up to a step that schedulers and servers offer.
 * The figures of a run that hit its limit are too low: more than the limit is recommended, marked as a guess,
 * unless another run used more.
 *
 * CPUs x time is never less than the CPU time of the run times the margin: a request for fewer CPUs is one for
 * more time.
 */
#ifndef RECOMMEND_NEEDS_H
#define RECOMMEND_NEEDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/record.h"

struct need {
    double value;              /* the request; NaN: unknown */
    bool is_guess;             /* the run hit a limit, or is not known to be complete */
    size_t known_runs;         /* runs with a known value of the quantity */
    double used_min, used_max; /* usage of these runs, without a margin; NaN: unknown */
    double basis;              /* value by which runs are compared */
    char why[400]; /* a sentence without a full stop; if the value is unknown, why */
};

/* CPUs, and the time that the run takes with them. */
struct need_choice {
    double cpus;
    double seconds;  /* the request */
    double expected; /* seconds, without a margin */
};

/* Why the figures of a run may be too low, the most serious first. */
enum run_condition { RUN_OUT_OF_MEMORY, RUN_FAILED, RUN_SHORT, RUN_STARVED, RUN_CONDITIONS };

enum { NEEDS_CPUS, NEEDS_MEMORY, NEEDS_GPUS, NEEDS_VRAM, NEEDS_SECONDS, NEEDS_FIELDS };

struct needs {
    double margin, quantile;
    size_t runs;
    size_t failed_runs;     /* runs whose exit code is known and not 0 */
    size_t partial_runs;    /* runs that began before or went on after they were tracked */
    size_t would_fail_runs; /* runs that used more memory, GPUs or time than this */
    size_t conditions[RUN_CONDITIONS]; /* number of runs with each condition */
    char note[160];      /* a sentence about the conditions; empty: there is none */
    char gpu_vendor[16]; /* "nvidia"; empty: unknown, or no GPU was used */
    union {
        struct {
            struct need cpus;
            struct need memory_bytes;
            struct need gpus;
            struct need vram_bytes; /* memory of all GPUs together */
            struct need seconds;
        };
        struct need fields[NEEDS_FIELDS]; /* the same, for code that treats all of them alike */
    };
    struct need_choice choices[2]; /* sorted by CPUs; `cpus` and `seconds` are one of them */
    size_t choice_count;           /* 0: the CPUs or the time are unknown */
    /* Nodes of a group, and the most ranks on one of them; else 0. */
    uint64_t nodes, node_ranks;
    const char *time_caveat; /* caveat of a single run; NULL: its time is of a complete run */
};

#define NEEDS_MARGIN 1.2

/* Computes the needs of one run. A record without a job has none: its `runs` is 0. */
void needs_of(const struct record *record, double margin, struct needs *ret);

/* Combines the needs of many runs with the same margin: each quantity comes from the run at the
 * quantile, by nearest rank; 1 is the largest. The times in the list become those with the
 * combined CPUs. Without runs, all values are unknown. Returns 0 or, if there are runs,
 * -ENOMEM. */
int needs_combine(struct needs *list, size_t count, double quantile, struct needs *ret);

/* Rounds up to the next step: 128, 256, 512, 1024 and 2048 MiB, then whole GiB. */
double needs_round_memory(double bytes);

/* Returns whether the out-of-memory killer ended a process of the run. */
bool needs_is_out_of_memory(const struct record *record);

/* The JSON keys of the fields: "memory_bytes". */
extern const char *const needs_keys[NEEDS_FIELDS];

#endif
