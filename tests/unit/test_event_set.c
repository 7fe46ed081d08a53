/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "source/perf/events.h"
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

TEST(each_thread_gets_one_event)
{
    static const pid_t lists[][4] = { { 12, 11 } };
    struct fake fake = { .lists = lists, .list_count = 1 };

    assert_int_equal(run(&fake), 0);
    assert_int_equal(fake.open_count, 2);
}

/* A thread that inherited an event must not get another event, which would count it a second
 * time. */
TEST(a_thread_that_starts_during_the_setup_is_not_counted_twice)
{
    static const pid_t lists[][4] = { { 11 }, { 11, 12 }, { 11, 12 } };
    struct fake fake = { .lists = lists, .list_count = 3 };

    assert_int_equal(run(&fake), 0);
    assert_int_equal(fake.asked, 4); /* before and after each of two attempts */
    assert_int_equal(fake.open_count, 2);
    assert_int_equal(fake.open[0], 11);
    assert_int_equal(fake.open[1], 12);
}

TEST(an_exited_thread_loses_only_its_own_event)
{
    static const pid_t lists[][4] = { { 11, 12, 13 }, { 11, 13 } };
    struct fake fake = { .lists = lists, .list_count = 2, .refused = 12, .error = -ESRCH };

    assert_int_equal(run(&fake), 0);
    assert_int_equal(fake.open_count, 2);
}

TEST(no_event_stays_open_if_one_is_refused)
{
    static const pid_t lists[][4] = { { 11, 12, 13 } };
    struct fake fake = { .lists = lists, .list_count = 1, .refused = 12, .error = -EMFILE };

    assert_int_equal(run(&fake), -EMFILE);
    assert_int_equal(fake.open_count, 0);
}

TEST(following_endlessly_starting_threads_gives_up)
{
    static const pid_t lists[][4] = { { 1 },  { 2 },  { 3 },  { 4 },  { 5 },  { 6 },
                                      { 7 },  { 8 },  { 9 },  { 10 }, { 11 }, { 12 },
                                      { 13 }, { 14 }, { 15 }, { 16 } };
    struct fake fake = { .lists = lists, .list_count = 16 };

    assert_int_equal(run(&fake), 0);
    assert_int_equal(fake.open_count, 1);
}
