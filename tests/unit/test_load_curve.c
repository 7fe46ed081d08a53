/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "example_report.h"
#include "record/load_curve.h"

static int load(const char *text, struct record *record, struct spoor_error *err)
{
    json_t *root = json_loads(text, JSON_DECODE_ANY, NULL);
    int r;

    assert_non_null(root);
    record_init(record);
    r = load_curve(record, root, err);
    json_decref(root);
    return r;
}

static void what_is_left_out_is_as_the_highest(void **state)
{
    struct record record;

    (void)state;
    assert_int_equal(load("{\"samples\":7,\"seconds\":[1,2.5],\"columns\":{\"later_metric\":"
                          "{\"kind\":\"rate\",\"high\":[null,4],\"mean\":[null,2],\"new\":1}}}",
                          &record, NULL),
                     0);
    assert_int_equal(record.curve.samples, 7);
    assert_int_equal(record.curve.count, 2);
    assert_true(record.curve.columns[0].is_rate);
    assert_true(isnan(record.curve.columns[0].low[0]));
    assert_true(fabsf(record.curve.columns[0].low[1] - 4) < 1e-6f);
    assert_true(fabsf(record.curve.columns[0].mean[1] - 2) < 1e-6f);
    record_done(&record);
    assert_int_equal(load("null", &record, NULL), 0);
    assert_int_equal(record.curve.count, 0);
    record_done(&record);
}

static void what_is_not_a_curve_is_refused(void **state)
{
#define COLUMN(text) "{\"samples\":1,\"seconds\":[1],\"columns\":{\"a\":" text "}}"
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "3", "curve.columns" },
        { "{\"samples\":1,\"seconds\":[1],\"columns\":[]}", "curve.columns" },
        { "{\"samples\":-1,\"seconds\":[1],\"columns\":{}}", "curve.samples" },
        { "{\"samples\":1,\"seconds\":3,\"columns\":{}}", "curve.seconds" },
        { "{\"samples\":1,\"seconds\":[2,1],\"columns\":{}}", "never decrease" },
        { "{\"samples\":1,\"seconds\":[\"1\"],\"columns\":{}}", "curve.seconds" },
        { COLUMN("1"), "curve.columns.a.kind" },
        { COLUMN("{\"kind\":\"x\",\"high\":[1]}"), "curve.columns.a.kind" },
        { COLUMN("{\"kind\":\"rate\"}"), "curve.columns.a.high" },
        { COLUMN("{\"kind\":\"rate\",\"high\":[1,2]}"), "array of 1 numbers" },
        { COLUMN("{\"kind\":\"rate\",\"high\":[true]}"), "array of 1 numbers" },
        { COLUMN("{\"kind\":\"rate\",\"high\":[1],\"low\":[null]}"), "the same nulls" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct spoor_error err = { 0 };
        struct record record;

        assert_int_equal(load(cases[i].text, &record, &err), -EBADMSG);
        assert_non_null(strstr(err.message, cases[i].message));
        record_done(&record);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_out_is_as_the_highest),
        cmocka_unit_test(what_is_not_a_curve_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
