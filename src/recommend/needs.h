/* SPDX-License-Identifier: Apache-2.0 */
/*
 * needs.h - what to request for the next run, by the usage of earlier runs (pure).
 *
 * Each quantity is that of the run that used most of it, with a margin, rounded up to a step that schedulers
 * and servers offer. The figures of a run that hit its limit are too low: more than the limit is recommended,
 * marked as a guess, unless another run used more.
 */
#ifndef RECOMMEND_NEEDS_H
#define RECOMMEND_NEEDS_H

#include <stdbool.h>
#include <stddef.h>

#include "record/record.h"

struct need {
    double value;              /* the request; NaN: unknown */
    bool is_guess;             /* the run hit a limit, or is not known to be complete */
    size_t known_runs;         /* those of which the quantity is known */
    double used_min, used_max; /* by these runs, before any margin; NaN: unknown */
    double basis;              /* runs are compared by it: the largest is used */
    char why[320];             /* a sentence without a full stop; why it is unknown, if it is */
};

struct needs {
    size_t runs;         /* those added */
    size_t failed_runs;  /* of these: their exit code is known and not 0 */
    char gpu_vendor[16]; /* "nvidia"; empty: unknown, or no GPU was used */
    struct need cpus;
    struct need memory_bytes;
    struct need gpus;
    struct need vram_bytes; /* of all GPUs together */
    struct need seconds;
};

/* The needs of one run or many: init, then add each. A record without a job is ignored. */
void needs_init(struct needs *needs);
void needs_add(struct needs *needs, const struct record *record);

/* The next step up: 128, 256, 512, 1024 and 2048 MiB, then whole GiB. */
double needs_round_memory(double bytes);

/* Did the out-of-memory killer end a process of the run? */
bool needs_is_out_of_memory(const struct record *record);

/* The fields of struct needs by their JSON keys, for writers of all of them. */
struct needs_field {
    const char *key; /* "memory_bytes" */
    size_t offset;
};

enum { NEEDS_FIELDS = 5 };
extern const struct needs_field needs_fields[NEEDS_FIELDS];

static inline const struct need *needs_get(const struct needs *needs, size_t field)
{
    return (const struct need *)(const void *)((const char *)needs +
                                               needs_fields[field].offset);
}

#endif
