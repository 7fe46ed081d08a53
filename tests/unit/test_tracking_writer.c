/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "compat/tracking/tracking_read.h"
#include "compat/tracking/tracking_writer.h"
#include "fake_root.h"

static const struct tracking_facts facts = { .ram_unit = "gigabytes",
                                             .gpu_ram_unit = "gigabytes",
                                             .time_unit = "hours" };
static const char *const names[] = { "t.csv", "t.sqlite" };

static int count_row(const double row[TRACKING_COLUMNS], void *data)
{
    size_t *count = data;

    (void)row;
    ++*count;
    return 0;
}

static void check_rows(const char *path, size_t expected)
{
    struct tracking_read_facts read;
    size_t count = 0;

    assert_int_equal(tracking_read(path, &read, count_row, &count, NULL), 0);
    assert_int_equal(count, expected);
    assert_string_equal(read.texts[0], "gigabytes");
}

static int start(struct tracking_writer *writer, const char *path, bool overwrite,
                 struct spoor_error *err)
{
    int r = tracking_writer_start(writer, path, overwrite, err);

    return r < 0 ? r : tracking_writer_open(writer, &facts, err);
}

static void add_rows(struct tracking_writer *writer, int count)
{
    const double row[TRACKING_COLUMNS] = { [TRACKING_TIMESTAMP] = 1 };

    for (int i = 0; i < count; i++)
        assert_int_equal(tracking_writer_add(writer, row, NULL), 0);
}

static void rows_are_in_the_file(void **state)
{
    struct fake_root fake;

    (void)state;
    fake_root_init(&fake);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct tracking_writer writer;
        struct spoor_error err;
        char path[128];

        (void)snprintf(path, sizeof(path), "%s/%s", fake.path, names[i]);
        assert_int_equal(start(&writer, path, false, &err), 0);
        assert_int_equal(tracking_writer_begin(&writer, &err), 0);
        add_rows(&writer, 3);
        assert_int_equal(tracking_writer_close(&writer, &err), 0);
        check_rows(path, 3);
        assert_int_equal(start(&writer, path, false, &err), -EEXIST);
        assert_non_null(strstr(err.message, "already exists"));
        assert_int_equal(writer.process.pid, 0);
        assert_int_equal(start(&writer, path, true, &err), 0);
        assert_int_equal(tracking_writer_close(&writer, &err), 0); /* it never began */
        check_rows(path, 3);
    }
    fake_root_done(&fake);
}

static void a_failure_is_returned_once(void **state)
{
    const double row[TRACKING_COLUMNS] = { 0 };
    struct fake_root fake;

    (void)state;
    fake_root_init(&fake);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct tracking_writer writer;
        struct spoor_error err;
        char path[128];
        int failures = 0;

        (void)snprintf(path, sizeof(path), "%s/%s", fake.path, names[i]);
        assert_int_equal(start(&writer, path, false, &err), 0);
        assert_int_equal(tracking_writer_begin(&writer, &err), 0);
        assert_int_equal(unlink(path), 0);
        for (int n = 0; n < 5; n++)
            failures += tracking_writer_add(&writer, row, &err) < 0;
        failures += tracking_writer_close(&writer, &err) < 0;
        assert_int_equal(failures, 1);
        assert_non_null(strstr(err.message, "was removed"));
    }
    fake_root_done(&fake);
}

static void a_process_that_dies_costs_the_rows(void **state)
{
    struct tracking_writer writer;
    struct spoor_error err;
    struct fake_root fake;
    siginfo_t info;
    char path[128];

    (void)state;
    fake_root_init(&fake);
    (void)snprintf(path, sizeof(path), "%s/t.csv", fake.path);
    assert_int_equal(start(&writer, path, false, &err), 0);
    assert_int_equal(tracking_writer_begin(&writer, &err), 0);
    assert_int_equal(kill(writer.process.pid, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)writer.process.pid, &info, WEXITED | WNOWAIT | __WALL),
                     0);
    add_rows(&writer, 2);
    assert_int_equal(tracking_writer_close(&writer, &err), -ECHILD);
    assert_non_null(strstr(err.message, "could not write 2 rows to the file"));
    fake_root_done(&fake);
}

static void a_closed_one_does_nothing(void **state)
{
    struct tracking_writer writer = { 0 };

    (void)state;
    add_rows(&writer, 1);
    tracking_writer_wait(&writer);
    assert_int_equal(tracking_writer_close(&writer, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_in_the_file),
        cmocka_unit_test(a_failure_is_returned_once),
        cmocka_unit_test(a_process_that_dies_costs_the_rows),
        cmocka_unit_test(a_closed_one_does_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
