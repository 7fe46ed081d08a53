/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/amount.h"
#include "base/compiler.h"
#include "job/gpu/gpu_view.h"
#include "unit_test.h"

static const struct gpu_unit units[] = {
    { .place = { 0, -1 } },
    { .place = { 0, 1 }, .is_selected = true },
    { .place = { 1, -1 }, .is_selected = true },
};

TEST(each_gpu_of_the_job_has_columns)
{
    const struct gpu_view view = { .units = units, .count = ARRAY_SIZE(units) };
    struct gpu_columns columns = gpu_columns_of(&view);

    assert_int_equal(columns.count, 2);
    assert_int_equal(columns.places[0].part, 1);
    assert_int_equal(columns.places[1].index, 1);
}

TEST(columns_without_a_value_are_unknown)
{
    struct gpu_device_view devices[ARRAY_SIZE(units)];
    struct gpu_view view = { GPU_READY, .units = units, .count = 3, .devices = devices };
    double values[GPU_MEASURE_COUNT];

    for (size_t i = 0; i < ARRAY_SIZE(units); i++)
        gpu_device_view_init(&devices[i], &(struct gpu_sources){ 0 });
    devices[1].figures[GPU_POWER].measure.value = 250500;
    gpu_columns_read(&view, units[1].place, values);
    assert_true(fabs(values[GPU_POWER] - 250.5) < 1e-9);
    assert_true(isnan(values[GPU_MEMORY]));
    gpu_columns_read(&view, (struct gpu_place){ 7, -1 }, values); /* no such GPU */
    assert_true(isnan(values[GPU_POWER]));
    view.state = GPU_SILENT;
    gpu_columns_read(&view, units[1].place, values);
    assert_true(isnan(values[GPU_POWER]));
}
