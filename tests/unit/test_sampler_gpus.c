/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>

#include "base/clock.h"
#include "base/unknown.h"
#include "sample/sampler.h"

static uint64_t said(struct sampler *sampler, struct gpu_view *view, uint64_t busy_ns,
                     bool is_last)
{
    struct sample sample;

    sample_clear(&sample);
    view->totals.measures[GPU_TOTAL_JOB_BUSY].value = busy_ns;
    sampler_add_gpus(sampler, view, is_last, &sample);
    return sample.value[METRIC_JOB_GPU_BUSY];
}

/* A driver's samples come late; until then the busy time is carried on. */
static void busy_time_steps_back_at_the_end_alone(void **state)
{
    static struct sampler sampler;
    struct gpu_view view = { .state = GPU_READY };

    (void)state;
    gpu_totals_clear(&view.totals);
    assert_int_equal(said(&sampler, &view, 5 * NS_PER_SECOND, false), 5 * NS_PER_SECOND);
    assert_int_equal(said(&sampler, &view, 3 * NS_PER_SECOND, false), 5 * NS_PER_SECOND);
    assert_false(is_known(said(&sampler, &view, UNKNOWN, false)));
    assert_int_equal(said(&sampler, &view, 4 * NS_PER_SECOND, true), 4 * NS_PER_SECOND);
}

/* It answered when the job's memory was at its peak, and then no more. */
static void levels_that_a_silent_driver_told_before_are_in_the_sample(void **state)
{
    static struct sampler sampler;
    struct gpu_view view = { .state = GPU_SILENT, .reason = "it is silent" };
    struct sample sample;

    (void)state;
    gpu_totals_clear(&view.totals);
    view.totals.measures[GPU_TOTAL_JOB_MEMORY].value = 5;
    sample_clear(&sample);
    sampler_add_gpus(&sampler, &view, true, &sample);
    assert_int_equal(sample.value[METRIC_JOB_GPU_MEMORY], 5);
    assert_false(is_known(sample.moment[METRIC_JOB_GPU_MEMORY]));
    assert_false(is_known(sample.value[METRIC_JOB_GPU_BUSY]));
    assert_false(is_known(sample.value[METRIC_HOST_GPU_ENERGY]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(busy_time_steps_back_at_the_end_alone),
        cmocka_unit_test(levels_that_a_silent_driver_told_before_are_in_the_sample),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
