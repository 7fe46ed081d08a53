/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spoor/spoor.h"
#include "unit_test.h"

/* Tracks this process, with samples on request only. */
static spoor_session *open_session(void)
{
    struct spoor_options options = SPOOR_OPTIONS_INIT;
    spoor_session *session;
    struct spoor_error err;

    options.pid = getpid();
    options.interval_ns = SPOOR_INTERVAL_MAX_NS;
    assert_int_equal(spoor_session_open(&options, &session, &err), 0);
    return session;
}

/* Returns the JSON report; the caller frees it. */
static char *report_of(spoor_session *session)
{
    FILE *file = tmpfile();
    struct spoor_error err;
    struct stat stat;
    char *text;

    assert_non_null(file);
    assert_int_equal(spoor_session_write(session, SPOOR_JSON, 0, fileno(file), &err), 0);
    assert_int_equal(fstat(fileno(file), &stat), 0);
    text = calloc(1, (size_t)stat.st_size + 1);
    assert_non_null(text);
    assert_int_equal(pread(fileno(file), text, (size_t)stat.st_size, 0), stat.st_size);
    (void)fclose(file);
    return text;
}

static size_t count_text(const char *text, const char *part)
{
    size_t count = 0;

    for (; (text = strstr(text, part)) != NULL; text++)
        count++;
    return count;
}

TEST(phases_have_their_own_figures)
{
    spoor_session *session = open_session();
    struct spoor_error err;
    char *text;

    assert_int_equal(spoor_phase_start(session, "early", &err), -EINVAL);
    assert_string_equal(err.message, "phase 'early': the session is not running");
    assert_int_equal(spoor_session_start(session, &err), 0);
    assert_int_equal(spoor_phase_start(session, "outer", &err), 0);
    assert_int_equal(spoor_phase_start(session, "inner", &err), 0);
    assert_int_equal(spoor_phase_stop(session, "inner", &err), 0);
    assert_int_equal(spoor_phase_stop(session, "inner", &err), -ENOENT);
    assert_string_equal(err.message, "phase 'inner' is not open");
    assert_int_equal(spoor_phase_start(session, "", &err), -EINVAL);
    assert_int_equal(spoor_session_stop(session, &err), 0);
    text = report_of(session);
    assert_int_equal(count_text(text, "\"name\": \"outer\""), 1);
    assert_int_equal(count_text(text, "\"name\": \"inner\""), 1);
    assert_int_equal(count_text(text, "\"name\": \"early\""), 0);
    free(text);
    session = spoor_session_close(session);
}

TEST(phases_beyond_the_limit_are_added_to_earlier_ones)
{
    spoor_session *session = open_session();
    struct spoor_error err;
    char *text;

    assert_int_equal(spoor_session_start(session, &err), 0);
    for (int i = 0; i < 300; i++) {
        assert_int_equal(spoor_phase_start(session, "epoch", &err), 0);
        assert_int_equal(spoor_phase_stop(session, "epoch", &err), 0);
    }
    assert_int_equal(spoor_phase_stop(session, "epoch", &err), -ENOENT);
    assert_int_equal(spoor_phase_start(session, "new", &err), 0);
    assert_int_equal(spoor_phase_start(session, "newer", &err), 0);
    assert_int_equal(spoor_phase_start(session, "epoch", &err), 0); /* already open */
    assert_int_equal(spoor_phase_start(session, "epoch", &err), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(spoor_phase_stop(session, i ? "newer" : "new", &err), 0);
        assert_int_equal(spoor_phase_stop(session, "epoch", &err), 0);
    }
    assert_int_equal(spoor_phase_stop(session, "newer", &err), -ENOENT);
    assert_int_equal(spoor_phase_stop(session, "epoch", &err), -ENOENT);
    assert_int_equal(spoor_session_stop(session, &err), 0);
    text = report_of(session);
    assert_int_equal(count_text(text, "\"name\": \"epoch\""), 255);
    assert_int_equal(count_text(text, "\"name\": \"(others)\""), 1);
    assert_int_equal(count_text(text, "\"code\": \"phases\""), 1);
    assert_int_equal(count_text(text, "\"name\": \"new"), 0);
    free(text);
    session = spoor_session_close(session);
}
