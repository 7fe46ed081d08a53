/* SPDX-License-Identifier: Apache-2.0 */
#include "job/memory/survey.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <stdio.h>

#include "fake_memory.h"
#include "job/memory/memory_view.h"

enum { COPIED_PAGES = 300, PAGE_BYTES = 4096, CROWD = 20 };

static void put_stat(struct memory_fixture *f, int pid, unsigned faults)
{
    char text[160];

    (void)snprintf(text, sizeof(text),
                   "%d (x) S 1 1 1 0 -1 0 %u 0 0 0 0 0 0 0 20 0 1 0 5 1000 1000 0\n", pid,
                   faults);
    memory_write(f, pid, "stat", text);
}

/* The machine on which pages are copied while main is read. */
static struct memory_fixture *copying;

int __real_memory_view_read(const struct root *root, pid_t pid, struct memory_view *view);
int __wrap_memory_view_read(const struct root *root, pid_t pid, struct memory_view *view);

int __wrap_memory_view_read(const struct root *root, pid_t pid, struct memory_view *view)
{
    if (pid == MAIN)
        put_stat(copying, CHILD, COPIED_PAGES);
    return __real_memory_view_read(root, pid, view);
}

/* Main was read as it shared those pages, the child as it had copies of its own. */
static void pages_copied_before_their_process_is_read_count(void **state)
{
    struct memory_fixture f = { 0 };
    struct memory_view views[2];
    struct survey survey;

    (void)state;
    copying = &f;
    memory_begin(&f, SPOOR_DETAIL_ALWAYS);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 100 });
    memory_put(&f, &(struct fake_memory){ .pid = CHILD, .own = 40, .shared = 60 });
    put_stat(&f, MAIN, 0);
    put_stat(&f, CHILD, 0);
    survey = survey_plan(&f.members, MAIN);
    survey_take(&survey, &f.fake.root, &f.members, MAIN, views);
    survey_look_again(&survey, &f.fake.root, &f.members, MAIN);
    assert_int_equal(survey.count, 2);
    assert_int_equal(survey.gained_bytes, COPIED_PAGES * PAGE_BYTES);
    memory_end(&f);
}

/* Neither their page tables nor their sizes are read again: the child's files are missing. */
static void a_crowd_of_small_processes_is_not_walked(void **state)
{
    struct memory_fixture f = { 0 };
    struct memory_view views[CROWD];
    struct survey survey;

    (void)state;
    copying = &f;
    memory_begin(&f, SPOOR_DETAIL_AUTO);
    memory_put(&f, &(struct fake_memory){ .pid = MAIN, .own = 1 });
    for (int i = 0; i < CROWD - 2; i++)
        memory_add(&f, CHILD + 1 + i, MB);
    memory_put(&f, &(struct fake_memory){ .pid = CHILD, .own = 40 });
    survey = survey_plan(&f.members, MAIN);
    assert_int_equal(survey.walk_count, 2);
    assert_int_equal(survey.walk_bytes, 41 * MB);
    survey_take(&survey, &f.fake.root, &f.members, MAIN, views);
    survey_look_again(&survey, &f.fake.root, &f.members, MAIN);
    assert_int_equal(survey.count, CROWD);
    assert_false(survey.has_ended);
    assert_int_equal(views[1].private_total, MB);
    /* A copy of its parent shares what nothing but a walk shows. */
    members_find(&f.members, CHILD + 1)->has_exec = false;
    assert_int_equal(survey_plan(&f.members, MAIN).walk_count, CROWD);
    memory_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_copied_before_their_process_is_read_count),
        cmocka_unit_test(a_crowd_of_small_processes_is_not_walked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
