/* SPDX-License-Identifier: Apache-2.0 */
#include "front/tracking_agent.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/error.h"

struct tracking_agent {
    struct attachment *attachment;
    const struct tracking_agent_kind *kind;
    void *data;
    bool is_over; /* the last sample is taken, the files are written */
};

/* Once. */
static void finish(struct tracking_agent *agent, enum watch_end end)
{
    struct spoor_error err = { 0 };

    if (agent->is_over)
        return;
    agent->is_over = true;
    if (agent->attachment->session && attachment_stop(agent->attachment, end, &err) < 0)
        spoor_session_warn(agent->attachment->session, "stop", err.message);
    agent->kind->finish(agent->attachment->session, agent->data);
}

/* NULL: there is none. */
static spoor_session *get_session(const struct tracking_agent *agent, struct spoor_error *err)
{
    if (!agent->attachment->session)
        (void)error_set(err, ESRCH,
                        "nothing is tracked: the process ended before tracking could begin");
    return agent->attachment->session;
}

/* ---- the report ----------------------------------------------------------- */

/* Through a file in memory. */
int tracking_agent_format(spoor_session *session, enum spoor_format format, struct buffer *ret,
                          struct spoor_error *err)
{
    AUTO_CLOSE int fd = memfd_create("report", MFD_CLOEXEC);
    int r;

    if (fd < 0)
        return error_sys(err, errno, "report");
    r = spoor_session_write(session, format, 0, fd, err);
    if (r < 0)
        return r;
    r = lseek(fd, 0, SEEK_SET) < 0 ? -errno : buffer_read(ret, fd, BUFFER_MAX);
    return r < 0 ? error_sys(err, r, "report") : 0;
}

int tracking_agent_add_report(spoor_session *session, struct json_writer *json,
                              struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer report = { 0 };
    int r = session ? tracking_agent_format(session, SPOOR_JSON, &report, err) : 0;

    if (r == 0)
        json_add_document(json, "report", &report);
    return r;
}

/* ---- operations ----------------------------------------------------------- */

static int start_phase(void *data, const struct agent_request *request,
                       struct json_writer *json, struct spoor_error *err)
{
    spoor_session *session = get_session(data, err);

    (void)json;
    return session ? spoor_phase_start(session, request->arguments[0], err) : -ESRCH;
}

static int stop_phase(void *data, const struct agent_request *request, struct json_writer *json,
                      struct spoor_error *err)
{
    spoor_session *session = get_session(data, err);
    int r;

    (void)json;
    if (!session)
        return -ESRCH;
    r = spoor_phase_stop(session, request->arguments[0], err);
    if (r == -ENOENT)
        err->code = EINVAL; /* to a caller ENOENT is a missing file */
    return r;
}

static int take_sample(void *data, const struct agent_request *request,
                       struct json_writer *json, struct spoor_error *err)
{
    spoor_session *session = get_session(data, err);

    (void)request;
    (void)json;
    return session ? spoor_session_sample(session, err) : -ESRCH;
}

/* From a new sample, if one can still be taken. */
static int show_snapshot(void *data, const struct agent_request *request,
                         struct json_writer *json, struct spoor_error *err)
{
    const struct tracking_agent *agent = data;
    size_t count = spoor_metric_count();
    spoor_session *session = get_session(data, err);
    double *values;

    (void)request;
    if (!session)
        return -ESRCH;
    values = calloc(count, sizeof(*values));
    if (!values)
        return error_set(err, ENOMEM, "out of memory");
    if (!agent->is_over)
        (void)spoor_session_sample(session, NULL);      /* it runs */
    (void)spoor_session_latest(session, values, count); /* there is at least the first one */
    json_begin(json, "metrics", '{');
    for (size_t i = 0; i < count; i++)
        json_add_number(json, spoor_metric_get(i)->name, values[i]);
    json_end(json);
    free(values);
    return 0;
}

static int show_result(void *data, const struct agent_request *request,
                       struct json_writer *json, struct spoor_error *err)
{
    struct tracking_agent *agent = data;

    (void)request;
    finish(agent, WATCH_INPUT);
    return agent->kind->add_result(agent->attachment->session, agent->data, json, err);
}

static const struct agent_op ops[] = {
    { "phase-start", 1, 1, start_phase }, { "phase-stop", 1, 1, stop_phase },
    { "sample", 0, 0, take_sample },      { "snapshot", 0, 0, show_snapshot },
    { "stop", 0, 0, show_result },
};

int tracking_agent_serve(struct attachment *attachment, const struct tracking_agent_kind *kind,
                         void *data)
{
    struct tracking_agent tracking = { .attachment = attachment, .kind = kind, .data = data };
    struct agent agent = { .ops = ops, .op_count = ARRAY_SIZE(ops), .data = &tracking };
    enum watch_end end = WATCH_INPUT;

    if (attachment->session) {
        watch_ignore_signals(&attachment->watch);
        attachment->watch.input_fd = STDIN_FILENO;
        while (!agent.is_at_end && end == WATCH_INPUT) {
            if (watch_wait(&attachment->watch, 0, &end, NULL) < 0)
                break; /* then the end of the process is not noticed */
            if (end == WATCH_INPUT)
                agent_read(&agent);
        }
        if (end == WATCH_PROCESS_ENDED)
            finish(&tracking, end);
    }
    agent_finish(&agent); /* the program may still want the result */
    finish(&tracking, WATCH_INPUT);
    return 0;
}
