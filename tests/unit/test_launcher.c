/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "job/launcher.h"

struct said {
    int count;
    char names[256];
    bool is_short; /* each warning fits into 240 bytes with what stands before it */
};

static void note(const char *name, const char *text, void *data)
{
    struct said *said = data;

    size_t used = strlen(said->names);

    said->count++;
    (void)snprintf(said->names + used, sizeof(said->names) - used, "%s ", name);
    said->is_short &= strlen(name) + strlen(text) < 200;
}

static void only_whole_names_count(void **state)
{
    (void)state;
    assert_int_not_equal(launcher_find("srun"), 0);
    assert_int_not_equal(launcher_find("docker"), launcher_find("docker-compose"));
    assert_int_equal(launcher_find("srunx"), 0);
    assert_int_equal(launcher_find("sru"), 0);
    assert_int_equal(launcher_find(""), 0);
    assert_int_equal(launcher_find("podman"),
                     0); /* its containers are descendants of the job */
}

static void each_is_described_once(void **state)
{
    struct said said = { .is_short = true };

    (void)state;
    launcher_describe(0, note, &said);
    assert_int_equal(said.count, 0);
    launcher_describe(launcher_find("docker") | launcher_find("srun"), note, &said);
    assert_int_equal(said.count, 2);
    assert_string_equal(said.names, "srun docker ");
    launcher_describe(~0u, note, &said);
    assert_true(said.is_short);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_whole_names_count),
        cmocka_unit_test(each_is_described_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
