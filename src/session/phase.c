/* SPDX-License-Identifier: Apache-2.0 */
/* phase.c - named parts of a run. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "session/session.h"

static int reserve_phase(spoor_session *session)
{
    size_t capacity = session->phase_capacity ? 2 * session->phase_capacity : 8;
    struct phase *phases;

    if (session->phase_count < session->phase_capacity)
        return 0;
    if (session->phase_count == PHASES_MAX)
        return -ENOSPC;
    phases = realloc(session->phases, capacity * sizeof(*phases));
    if (!phases)
        return -ENOMEM;
    session->phases = phases;
    session->phase_capacity = capacity;
    return 0;
}

static int check_phase(const spoor_session *session, const char *name, struct spoor_error *err)
{
    size_t length = name ? strlen(name) : 0;

    if (length == 0 || length >= sizeof(session->phases->name))
        return error_set(err, EINVAL, "a phase name must have 1 to %zu bytes",
                         sizeof(session->phases->name) - 1);
    if (!session->has_sample || session->must_stop)
        return error_set(err, EINVAL, "phase '%s': the session is not running", name);
    return 0;
}

static int start_phase(spoor_session *session, const char *name, struct spoor_error *err)
{
    struct phase *phase;
    size_t index;
    int r = check_phase(session, name, err);

    if (r < 0)
        return r;
    r = reserve_phase(session);
    if (r < 0)
        return error_sys(err, r, "phase '%s'", name);
    index = session->phase_count++;
    phase = &session->phases[index];
    *phase = (struct phase){ .is_open = true };
    memcpy(phase->name, name, strlen(name) + 1); /* measured by check_phase */
    summary_init(&phase->summary, session->interval_ns);
    (void)session_ask_sample(session); /* if that hangs, its figures start later */
    summary_continue(&session->phases[index].summary,
                     &session->summary); /* it may have moved */
    return 0;
}

static struct phase *newest_open(spoor_session *session, const char *name)
{
    for (size_t i = session->phase_count; i > 0; i--) {
        struct phase *phase = &session->phases[i - 1];

        if (phase->is_open && strcmp(phase->name, name) == 0)
            return phase;
    }
    return NULL;
}

static int stop_phase(spoor_session *session, const char *name, struct spoor_error *err)
{
    int r = check_phase(session, name, err);
    struct phase *phase;
    ptrdiff_t index;

    if (r < 0)
        return r;
    phase = newest_open(session, name);
    if (!phase)
        return error_set(err, ENOENT, "phase '%s' is not open", name);
    index = phase - session->phases;
    (void)session_ask_sample(session); /* if that hangs, its figures end before */
    session->phases[index].is_open = false;
    return 0;
}

int spoor_phase_start(spoor_session *session, const char *name, struct spoor_error *err)
{
    int r;

    pthread_mutex_lock(&session->mutex);
    r = start_phase(session, name, err);
    pthread_mutex_unlock(&session->mutex);
    return r;
}

int spoor_phase_stop(spoor_session *session, const char *name, struct spoor_error *err)
{
    int r;

    pthread_mutex_lock(&session->mutex);
    r = stop_phase(session, name, err);
    pthread_mutex_unlock(&session->mutex);
    return r;
}

void session_close_phases(spoor_session *session)
{
    for (size_t i = 0; i < session->phase_count; i++)
        session->phases[i].is_open = false;
}
