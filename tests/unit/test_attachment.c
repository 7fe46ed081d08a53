/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "front/agent.h"
#include "front/spoor/settings.h"
#include "unit_test.h"

#define MESSAGE "the last sample is missing: the sampling thread hangs"

/* Stops the session, then fails as if its sampling thread hung. */
int __real_spoor_session_stop(spoor_session *session, struct spoor_error *err);
int __wrap_spoor_session_stop(spoor_session *session, struct spoor_error *err);
int __wrap_spoor_session_stop(spoor_session *session, struct spoor_error *err)
{
    assert_int_equal(__real_spoor_session_stop(session, err), 0);
    return error_set(err, ETIMEDOUT, MESSAGE);
}

TEST(a_report_without_its_last_sample_contains_a_warning)
{
    struct spoor_options options = SPOOR_OPTIONS_INIT;
    struct attachment attachment = { .session = NULL };

    options.pid = getpid();
    assert_int_equal(
        attachment_follow(&spoor_program, &options, NS_PER_MS, -1, -1, &attachment), 0);
    assert_string_equal(spoor_session_warning(attachment.session, "no-last-sample"), MESSAGE);
    attachment_close(&attachment);
}
