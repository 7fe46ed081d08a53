/* SPDX-License-Identifier: Apache-2.0 */
/*
 * budget.h - what tracking may cost: one token bucket for everything the tracker does. Pure.
 *
 * Tokens are CPU time of the tracker. They come with the CPU time that the job uses and, slowly,
 * with time itself; what is not used is saved up to a limit. What cannot be left out (samples,
 * process events) is charged even if the bucket is empty, and leaves less for the rest: glances
 * between samples, memory sharing, GPUs. These ask first, and each may use a part of what comes in.
 */
#ifndef JOB_BUDGET_H
#define JOB_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

enum spending {
    SPENT_SAMPLES,
    SPENT_EVENTS,
    SPENT_GLANCES,
    SPENT_SHARING,
    SPENT_GPUS,
    SPENDING_COUNT,
};

struct budget {
    uint64_t spent_ns[SPENDING_COUNT];
    uint64_t postponed[SPENDING_COUNT]; /* how often there was too little left */

    /* Private. */
    uint64_t job_millionths;          /* of the job's CPU time */
    uint64_t time_millionths;         /* of a core */
    int64_t tokens_ns;                /* below 0: too much was spent */
    int64_t share_ns[SPENDING_COUNT]; /* likewise, of what each kind may use */
    uint64_t owed_ns;                 /* what was done on credit and is not paid for yet */
    uint64_t rate_millionths;         /* of the time, as tokens came in lately */
    uint64_t cpu_ns;                  /* the job's, when tokens last came in */
    uint64_t earned_until_ns;
};

/* The default: 0.3 % of the job's CPU time and 0.05 % of a core. */
#define BUDGET_MILLIONTHS 3000u

/* `job_millionths` of the job's CPU time, and a sixth of that share of a core; UINT64_MAX: no limit. */
void budget_init(struct budget *budget, uint64_t job_millionths, uint64_t now_ns);

/* Adds what came in since the last call. `cpu_ns` is the job's CPU time so far; UNKNOWN is fine. */
void budget_earn(struct budget *budget, uint64_t now_ns, uint64_t cpu_ns);

void budget_charge(struct budget *budget, enum spending what, uint64_t cost_ns);

/* Counts it as spent without taking tokens: for a cost that is small and known beforehand. */
void budget_record(struct budget *budget, enum spending what, uint64_t cost_ns);

/* Whether something of that cost may be done now. What costs more than can be saved may be done when
 * the bucket is full, and is paid back afterwards. If not, it counts as postponed. */
bool budget_allows(struct budget *budget, enum spending what, uint64_t cost_ns);

/* Whether something of that cost may be done on credit: no more is owed than can be saved. */
bool budget_lends(const struct budget *budget, uint64_t cost_ns);

/* Charges it: a third of what comes in pays for it. */
void budget_borrow(struct budget *budget, enum spending what, uint64_t cost_ns);

/* How long it takes until that can be paid, at the rate at which tokens come in now; 0: now. */
uint64_t budget_wait_ns(const struct budget *budget, enum spending what, uint64_t cost_ns);

#endif
