/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "compat/resource_tracker/config.h"
#include "compat/resource_tracker/options.h"
#include "compat/resource_tracker/program.h"
#include "fake_root.h"

struct setup {
    struct fake_root fake; /* its folder is the current one */
    struct tracker_settings settings;
    struct arguments arguments;
};

static void setup_init(struct setup *setup, const char *config)
{
    *setup = (struct setup){
        .arguments = ARGUMENTS_INIT(&resource_tracker_program,
                                    resource_tracker_program.main_command, &setup->settings),
    };
    fake_root_init(&setup->fake);
    fake_root_write(&setup->fake, "resource-tracker.toml", config);
    assert_int_equal(chdir(setup->fake.path), 0);
    tracker_settings_init(&setup->settings);
}

static void setup_done(struct setup *setup)
{
    assert_int_equal(chdir("/"), 0);
    tracker_settings_done(&setup->settings);
    fake_root_done(&setup->fake);
}

static void a_file_sets_what_is_not_set_yet(void **state)
{
    struct setup setup;
    struct spoor_error err;

    (void)state;
    setup_init(&setup, "[job]\nname = 'file'\npid = 42\n[tracker]\ninterval_secs = 2.5\n"
                       "other = true\n");
    assert_int_equal(tracker_config_read(&setup.arguments, NULL, &err), 0);
    assert_string_equal(setup.settings.job_name, "file");
    assert_int_equal(setup.settings.pid, 42);
    assert_int_equal(setup.settings.interval_ns, 5 * NS_PER_SECOND / 2);
    assert_int_equal(arguments_source(&setup.arguments, "pid"), SET_BY_FILE);
    setup_done(&setup);
}

/* Whatever is wrong with it comes last. */
static void nothing_of_a_bad_file_is_applied(void **state)
{
    static const char *const bad[] = {
        "[job]\nname = 'file'\npid = 42\n[tracker]\ninterval_secs = 0\n",
        "[tracker]\ninterval_secs = 9\n[job]\nname = 'file'\npid = 'x'\n",
        "[tracker]\ninterval_secs = 9\n[job]\npid = 42\nname = 'file\n",
        "[tracker]\ninterval_secs = 9\n[job]\nname = 'file'\nname = 'again'\n",
    };
    struct spoor_error err;

    (void)state;
    for (size_t i = 0; i < 2 * ARRAY_SIZE(bad); i++) {
        const char *path = i < ARRAY_SIZE(bad) ? NULL : "resource-tracker.toml";
        struct setup setup;

        setup_init(&setup, bad[i % ARRAY_SIZE(bad)]);
        assert_int_equal(tracker_config_read(&setup.arguments, path, &err), path ? -EINVAL : 0);
        assert_non_null(strstr(err.message, "resource-tracker.toml:"));
        assert_null(setup.settings.job_name);
        assert_int_equal(setup.settings.pid, 0);
        assert_int_equal(setup.settings.interval_ns, NS_PER_SECOND);
        assert_int_equal(arguments_source(&setup.arguments, "pid"), SET_BY_NOTHING);
        setup_done(&setup);
    }
}

static void only_a_file_that_was_named_must_exist(void **state)
{
    struct setup setup;
    struct spoor_error err;

    (void)state;
    setup_init(&setup, "");
    assert_int_equal(unlink("resource-tracker.toml"), 0);
    assert_int_equal(tracker_config_read(&setup.arguments, NULL, &err), 0);
    assert_int_equal(tracker_config_read(&setup.arguments, "missing.toml", &err), -ENOENT);
    assert_string_equal(err.message, "config file 'missing.toml': No such file or directory");
    setup_done(&setup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_sets_what_is_not_set_yet),
        cmocka_unit_test(nothing_of_a_bad_file_is_applied),
        cmocka_unit_test(only_a_file_that_was_named_must_exist),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
