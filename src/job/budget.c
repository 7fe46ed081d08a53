/* SPDX-License-Identifier: Apache-2.0 */
#include "job/budget.h"

#include "base/amount.h"
#include "base/clock.h"

#define MILLION UINT64_C(1000000)

/* Maximum savings: the cost of walking the page tables of 4 GiB. */
#define SAVED_MOST_NS ((int64_t)(30 * NS_PER_MS))
/* Initial tokens: enough to open a few hundred processes and to read them a few times. */
#define SAVED_FIRST_NS ((int64_t)(20 * NS_PER_MS))

enum {
    /* The share of a core is one sixth of the share of the job's CPU time. */
    TIME_SHARE = 6,
    REPAID_SHARE = 3 /* a debt is repaid with 1/3 of the income */
};

/* Each kind of spending may use 1/N of the income. */
static const unsigned shares[SPENDING_COUNT] = {
    [SPENT_SAMPLES] = 1, [SPENT_EVENTS] = 1, [SPENT_GLANCES] = 4,
    [SPENT_SHARING] = 8, [SPENT_GPUS] = 3,   [SPENT_NETWORK] = 3,
};

void budget_init(struct budget *budget, uint64_t job_millionths, uint64_t now_ns)
{
    *budget = (struct budget){
        .job_millionths = job_millionths,
        .time_millionths = job_millionths / TIME_SHARE,
        .rate_millionths = job_millionths / TIME_SHARE,
        .tokens_ns = SAVED_FIRST_NS,
        .earned_until_ns = now_ns,
    };
    for (int i = 0; i < SPENDING_COUNT; i++)
        budget->share_ns[i] = SAVED_FIRST_NS / (shares[i] > 1 ? 2 : 1);
}

static bool has_no_limit(const struct budget *budget)
{
    return budget->job_millionths == UINT64_MAX;
}

static void save(int64_t *saved_ns, uint64_t earned_ns)
{
    *saved_ns += (int64_t)earned_ns;
    if (*saved_ns > SAVED_MOST_NS)
        *saved_ns = SAVED_MOST_NS;
}

void budget_earn(struct budget *budget, uint64_t now_ns, uint64_t cpu_ns)
{
    uint64_t span_ns = sub_floor0(now_ns, budget->earned_until_ns);
    uint64_t used_ns = is_known(cpu_ns) ? sub_floor0(cpu_ns, budget->cpu_ns) : 0;
    uint64_t earned_ns, repaid_ns;

    if (span_ns == 0 || has_no_limit(budget))
        return;
    earned_ns = span_ns * budget->time_millionths / MILLION +
                used_ns * budget->job_millionths / MILLION;
    repaid_ns = smaller(budget->owed_ns, earned_ns / REPAID_SHARE);
    budget->owed_ns -= repaid_ns;
    save(&budget->tokens_ns, earned_ns - repaid_ns);
    for (int i = 0; i < SPENDING_COUNT; i++)
        save(&budget->share_ns[i], earned_ns / shares[i]);
    budget->rate_millionths =
        larger(smoothed(budget->rate_millionths, earned_ns * MILLION / span_ns),
               budget->time_millionths);
    budget->earned_until_ns = now_ns;
    raise_to(&budget->cpu_ns, cpu_ns);
}

void budget_charge(struct budget *budget, enum spending what, uint64_t cost_ns)
{
    budget->spent_ns[what] += cost_ns;
    if (has_no_limit(budget))
        return;
    budget->tokens_ns -= (int64_t)cost_ns;
    budget->share_ns[what] -= (int64_t)cost_ns;
}

static int64_t needed_ns(uint64_t cost_ns)
{
    return cost_ns < (uint64_t)SAVED_MOST_NS ? (int64_t)cost_ns : SAVED_MOST_NS;
}

bool budget_allows(struct budget *budget, enum spending what, uint64_t cost_ns)
{
    int64_t needed = needed_ns(cost_ns);
    bool is_enough = has_no_limit(budget) ||
                     (budget->tokens_ns >= needed && budget->share_ns[what] >= needed);

    budget->postponed[what] += !is_enough;
    return is_enough;
}

bool budget_lends(const struct budget *budget, uint64_t cost_ns)
{
    return has_no_limit(budget) ||
           (budget->job_millionths > 0 && budget->owed_ns + cost_ns <= (uint64_t)SAVED_MOST_NS);
}

bool budget_lends_glance(const struct budget *budget, uint64_t cost_ns)
{
    return budget->tokens_ns > -SAVED_MOST_NS &&
           budget_lends(budget, cost_ns + (uint64_t)SAVED_MOST_NS / 2);
}

void budget_borrow(struct budget *budget, enum spending what, uint64_t cost_ns)
{
    budget->spent_ns[what] += cost_ns;
    budget->owed_ns += cost_ns;
}

uint64_t budget_wait_ns(const struct budget *budget, enum spending what, uint64_t cost_ns)
{
    int64_t needed = needed_ns(cost_ns);
    int64_t missing_ns = needed - budget->tokens_ns;
    int64_t missing_share_ns = (int64_t)shares[what] * (needed - budget->share_ns[what]);

    if (missing_share_ns > missing_ns)
        missing_ns = missing_share_ns;
    if (has_no_limit(budget) || missing_ns <= 0)
        return 0;
    if (budget->rate_millionths == 0)
        return UINT64_MAX / 2;
    return (uint64_t)missing_ns * MILLION / budget->rate_millionths;
}
