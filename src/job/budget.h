/* SPDX-License-Identifier: Apache-2.0 */
/*
 * budget.h - limits the cost of tracking: one token bucket for everything the tracker does.
 * Pure.
 *
 * Tokens are CPU time of the tracker. The income is a share of the CPU time that the job uses
 * and a small share of the elapsed time; unused tokens are saved up to a limit. Mandatory work
 * (samples, process events) is charged even if the bucket is empty, and leaves less for the
 * rest: glances between samples, memory sharing, GPUs. These check first, and each may use a
 * part of the income.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/root.h"

enum spending {
    SPENT_SAMPLES,
    SPENT_EVENTS,
    SPENT_GLANCES,
    SPENT_SHARING,
    SPENT_GPUS,
    SPENT_NETWORK,
    SPENDING_COUNT,
};

struct budget {
    /* Callers add small fixed costs themselves, which take no tokens. */
    uint64_t spent_ns[SPENDING_COUNT];
    uint64_t postponed[SPENDING_COUNT]; /* times there were too few tokens */

    /* Private. */
    uint64_t job_millionths;          /* share of the job's CPU time */
    uint64_t time_millionths;         /* share of a core */
    int64_t tokens_ns;                /* below 0: overspent */
    int64_t share_ns[SPENDING_COUNT]; /* tokens of each kind's share */
    uint64_t owed_ns;                 /* work done on credit, not repaid yet */
    uint64_t rate_millionths;         /* recent income in millionths of the elapsed time */
    uint64_t cpu_ns;                  /* CPU time of the job at the last budget_earn() */
    uint64_t earned_until_ns;
};

/* The default: 0.3 % of the job's CPU time and 0.05 % of a core. */
#define BUDGET_MILLIONTHS 3000u

/* Sets the limits: `job_millionths` of the job's CPU time, and a sixth of that share of a
 * core; UINT64_MAX: no limit. */
void budget_init(struct budget *budget, uint64_t job_millionths, uint64_t now_ns);

/* Adds the income since the last call. `cpu_ns` is the job's CPU time so far, or UNKNOWN. */
void budget_earn(struct budget *budget, uint64_t now_ns, uint64_t cpu_ns);

void budget_charge(struct budget *budget, enum spending what, uint64_t cost_ns);

/* Whether work that costs `cost_ns` may be done now; if not, it counts as postponed. Work that
 * costs more than can be saved is allowed when the bucket is full, and is repaid afterwards. */
bool budget_allows(struct budget *budget, enum spending what, uint64_t cost_ns);

/* Whether work that costs `cost_ns` may be done on credit: at most as much as can be saved. */
bool budget_lends(const struct budget *budget, uint64_t cost_ns);

/* The same for a glance: half of the credit is left for memory sharing, which it makes worth
 * reading, and there is none while the budget is overdrawn by as much as can be saved. */
bool budget_lends_glance(const struct budget *budget, uint64_t cost_ns);

/* Charges work done on credit. A third of the income repays the debt. */
void budget_borrow(struct budget *budget, enum spending what, uint64_t cost_ns);

/* Returns the time until work that costs `cost_ns` can be paid for at the current income; 0:
 * now. */
uint64_t budget_wait_ns(const struct budget *budget, enum spending what, uint64_t cost_ns);

/* Returns the CPU time of the calling thread so far. Time spent waiting for a CPU, which the job
 * may be using, does not count. Returns 0 on a fixture machine, whose results must not depend on
 * the speed of the tracker. */
static inline uint64_t cpu_spent_ns(const struct root *root)
{
    return root->is_live ? clock_thread_cpu_ns() : 0;
}
