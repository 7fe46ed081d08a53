/* SPDX-License-Identifier: Apache-2.0 */

#include "base/amount.h"
#include "base/clock.h"
#include "job/budget.h"
#include "unit_test.h"

static struct budget begin(uint64_t millionths)
{
    struct budget budget;

    budget_init(&budget, millionths, 0);
    return budget;
}

/* Spends all tokens. */
static void empty(struct budget *budget)
{
    budget_charge(budget, SPENT_SAMPLES, (uint64_t)budget->tokens_ns);
}

TEST(tokens_are_earned_by_the_jobs_cpu_time)
{
    struct budget budget = begin(BUDGET_MILLIONTHS);

    empty(&budget);
    budget_earn(&budget, NS_PER_SECOND, 2 * NS_PER_SECOND);
    /* earns 0.3 % of 2 s and 0.05 % of 1 s */
    assert_true(budget_allows(&budget, SPENT_GLANCES, 6500 * NS_PER_US));
    assert_false(budget_allows(&budget, SPENT_GLANCES, 6501 * NS_PER_US));
    assert_int_equal(budget.postponed[SPENT_GLANCES], 1);
    assert_int_equal(budget.postponed[SPENT_SHARING], 0);
}

TEST(an_idle_job_earns_few_tokens)
{
    struct budget budget = begin(BUDGET_MILLIONTHS);

    empty(&budget);
    budget_earn(&budget, 10 * NS_PER_SECOND, UNKNOWN);
    assert_true(budget_allows(&budget, SPENT_GLANCES, 5 * NS_PER_MS));
    assert_false(budget_allows(&budget, SPENT_GLANCES, 5 * NS_PER_MS + 1));
}

TEST(the_number_of_saved_tokens_is_limited)
{
    struct budget budget = begin(BUDGET_MILLIONTHS);

    budget_earn(&budget, 1000 * NS_PER_SECOND, 1000 * NS_PER_SECOND);
    budget_charge(&budget, SPENT_SHARING, 30 * NS_PER_MS);
    assert_false(budget_allows(&budget, SPENT_GLANCES, 1));
    assert_int_equal(budget.spent_ns[SPENT_SHARING], 30 * NS_PER_MS);
}

TEST(expensive_work_is_repaid)
{
    struct budget budget = begin(BUDGET_MILLIONTHS);

    assert_false(budget_allows(&budget, SPENT_SHARING, NS_PER_SECOND)); /* not full yet */
    budget_earn(&budget, 100 * NS_PER_SECOND, 100 * NS_PER_SECOND);
    assert_true(budget_allows(&budget, SPENT_SHARING, NS_PER_SECOND));
    budget_charge(&budget, SPENT_SHARING, NS_PER_SECOND);
    budget_earn(&budget, 200 * NS_PER_SECOND, 200 * NS_PER_SECOND); /* repays 350 of 970 ms */
    assert_false(budget_allows(&budget, SPENT_GLANCES, 1));
    budget_earn(&budget, 400 * NS_PER_SECOND, 400 * NS_PER_SECOND);
    assert_true(budget_allows(&budget, SPENT_GLANCES, NS_PER_MS));
}

/* The loan is 25 ms. An idle job earns 0.5 ms per second; a third repays the loan, and the
 * rest may be spent. */
TEST(a_loan_is_repaid_by_a_third_of_the_income)
{
    struct budget budget = begin(BUDGET_MILLIONTHS);

    empty(&budget);
    assert_true(budget_lends(&budget, 25 * NS_PER_MS));
    budget_borrow(&budget, SPENT_SHARING, 25 * NS_PER_MS);
    assert_int_equal(budget.spent_ns[SPENT_SHARING], 25 * NS_PER_MS);
    assert_true(budget_lends(&budget, 5 * NS_PER_MS));
    assert_false(budget_lends(&budget, 5 * NS_PER_MS + 1));
    budget_earn(&budget, budget.earned_until_ns + 6 * NS_PER_SECOND, 0);
    assert_true(budget_allows(&budget, SPENT_GLANCES, 2 * NS_PER_MS));
    assert_false(budget_allows(&budget, SPENT_GLANCES, 2 * NS_PER_MS + 1));
    assert_true(budget_lends(&budget, 6 * NS_PER_MS));
    assert_false(budget_lends(&budget, 6 * NS_PER_MS + 1));
}

TEST(a_wait_lasts_until_enough_tokens_are_earned)
{
    struct budget budget = begin(BUDGET_MILLIONTHS);

    assert_int_equal(budget_wait_ns(&budget, SPENT_GLANCES, NS_PER_MS), 0);
    empty(&budget);
    assert_int_equal(budget_wait_ns(&budget, SPENT_GLANCES, NS_PER_MS),
                     2 * NS_PER_SECOND); /* earns 0.05 % */
    for (uint64_t i = 1; i < 100; i++) {
        budget_earn(&budget, i * NS_PER_SECOND, i * NS_PER_SECOND);
        empty(&budget);
    }
    assert_in_range(budget_wait_ns(&budget, SPENT_GLANCES, NS_PER_MS), 280 * NS_PER_MS,
                    290 * NS_PER_MS);
}

TEST(without_a_limit_everything_is_allowed)
{
    struct budget budget = begin(UINT64_MAX);

    budget_charge(&budget, SPENT_GPUS, 1000 * NS_PER_SECOND);
    assert_true(budget_allows(&budget, SPENT_GPUS, 1000 * NS_PER_SECOND));
    assert_int_equal(budget_wait_ns(&budget, SPENT_GLANCES, NS_PER_SECOND), 0);
    assert_int_equal(budget.spent_ns[SPENT_GPUS], 1000 * NS_PER_SECOND);
}

TEST(a_budget_of_0_never_allows_any_work)
{
    struct budget budget = begin(0);

    empty(&budget);
    budget_earn(&budget, 100 * NS_PER_SECOND, 100 * NS_PER_SECOND);
    assert_false(budget_allows(&budget, SPENT_GLANCES, 1));
    assert_false(budget_lends(&budget, 1));
}

TEST(no_kind_of_work_can_spend_all_tokens)
{
    struct budget budget = begin(BUDGET_MILLIONTHS);
    uint64_t spent_ns = 0;

    for (uint64_t i = 1; i <= 100; i++) {
        budget_earn(&budget, i * NS_PER_SECOND, i * NS_PER_SECOND);
        while (budget_allows(&budget, SPENT_SHARING, NS_PER_MS)) {
            budget_charge(&budget, SPENT_SHARING, NS_PER_MS);
            spent_ns += NS_PER_MS;
        }
        assert_true(i < 5 || budget_allows(&budget, SPENT_GPUS, NS_PER_MS));
    }
    /* an eighth of the 350 ms earned, plus the initial tokens */
    assert_in_range(spent_ns, 50 * NS_PER_MS, 55 * NS_PER_MS);
    assert_true(budget_wait_ns(&budget, SPENT_SHARING, NS_PER_MS) > 0);
    assert_int_equal(budget_wait_ns(&budget, SPENT_GPUS, NS_PER_MS), 0);
}
