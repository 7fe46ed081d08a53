/* SPDX-License-Identifier: Apache-2.0 */
/*
 * needs.h - the resources to request for the next run, computed from the usage of
 * earlier runs. Does no I/O.
 *
 * Each quantity is the usage of a run, with a margin, rounded up to a step that schedulers and servers offer.
 * The figures of a run that hit its limit are too low: more than the limit is recommended, marked as a guess,
 * unless another run used more.
 *
 * CPUs x time is never less than the CPU time of the run times the margin: a request for fewer
 * CPUs asks for more time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/record.h"
#include "text/buffer.h"

struct need {
    double value;              /* the request; NaN: unknown */
    bool is_guess;             /* the run hit a limit, or is not known to be complete */
    size_t known_runs;         /* runs with a known value of the quantity */
    double used_min, used_max; /* usage of these runs, without a margin; NaN: unknown */
    double basis;              /* value by which runs are compared */
    char why[400];             /* explanation, or why the value is unknown; no full stop */
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
    size_t partial_runs;    /* runs that began before tracking or went on after it */
    size_t would_fail_runs; /* runs that used more memory, GPUs or time than requested */
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
        struct need fields[NEEDS_FIELDS]; /* the same needs as an array */
    };
    struct need_choice choices[2]; /* sorted by CPUs; one of them equals `cpus` and `seconds` */
    size_t choice_count;           /* 0: the CPUs or the time are unknown */
    /* For a group: its nodes, and the most ranks on one node. Otherwise 0. */
    uint64_t nodes, node_ranks;
    const char *time_caveat; /* why the time of a single run may be too short; or NULL */
};

#define NEEDS_MARGIN 1.2

/* Computes the needs of one run. For a record without a job, ret->runs is 0 and all values are
 * unknown. */
void needs_of(const struct record *record, double margin, struct needs *ret);

/* Combines the needs of many runs with the same margin: each quantity comes from the run at the
 * quantile, by nearest rank; 1 is the largest. Changes the times in the list to those expected
 * with the combined CPUs. Without runs, all values are unknown. Returns 0 or -ENOMEM. */
int needs_combine(struct needs *list, size_t count, double quantile, struct needs *ret);

/* Rounds up to the next step: 128, 256, 512, 1024 and 2048 MiB, then whole GiB. */
double needs_round_memory(double bytes);

/* Returns whether the out-of-memory killer ended a process of the run. */
bool needs_is_out_of_memory(const struct record *record);

/* The JSON keys of the fields: "memory_bytes". */
extern const char *const needs_keys[NEEDS_FIELDS];

/* ---- Requests in the syntax of a scheduler or workflow tool, ready to paste -----
 *
 * To add a format: add a write function and a row in scheduler_request.c, and its name to --for.
 */

struct request_format {
    const char *name;    /* "sbatch" */
    const char *title;   /* "Slurm" */
    const char *comment; /* prefix of a comment line: "#" */
    void (*write)(const struct needs *needs, struct buffer *out);
};

/* Finds a format by its name; NULL: there is no such format. */
const struct request_format *request_find(const char *name);

/* Returns a format by index; NULL after the last. */
const struct request_format *request_get(size_t index);

/* Writes the request, after a comment for each quantity that is unknown or a guess. */
void request_write(const struct request_format *format, const struct needs *needs,
                   struct buffer *out);
