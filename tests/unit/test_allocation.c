/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linked with --wrap: calls of malloc, calloc and realloc in spoor's objects go to the wrappers
 * below.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "fake_root.h"
#include "spoor/spoor.h"
#include "unit_test.h"

#define OLD_NS (30 * NS_PER_MS)

/* Counts the calls of all threads: another thread takes the samples. */
static _Atomic unsigned long allocation_count;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

void *__wrap_malloc(size_t size)
{
    allocation_count++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    allocation_count++;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    allocation_count++;
    return __real_realloc(old, size);
}

static void pass_over(UNUSED const struct spoor_gpu *gpu, UNUSED void *data)
{
}

/* Each sample adds a row to a file. There are enough samples to fill and halve the series
 * more than once. */
FAKE_ROOT_TEST(samples_allocate_no_memory_after_the_first_few)
{
    struct fake_root *fake = *state;
    enum { WARM_UP = 50, SAMPLES = 3000 };
    struct spoor_options options = SPOOR_OPTIONS_INIT;
    struct spoor_error err;
    uint64_t started_ns = clock_now().monotonic_ns;
    spoor_session *session;
    unsigned long before;
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/samples.csv", fake->path);
    options.pid = getpid();
    options.interval_ns = SPOOR_INTERVAL_MAX_NS;
    options.streams = &(struct spoor_stream){ .path = path };
    options.stream_count = 1;
    /* Reading the sharing of memory allocates; it happens rarely, and also between samples. */
    options.detail = SPOOR_DETAIL_NEVER;
    assert_int_equal(spoor_session_open(&options, &session, &err), 0);
    assert_int_equal(spoor_session_start(session, &err), 0);
    assert_true(allocation_count > 0); /* proves that the counter works */
    /* Rows are held back until the list of GPUs is known. */
    while (spoor_session_gpus(session, pass_over, NULL, &err) == -EAGAIN)
        assert_int_equal(spoor_session_sample(session, &err), 0);
    /* spoor reads the command line of a process once the process is 20 ms old. */
    for (int i = 0; i < WARM_UP || clock_now().monotonic_ns < started_ns + OLD_NS; i++)
        assert_int_equal(spoor_session_sample(session, &err), 0);
    before = allocation_count;
    for (int i = 0; i < SAMPLES; i++)
        assert_int_equal(spoor_session_sample(session, &err), 0);
    assert_int_equal(allocation_count - before, 0);
    session = spoor_session_close(session);
}
