/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "source/perf/event_set.h"
#include "unit_test.h"

/* A job whose threads change: each call of list() returns the next of `lists`. */
struct fake {
    const pid_t (*lists)[4]; /* each ends with 0; the last list is repeated */
    size_t list_count, asked;
    pid_t refused;
    int error;
    pid_t open[16];
    size_t open_count;
};

static void list(void *data, child_found *found, void *found_data)
{
    struct fake *fake = data;
    size_t index = fake->asked < fake->list_count ? fake->asked : fake->list_count - 1;

    fake->asked++;
    for (size_t i = 0; i < 4 && fake->lists[index][i] != 0; i++)
        found(fake->lists[index][i], found_data);
}

static int open_one(void *data, pid_t tid)
{
    struct fake *fake = data;

    if (tid == fake->refused)
        return fake->error;
    fake->open[fake->open_count++] = tid;
    return 0;
}

static void close_all(void *data)
{
    struct fake *fake = data;

    fake->open_count = 0;
}

static int run(struct fake *fake)
{
    const struct thread_events events = { list, fake, open_one, close_all, fake };

    return thread_events_open(&events);
}

static void each_thread_gets_one_event(void **state)
{
    static const pid_t lists[][4] = { { 12, 11 } };
    struct fake fake = { .lists = lists, .list_count = 1 };

    assert_int_equal(run(&fake), 0);
    assert_int_equal(fake.open_count, 2);
}

/* A thread that inherited an event must not get another event, which would count it a second
 * time. */
static void a_thread_that_starts_during_the_setup_is_not_counted_twice(void **state)
{
    static const pid_t lists[][4] = { { 11 }, { 11, 12 }, { 11, 12 } };
    struct fake fake = { .lists = lists, .list_count = 3 };

    assert_int_equal(run(&fake), 0);
    assert_int_equal(fake.asked, 4); /* before and after each of two attempts */
    assert_int_equal(fake.open_count, 2);
    assert_int_equal(fake.open[0], 11);
    assert_int_equal(fake.open[1], 12);
}

static void an_exited_thread_loses_only_its_own_event(void **state)
{
    static const pid_t lists[][4] = { { 11, 12, 13 }, { 11, 13 } };
    struct fake fake = { .lists = lists, .list_count = 2, .refused = 12, .error = -ESRCH };

    assert_int_equal(run(&fake), 0);
    assert_int_equal(fake.open_count, 2);
}

static void no_event_stays_open_if_one_is_refused(void **state)
{
    static const pid_t lists[][4] = { { 11, 12, 13 } };
    struct fake fake = { .lists = lists, .list_count = 1, .refused = 12, .error = -EMFILE };

    assert_int_equal(run(&fake), -EMFILE);
    assert_int_equal(fake.open_count, 0);
}

static void following_endlessly_starting_threads_gives_up(void **state)
{
    static const pid_t lists[][4] = { { 1 },  { 2 },  { 3 },  { 4 },  { 5 },  { 6 },
                                      { 7 },  { 8 },  { 9 },  { 10 }, { 11 }, { 12 },
                                      { 13 }, { 14 }, { 15 }, { 16 } };
    struct fake fake = { .lists = lists, .list_count = 16 };

    assert_int_equal(run(&fake), 0);
    assert_int_equal(fake.open_count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_thread_gets_one_event),
        cmocka_unit_test(a_thread_that_starts_during_the_setup_is_not_counted_twice),
        cmocka_unit_test(an_exited_thread_loses_only_its_own_event),
        cmocka_unit_test(no_event_stays_open_if_one_is_refused),
        cmocka_unit_test(following_endlessly_starting_threads_gives_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
