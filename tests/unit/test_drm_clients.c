/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/amount.h"
#include "base/clock.h"
#include "source/gpu/drm_clients.h"
#include "unit_test.h"

#define MS NS_PER_MS

static int open_clients(void **state)
{
    struct drm_clients *clients = malloc(sizeof(*clients));

    assert_non_null(clients);
    assert_int_equal(drm_clients_init(clients, 2, false), 0);
    /* Runs a first sweep without any client, so that later clients count from 0. */
    drm_clients_begin(clients);
    drm_clients_end(clients, true);
    drm_clients_count(clients, 1000 * MS);
    *state = clients;
    return 0;
}

static int close_clients(void **state)
{
    drm_clients_done(*state);
    drm_clients_done(*state); /* a second call is harmless */
    free(*state);
    return 0;
}

/* Adds a client. `figures`: lines of its fdinfo, except the driver and the client ID. */
static void see(struct drm_clients *clients, int pid, int fd, int id, const char *figures)
{
    struct drm_fdinfo info;
    char text[1024];

    (void)snprintf(text, sizeof(text), "drm-driver: x\ndrm-client-id: %d\n%s", id, figures);
    assert_int_equal(drm_fdinfo_parse(text, &info), 0);
    assert_int_equal(drm_clients_see(clients, 0, pid, fd, &info), 0);
}

static void see_alone(struct drm_clients *clients, int pid, int id, const char *figures,
                      uint64_t now_ns)
{
    drm_clients_begin(clients);
    see(clients, pid, 3, id, figures);
    drm_clients_end(clients, true);
    drm_clients_count(clients, now_ns);
}

static struct gpu_process only(const struct drm_clients *clients)
{
    struct gpu_process process;

    assert_int_equal(drm_clients_list(clients, &process, 1), 1);
    return process;
}

TEST_WITH(busy_time_is_the_time_of_the_busiest_engine_class, open_clients, close_clients)
{
    struct drm_clients *clients = *state;

    see_alone(clients, 42, 1, "drm-engine-gfx: 0 ns\ndrm-engine-compute: 0 ns\n", 2000 * MS);
    see_alone(clients, 42, 1,
              "drm-engine-gfx: 300000000 ns\ndrm-engine-compute: 900000000 ns\n", 3000 * MS);
    assert_int_equal(only(clients).busy_ns, 900 * MS); /* neither 1200 nor 600 */
    see_alone(clients, 42, 1,
              "drm-engine-gfx: 800000000 ns\ndrm-engine-compute: 900000000 ns\n", 4000 * MS);
    assert_int_equal(only(clients).busy_ns, 1400 * MS);
}

TEST_WITH(the_time_of_a_class_is_divided_by_its_engines, open_clients, close_clients)
{
    struct drm_clients *clients = *state;

    see_alone(clients, 42, 1, "drm-engine-ccs: 2000000000 ns\ndrm-engine-capacity-ccs: 4\n",
              2000 * MS);
    assert_int_equal(only(clients).busy_ns, 500 * MS);
}

TEST_WITH(clients_of_a_process_are_summed_by_class, open_clients, close_clients)
{
    struct drm_clients *clients = *state;

    drm_clients_begin(clients);
    see(clients, 42, 3, 1, "drm-engine-gfx: 200000000 ns\ndrm-resident-vram: 5\n");
    see(clients, 42, 4, 2, "drm-engine-gfx: 300000000 ns\ndrm-resident-vram: 6\n");
    see(clients, 42, 5, 3, "drm-engine-dma: 400000000 ns\ndrm-resident-vram: 7\n");
    drm_clients_end(clients, true);
    drm_clients_count(clients, 2000 * MS);
    assert_int_equal(only(clients).busy_ns, 500 * MS);
    assert_int_equal(only(clients).memory_bytes, 18);
}

TEST_WITH(busy_time_never_exceeds_the_elapsed_time, open_clients, close_clients)
{
    struct drm_clients *clients = *state;

    see_alone(clients, 42, 1, "drm-engine-gfx: 9000000000 ns\n", 1500 * MS);
    assert_int_equal(only(clients).busy_ns, 500 * MS);
    see_alone(clients, 42, 1, "drm-engine-gfx: 9000000000 ns\n", 1700 * MS);
    assert_int_equal(only(clients).busy_ns, 700 * MS); /* the counter ran ahead of the clock */
}

TEST_WITH(a_counter_that_decreases_keeps_the_larger_value, open_clients, close_clients)
{
    struct drm_clients *clients = *state;

    see_alone(clients, 42, 1, "drm-engine-gfx: 500000000 ns\n", 2000 * MS);
    see_alone(clients, 42, 1, "drm-engine-gfx: 100000000 ns\n", 3000 * MS);
    assert_int_equal(only(clients).busy_ns, 500 * MS);
    see_alone(clients, 42, 1, "drm-engine-gfx: 600000000 ns\n", 4000 * MS);
    assert_int_equal(only(clients).busy_ns, 600 * MS);
}

TEST_WITH(cycles_that_decrease_keep_the_larger_value, open_clients, close_clients)
{
    struct drm_clients *clients = *state;

    see_alone(clients, 42, 1, "drm-cycles-rcs: 5000000\ndrm-total-cycles-rcs: 50000000\n",
              1500 * MS);
    see_alone(clients, 42, 1, "drm-cycles-rcs: 6000000\ndrm-total-cycles-rcs: 60000000\n",
              2500 * MS);
    see_alone(clients, 42, 1, "drm-cycles-rcs: 1000000\ndrm-total-cycles-rcs: 70000000\n",
              3500 * MS);
    assert_int_equal(only(clients).busy_ns, 600 * MS); /* at 10 MHz */
    see_alone(clients, 42, 1, "drm-cycles-rcs: 7000000\ndrm-total-cycles-rcs: 80000000\n",
              4500 * MS);
    assert_int_equal(only(clients).busy_ns, 700 * MS);
}

TEST_WITH(a_client_found_in_the_first_sweep_is_counted_from_then_on, open_clients,
          close_clients)
{
    struct drm_clients clients;

    assert_int_equal(drm_clients_init(&clients, 1, false), 0);
    drm_clients_begin(&clients); /* a sweep over no processes does not count as the first */
    drm_clients_end(&clients, false);
    see_alone(&clients, 42, 1, "drm-engine-gfx: 500000000 ns\n", 2000 * MS);
    assert_int_equal(only(&clients).busy_ns, 0);
    see_alone(&clients, 42, 1, "drm-engine-gfx: 700000000 ns\n", 3000 * MS);
    assert_int_equal(only(&clients).busy_ns, 200 * MS);
    drm_clients_done(&clients);
}

TEST_WITH(cycles_are_converted_to_time_once_the_clock_is_known, open_clients, close_clients)
{
    struct drm_clients *clients = *state;

    see_alone(clients, 42, 1, "drm-cycles-rcs: 1000000\ndrm-total-cycles-rcs: 50000000\n",
              1500 * MS);
    assert_true(only(clients).busy_ns == UNKNOWN); /* not measured yet */
    assert_string_equal(only(clients).reason, "not measured yet");
    see_alone(clients, 42, 1, "drm-cycles-rcs: 6000000\ndrm-total-cycles-rcs: 69200000\n",
              2500 * MS);
    assert_in_range(only(clients).busy_ns, 312 * MS, 313 * MS); /* 6e6 cycles at 19.2 MHz */
}

TEST_WITH(an_idle_client_without_a_known_clock_has_no_busy_time, open_clients, close_clients)
{
    see_alone(*state, 42, 1, "drm-cycles-rcs: 0\ndrm-total-cycles-rcs: 50000000\n", 1500 * MS);
    assert_int_equal(only(*state).busy_ns, 0);
}

/* The client is seen only once; later clients reveal the frequency of the clock. */
TEST_WITH(cycles_of_an_ended_client_are_counted_once_the_clock_is_known, open_clients,
          close_clients)
{
    struct drm_clients *clients = *state;
    struct gpu_process list[2];

    see_alone(clients, 42, 1, "drm-cycles-rcs: 1920000\ndrm-total-cycles-rcs: 50000000\n",
              1500 * MS);
    see_alone(clients, 43, 2, "drm-cycles-rcs: 0\ndrm-total-cycles-rcs: 69200000\n", 2500 * MS);
    assert_int_equal(drm_clients_list(clients, list, 2), 2);
    assert_true(list[0].has_ended);
    assert_int_equal(list[0].busy_ns, 100 * MS);
    assert_int_equal(list[1].busy_ns, 0);
}

TEST_WITH(a_clock_that_is_set_back_is_measured_again, open_clients, close_clients)
{
    struct drm_clients *clients = *state;

    see_alone(clients, 42, 1, "drm-cycles-rcs: 0\ndrm-total-cycles-rcs: 50000000\n", 1500 * MS);
    see_alone(clients, 42, 1, "drm-cycles-rcs: 0\ndrm-total-cycles-rcs: 60000000\n", 2500 * MS);
    see_alone(clients, 42, 1, "drm-cycles-rcs: 1000000\ndrm-total-cycles-rcs: 55000000\n",
              3500 * MS);
    assert_int_equal(only(clients).busy_ns, 100 * MS); /* uses the frequency measured before */
    see_alone(clients, 42, 1, "drm-cycles-rcs: 2000000\ndrm-total-cycles-rcs: 75000000\n",
              4500 * MS);
    assert_int_equal(only(clients).busy_ns, 150 * MS);
}

TEST_WITH(cycles_of_a_known_frequency_are_converted_to_time, open_clients, close_clients)
{
    see_alone(*state, 42, 1, "drm-cycles-gpu: 80000000\ndrm-maxfreq-gpu: 800 MHz\n", 2000 * MS);
    assert_int_equal(only(*state).busy_ns, 100 * MS);
}

TEST_WITH(a_percentage_applies_since_the_last_count, open_clients, close_clients)
{
    struct drm_clients *clients = *state;

    see_alone(clients, 42, 1, "gfx0: 50.0%\ncompute0: 20.0%\n", 2000 * MS);
    see_alone(clients, 42, 1, "compute0: 20.0%\n", 3000 * MS);
    assert_int_equal(only(clients).busy_ns, 700 * MS); /* the driver omits the idle gfx0 */
}

TEST_WITH(unreported_time_is_unknown, open_clients, close_clients)
{
    struct drm_clients *clients = *state;

    see_alone(clients, 42, 1, "drm-resident-vram: 5\n", 2000 * MS);
    assert_true(only(clients).busy_ns == UNKNOWN);
    assert_non_null(only(clients).reason);
    see_alone(clients, 42, 1, "drm-engine-gfx: 5 ns\n", 3000 * MS);
    assert_int_equal(only(clients).busy_ns, 5);
    assert_true(only(clients).memory_bytes == UNKNOWN);
    assert_non_null(only(clients).reason);
}

TEST_WITH(time_is_unknown_until_it_is_counted, open_clients, close_clients)
{
    struct drm_clients *clients = *state;

    drm_clients_begin(clients);
    see(clients, 42, 3, 1, "drm-engine-gfx: 5 ns\ndrm-resident-vram: 6\n");
    drm_clients_end(clients, true);
    assert_true(only(clients).busy_ns == UNKNOWN);
    drm_clients_count(clients, 2000 * MS);
    assert_int_equal(only(clients).busy_ns, 5);
    assert_null(only(clients).reason);
    assert_true(only(clients).busy_covered_ns == UNKNOWN); /* it covers all of the time */
}

TEST_WITH(a_client_that_was_lost_for_a_while_is_not_counted_twice, open_clients, close_clients)
{
    struct drm_clients *clients = *state;

    see_alone(clients, 42, 1, "drm-engine-gfx: 500000000 ns\n", 2000 * MS);
    drm_clients_begin(clients);
    assert_true(drm_clients_misses_any(clients));
    drm_clients_end(clients, true);
    drm_clients_count(clients, 3000 * MS);
    assert_false(drm_clients_misses_any(clients));
    assert_true(only(clients).has_ended);
    see_alone(clients, 42, 1, "drm-engine-gfx: 600000000 ns\n", 4000 * MS);
    assert_int_equal(only(clients).busy_ns, 600 * MS);
    assert_false(only(clients).has_ended);
}

TEST_WITH(clients_that_ended_first_are_evicted_first, open_clients, close_clients)
{
    enum { COUNT = DRM_USE_MAX + 100 };
    struct drm_clients *clients = *state;
    static struct gpu_process list[DRM_USE_MAX];
    bool has_first = false, has_last = false;

    for (int i = 0; i < COUNT; i++)
        see_alone(clients, 1000 + i, i, "drm-engine-gfx: 5 ns\n", (2000u + (unsigned)i) * MS);
    assert_int_equal(clients->count, DRM_CLIENT_MAX);
    assert_int_equal(drm_clients_list(clients, list, DRM_USE_MAX), DRM_USE_MAX);
    for (size_t i = 0; i < DRM_USE_MAX; i++) {
        assert_int_equal(list[i].busy_ns, 5);
        has_first = has_first || list[i].pid == 1000;
        has_last = has_last || (list[i].pid == 1000 + COUNT - 1 && !list[i].has_ended);
    }
    assert_false(has_first);
    assert_true(has_last);
}

TEST_WITH(living_clients_are_never_evicted, open_clients, close_clients)
{
    struct drm_clients *clients = *state;
    struct drm_fdinfo info = { .client_id = DRM_CLIENT_MAX };

    drm_clients_begin(clients);
    for (int i = 0; i < DRM_CLIENT_MAX; i++)
        see(clients, 1000 + i, 3, i, "");
    assert_false(clients->has_left_out);
    assert_int_equal(drm_clients_see(clients, 0, 7, 3, &info), -ENOSPC);
    drm_clients_end(clients, true);
    drm_clients_begin(clients);
    assert_int_equal(drm_clients_see(clients, 0, 7, 3, &info), -ENOSPC);
    drm_clients_end(clients, true);
    assert_int_equal(clients->count, DRM_CLIENT_MAX);
    assert_true(clients->has_left_out);
}

TEST_WITH(repeated_sweeps_do_not_grow_the_tables, open_clients, close_clients)
{
    struct drm_clients *clients = *state;
    const struct drm_client *list;
    const struct drm_use *use;

    see_alone(clients, 42, 1, "drm-engine-gfx: 5 ns\n", 2000 * MS);
    list = clients->list;
    use = clients->use;
    for (int i = 0; i < 1000; i++)
        see_alone(clients, 42, 1, "drm-engine-gfx: 5 ns\n", (2001u + (unsigned)i) * MS);
    assert_ptr_equal(clients->list, list);
    assert_ptr_equal(clients->use, use);
    assert_int_equal(clients->count, 1);
}
