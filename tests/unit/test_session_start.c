/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linked with --wrap=thread_start_quiet: threads start when this test lets them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/thread_start.h"
#include "spoor/spoor.h"

int __real_thread_start_quiet(pthread_t *ret, void *(*run)(void *data), void *data);
int __wrap_thread_start_quiet(pthread_t *ret, void *(*run)(void *data), void *data);

static bool is_refused;

int __wrap_thread_start_quiet(pthread_t *ret, void *(*run)(void *data), void *data)
{
    return is_refused ? -EAGAIN : __real_thread_start_quiet(ret, run, data);
}

/* Descriptors of that kind. */
static int count_open(const char *kind)
{
    DIR *folder = opendir("/proc/self/fd");
    const struct dirent *entry;
    int count = 0;

    assert_non_null(folder);
    while ((entry = readdir(folder)) != NULL) {
        char path[300], target[300] = "";

        (void)snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
        (void)!readlink(path, target, sizeof(target) - 1);
        count += strstr(target, kind) != NULL;
    }
    closedir(folder);
    return count;
}

static void a_thread_that_cannot_be_made_leaves_nothing_open(void **state)
{
    struct spoor_options options = SPOOR_OPTIONS_INIT;
    int before = count_open("eventfd");
    struct spoor_error err;
    spoor_session *session;

    (void)state;
    options.pid = getpid();
    assert_int_equal(spoor_session_open(&options, &session, &err), 0);
    is_refused = true;
    assert_int_equal(spoor_session_start(session, &err), -EAGAIN);
    assert_int_equal(count_open("eventfd"), before);
    assert_int_equal(spoor_session_sample(session, &err), -EINVAL);
    assert_int_equal(spoor_session_stop(session, &err), 0);
    is_refused = false;
    assert_int_equal(spoor_session_start(session, &err), 0); /* it may be tried again */
    assert_int_equal(spoor_session_stop(session, &err), 0);
    assert_null(spoor_session_close(session));
    assert_int_equal(count_open("eventfd"), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_cannot_be_made_leaves_nothing_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
