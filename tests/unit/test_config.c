/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "fake_root.h"
#include "front/common/config.h"

static int apply(const char *text, uint32_t given, struct cli_settings *settings,
                 struct spoor_error *err)
{
    settings_init(settings);
    return config_apply_text("c.json", text, strlen(text), OPTION_RUN, given, settings, err);
}

static uint32_t bit_of(const char *name)
{
    const struct cli_option *option = option_find(&settings_table, name, strlen(name));

    return UINT32_C(1) << (option - settings_table.rows);
}

static void texts_numbers_and_booleans_are_taken(void **state)
{
    struct cli_settings settings;

    (void)state;
    assert_int_equal(apply("{\"interval\": 0.3, \"quiet\": true, \"append\": false,\n"
                           " \"summary-fd\": 7, \"name\": \"n\", \"duration\": \"1m\"}",
                           0, &settings, NULL),
                     0);
    assert_int_equal(settings.interval_ns, 300 * NS_PER_MS);
    assert_true(settings.is_quiet);
    assert_false(settings.is_append);
    assert_int_equal(settings.summary_fd, 7);
    assert_string_equal(settings.name, "n");
    assert_int_equal(settings.duration_ns, 0); /* not an option of run: passed over */
    settings_done(&settings);
}

static void tags_come_as_text_list_or_object(void **state)
{
    static const struct {
        const char *text;
        size_t count;
    } files[] = {
        { "{\"tag\": \"a=1\"}", 1 },
        { "{\"tag\": [\"a=1\", \"b=2\"]}", 2 },
        { "{\"tag\": {\"a\": \"1\", \"b\": \"x=y\"}}", 2 },
        { "{\"tag\": []}", 0 },
        { "{}", 0 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        struct cli_settings settings;

        assert_int_equal(apply(files[i].text, 0, &settings, NULL), 0);
        assert_int_equal(settings.tag_count, files[i].count);
        if (settings.tag_count)
            assert_string_equal(settings.tags[0], "a=1");
        settings_done(&settings);
    }
}

static void what_is_given_already_stays(void **state)
{
    struct cli_settings settings;

    (void)state;
    assert_int_equal(
        apply("{\"interval\": 5, \"name\": \"n\"}", bit_of("interval"), &settings, NULL), 0);
    assert_int_equal(settings.interval_ns, NS_PER_SECOND);
    assert_string_equal(settings.name, "n");
    settings_done(&settings);
}

static void mistakes_name_file_line_and_column(void **state)
{
    static const struct {
        const char *text;
        const char *message;
    } mistakes[] = {
        { "{\"intervalx\": 1}",
          "c.json:1:2: unknown key \"intervalx\"; did you mean \"interval\"?" },
        { "{\n  \"tag\": {\"interval\": \"{\\\",\"},\n  \"x\": 1}",
          "c.json:3:3: unknown key \"x\"; keys are the long options of spoor" },
        { "{\"name\": \"\xc3\xa9\", \"zzz\": 1}",
          "c.json:1:15: unknown key \"zzz\"; keys are the long options of spoor" },
        { "{\"help\": true}", "c.json:1:2: \"help\" cannot be set in a config file" },
        { "{\"pid\": 1}", "c.json:1:2: \"pid\" cannot be set in a config file" },
        { "{\"quiet\": 1}", "c.json:1:2: quiet: must be true or false" },
        { "{\"quiet\": null}", "c.json:1:2: quiet: must be true or false" },
        { "{\"interval\": true}", "c.json:1:2: interval: must be a text or a number" },
        { "{\"interval\": {}}", "c.json:1:2: interval: must be a text or a number" },
        { "{\"name\": [\"a\"]}", "c.json:1:2: name: must be a text or a number" },
        { "{\"tag\": {\"a\": 1}}", "c.json:1:2: tag: the value of 'a' must be a text" },
        { "{\"tag\": [[]]}", "c.json:1:2: tag: must be a text or a number" },
        { "{\"interval\": 0}", "c.json:1:2: interval: '0' is out of range: give 1ms to 1h" },
        { "[1]", "c.json:1:1: settings are an object: {\"interval\": 0.5}" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(mistakes); i++) {
        struct cli_settings settings;
        struct spoor_error err;

        assert_int_equal(apply(mistakes[i].text, 0, &settings, &err), -EINVAL);
        assert_string_equal(err.message, mistakes[i].message);
        settings_done(&settings);
    }
}

static void broken_json_is_refused_with_its_place(void **state)
{
    static const struct {
        const char *text;
        const char *place;
    } broken[] = {
        { "", "c.json:1:0: " },
        { "{", "c.json:1:1: " },
        { "{\"interval\": 1,\n}", "c.json:2:1: " },
        { "{\"interval\" 1}", "c.json:1:13: " },
        { "{\"name\": \"\xff\"}", "c.json:1:10: " },
        { "{\"name\": \"a\\u0000b\"}", "c.json:1:19: " },
        { "{\"name\": \"a\", \"name\": \"b\"}", "c.json:1:20: " },
        { "{} x", "c.json:1:4: " },
        { "\x1b[31m", "c.json:1:1: " },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
        struct cli_settings settings;
        struct spoor_error err;

        assert_int_equal(apply(broken[i].text, 0, &settings, &err), -EINVAL);
        if (strncmp(err.message, broken[i].place, strlen(broken[i].place)) != 0)
            fail_msg("case %zu: %s", i, err.message);
        settings_done(&settings);
    }
}

static void nesting_without_end_is_refused(void **state)
{
    char deep[20000] = "{\"tag\": ";
    struct cli_settings settings;
    struct spoor_error err;

    (void)state;
    memset(deep + strlen(deep), '[', sizeof(deep) - strlen(deep) - 1);
    deep[sizeof(deep) - 1] = '\0';
    assert_int_equal(apply(deep, 0, &settings, &err), -EINVAL);
    settings_done(&settings);
}

static void files_are_read_up_to_a_size(void **state)
{
    struct cli_settings settings;
    struct spoor_error err;
    struct fake_root fake;
    char path[128];

    (void)state;
    fake_root_init(&fake);
    fake_root_write(&fake, "good.json", "{\"interval\": \"2m\"}\n");
    settings_init(&settings);
    (void)snprintf(path, sizeof(path), "%s/good.json", fake.path);
    assert_int_equal(config_apply(path, OPTION_RUN, 0, &settings, &err), 0);
    assert_int_equal(settings.interval_ns, 120 * NS_PER_SECOND);
    (void)snprintf(path, sizeof(path), "%s/none.json", fake.path);
    assert_int_equal(config_apply(path, OPTION_RUN, 0, &settings, &err), -ENOENT);
    assert_int_equal(config_apply("/dev/zero", OPTION_RUN, 0, &settings, &err), -EFBIG);
    assert_int_equal(config_apply(fake.path, OPTION_RUN, 0, &settings, &err), -EISDIR);
    settings_done(&settings);
    fake_root_done(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_numbers_and_booleans_are_taken),
        cmocka_unit_test(tags_come_as_text_list_or_object),
        cmocka_unit_test(what_is_given_already_stays),
        cmocka_unit_test(mistakes_name_file_line_and_column),
        cmocka_unit_test(broken_json_is_refused_with_its_place),
        cmocka_unit_test(nesting_without_end_is_refused),
        cmocka_unit_test(files_are_read_up_to_a_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
