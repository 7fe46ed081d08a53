/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <unistd.h>

#include "base/root.h"
#include "fake_root.h"

static void without_proc_no_file_of_a_process_is_read(void **state)
{
    struct fake_root fake;
    struct cached_file kept = CACHED_FILE_CLOSED;
    char text[64];

    (void)state;
    fake_root_init(&fake);
    fake_root_write(&fake, "proc/42/stat", "42");
    fake_root_write(&fake, "proc/self/stat", "1");
    fake_root_write(&fake, "proc/stat", "cpu");
    assert_int_equal(root_read(&fake.root, text, sizeof(text), "proc/%d/stat", 42), 2);

    fake.root.proc_fault = "it shows others";
    assert_int_equal(root_read(&fake.root, text, sizeof(text), "proc/%d/stat", 42), -ESRCH);
    assert_int_equal(root_read_start(&fake.root, text, sizeof(text), "proc/42/stat"), -ESRCH);
    assert_int_equal(root_open_dir(&fake.root, "proc/%d", 42), -ESRCH);
    assert_int_equal(root_read_link(&fake.root, text, sizeof(text), "proc/42/exe"), -ESRCH);
    assert_false(root_exists(&fake.root, "proc/42/stat"));
    assert_int_equal(cached_file_read(&kept, &fake.root, text, sizeof(text), "proc/42/stat"),
                     -ESRCH);
    assert_int_equal(root_read(&fake.root, text, sizeof(text), "proc/self/stat"), 1);
    assert_int_equal(root_read(&fake.root, text, sizeof(text), "proc/stat"), 3);
    fake.root.proc_fault = NULL;
    fake_root_done(&fake);
}

static void proc_of_this_machine_shows_this_process(void **state)
{
    struct root root, copy;

    (void)state;
    assert_int_equal(root_open(NULL, &root), 0);
    assert_null(root.proc_fault);
    root.proc_fault = "a fault";
    assert_int_equal(root_copy(&root, &copy), 0);
    assert_string_equal(copy.proc_fault, "a fault");
    root_close(&copy);
    root_close(&root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_proc_no_file_of_a_process_is_read),
        cmocka_unit_test(proc_of_this_machine_shows_this_process),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
