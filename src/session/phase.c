/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phase.c - named parts of a run.
 *
 * A program may mark any number of phases. Only PHASES_MAX are kept; more are not an error.
 * When only one place is left, a new phase continues the newest phase of the same name; if
 * there is none, it becomes part of the last phase, which is named OTHERS.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "session/session.h"

#define OTHERS "(others)"

static struct phase *find_newest(const spoor_session *session, const char *name,
                                 bool must_be_open)
{
    for (size_t i = session->phase_count; i > 0; i--) {
        struct phase *phase = &session->phases[i - 1];

        if ((phase->is_open || !must_be_open) && strcmp(phase->name, name) == 0)
            return phase;
    }
    return NULL;
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

/* Finds the phase to which a new phase is added when the table is full. NULL: there is none
 * yet. */
static struct phase *find_joined(spoor_session *session, const char *name)
{
    struct phase *joined = find_newest(session, name, false);

    if (!session->has_joined_phases)
        session_add_warning(session, "phases",
                            "more than %d phases: later ones are added to the last phase of "
                            "the same name, or to '%s'",
                            PHASES_MAX - 1, OTHERS);
    session->has_joined_phases = true;
    return joined ? joined : find_newest(session, OTHERS, false);
}

static void join_phase(spoor_session *session, struct phase *phase)
{
    (void)session_request_sample(session); /* on failure the phase's figures start later */
    if (phase->open_count++ == 0)
        summary_resume(&phase->summary, &session->summary);
    phase->is_open = true;
}

static int add_phase(spoor_session *session, const char *name)
{
    struct phase *phase;

    /* All phases are allocated at once, so that they do not move while a caller waits for a
     * sample. Unused pages cost nothing. */
    if (!session->phases)
        session->phases = calloc(PHASES_MAX, sizeof(*session->phases));
    if (!session->phases)
        return -ENOMEM;
    phase = &session->phases[session->phase_count++];
    *phase = (struct phase){ .is_open = true, .open_count = 1 };
    memcpy(phase->name, name, strlen(name) + 1); /* fits: check_phase() checked the length */
    session_init_summary(session, &phase->summary);
    (void)session_request_sample(session); /* on failure the phase's figures start later */
    summary_continue(&phase->summary, &session->summary);
    return 0;
}

int spoor_phase_start(spoor_session *session, const char *name, struct spoor_error *err)
{
    SESSION_LOCK(session);
    bool is_full = session->phase_count >= PHASES_MAX - 1;
    struct phase *joined;
    int r = check_phase(session, name, err);

    if (r < 0)
        return r;
    joined = is_full ? find_joined(session, name) : NULL;
    if (joined)
        join_phase(session, joined);
    else
        r = add_phase(session, is_full ? OTHERS : name);
    return r < 0 ? error_sys(err, r, "phase '%s'", name) : 0;
}

int spoor_phase_stop(spoor_session *session, const char *name, struct spoor_error *err)
{
    SESSION_LOCK(session);
    int r = check_phase(session, name, err);
    struct phase *phase;

    if (r < 0)
        return r;
    phase = find_newest(session, name, true);
    if (!phase)
        phase = find_newest(session, OTHERS, true);
    if (!phase)
        return error_set(err, ENOENT, "phase '%s' is not open", name);
    (void)session_request_sample(session); /* on failure the phase's figures end earlier */
    if (phase->open_count > 0)             /* another caller may have stopped the phase */
        phase->open_count--;
    phase->is_open = phase->open_count > 0;
    return 0;
}
