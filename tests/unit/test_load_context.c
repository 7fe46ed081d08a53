/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <string.h>

#include "output/format.h"
#include "record/load.h"
#include "record/load_context.h"

#define REPORT "{\"schema\": \"spoor/1\", \"run\": {}, \"context\": "

/* The context as a report that was loaded writes it; NULL: it does not. */
static const char *context_again(const char *report, struct buffer *out)
{
    struct spoor_error err = { 0 };
    struct record record;

    buffer_clear(out);
    if (record_parse(report, strlen(report), &record, NULL, &err) < 0)
        fail_msg("%s", err.message);
    json_write(&record, NULL, out);
    record_done(&record);
    assert_int_equal(buffer_error(out), 0);
    return strstr(out->text, "\"context\"");
}

static void context_is_carried_as_it_is(void **state)
{
    static const char context[] = "\"context\": {\"b\":[1,2.5,null,{\"x\":\"</script>\\n\"}],"
                                  "\"a\":\"\xc3\xa9\"}\n}\n";
    struct buffer once = { 0 }, twice = { 0 };

    (void)state;
    assert_string_equal(context_again(REPORT
                                      "{\"b\": [1, 2.5, null, {\"x\": \"</script>\\n\"}], "
                                      "\"a\": \"\\u00e9\"}}",
                                      &once),
                        context);
    assert_string_equal(context_again(once.text, &twice), context);
    assert_string_equal(once.text, twice.text);
    buffer_done(&once);
    buffer_done(&twice);
}

static void what_is_not_an_object_is_ignored(void **state)
{
    static const char *const reports[] = { REPORT "null}", REPORT "[1]}", REPORT "\"x\"}",
                                           "{\"schema\": \"spoor/1\", \"run\": {}}" };
    struct buffer out = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof(reports) / sizeof(*reports); i++)
        assert_null(context_again(reports[i], &out));
    buffer_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(context_is_carried_as_it_is),
        cmocka_unit_test(what_is_not_an_object_is_ignored),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
