/* SPDX-License-Identifier: Apache-2.0 */
#include "front/common/agent.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/error.h"
#include "front/common/program.h"

#define LINE_BYTES 4096

struct agent {
    struct attachment *attachment;
    const struct agent_kind *kind;
    void *data;
    bool is_over; /* the last sample is taken, the files are written */
    bool is_done; /* no more answers are expected */
    char line[LINE_BYTES];
    size_t used;      /* of line */
    bool is_skipping; /* the rest of a line that was refused */
};

/* ---- answers ------------------------------------------------------------ */

void agent_begin_answer(struct agent_answer *answer, const char *event)
{
    *answer = (struct agent_answer){ .json = { .style = &json_compact } };
    answer->json.out = &answer->line;
    json_begin(&answer->json, NULL, '{');
    json_add_text(&answer->json, "event", event);
}

/* If the reader is gone, so is its end of our input: we will notice there. */
void agent_end_answer(struct agent_answer *answer)
{
    json_end(&answer->json);
    buffer_add(&answer->line, "\n", 1);
    (void)buffer_write(&answer->line, STDOUT_FILENO);
    buffer_done(&answer->line);
}

int agent_end_result(struct agent_answer *answer, int r, struct spoor_error *err)
{
    if (r == 0 && buffer_error(&answer->line) < 0)
        r = error_sys(err, buffer_error(&answer->line), "result");
    if (r == 0)
        agent_end_answer(answer);
    else
        buffer_done(&answer->line);
    return r;
}

static void answer_done(void)
{
    struct agent_answer done;

    agent_begin_answer(&done, "done");
    agent_end_answer(&done);
}

/* The codes that agent.h promises; any other failure is one of input or output. */
static const char *code_name(int code)
{
    static const struct {
        int code;
        const char *name;
    } names[] = {
        { EACCES, "EACCES" },   { EBADMSG, "EBADMSG" }, { EEXIST, "EEXIST" },
        { EINVAL, "EINVAL" },   { EISDIR, "EISDIR" },   { ENODEV, "ENODEV" },
        { ENOENT, "ENOENT" },   { ENOMEM, "ENOMEM" },   { ENOSPC, "ENOSPC" },
        { ENOTDIR, "ENOTDIR" }, { EPERM, "EPERM" },     { ESRCH, "ESRCH" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (names[i].code == code)
            return names[i].name;
    }
    return "EIO";
}

static void answer_error(int code, const char *message)
{
    struct agent_answer error;

    agent_begin_answer(&error, "error");
    json_add_text(&error.json, "code", code_name(abs(code)));
    json_add_text(&error.json, "message", message);
    agent_end_answer(&error);
}

void agent_begin_ready(struct agent_answer *answer)
{
    agent_begin_answer(answer, "ready");
    json_add_u64(&answer->json, "pid", (uint64_t)getpid());
}

int agent_refuse(int code, const char *message)
{
    answer_error(code, message);
    return EXIT_OWN_FAILURE;
}

/* ---- what a line asks for ------------------------------------------------ */

/* Once. */
static void finish(struct agent *agent, enum watch_end end)
{
    struct spoor_error err = { 0 };

    if (agent->is_over)
        return;
    agent->is_over = true;
    if (agent->attachment->session && attachment_stop(agent->attachment, end, &err) < 0)
        spoor_session_warn(agent->attachment->session, "stop", err.message);
    agent->kind->finish(agent->attachment->session, agent->data);
}

static int start_phase(struct agent *agent, const char *name, struct spoor_error *err)
{
    int r = spoor_phase_start(agent->attachment->session, name, err);

    if (r == 0)
        answer_done();
    return r;
}

static int stop_phase(struct agent *agent, const char *name, struct spoor_error *err)
{
    int r = spoor_phase_stop(agent->attachment->session, name, err);

    if (r == -ENOENT)
        err->code = EINVAL; /* to a caller ENOENT is a missing file */
    if (r == 0)
        answer_done();
    return r;
}

static int take_sample(struct agent *agent, const char *name, struct spoor_error *err)
{
    int r = spoor_session_sample(agent->attachment->session, err);

    (void)name;
    if (r == 0)
        answer_done();
    return r;
}

/* From a new sample, if one can still be taken. */
static int show_snapshot(struct agent *agent, const char *name, struct spoor_error *err)
{
    spoor_session *session = agent->attachment->session;
    size_t count = spoor_metric_count();
    double *values = calloc(count, sizeof(*values));
    struct agent_answer snapshot;

    (void)name;
    if (!values)
        return error_set(err, ENOMEM, "out of memory");
    if (!agent->is_over)
        (void)spoor_session_sample(session, NULL);      /* it runs */
    (void)spoor_session_latest(session, values, count); /* there is at least the first one */
    agent_begin_answer(&snapshot, "snapshot");
    json_begin(&snapshot.json, "metrics", '{');
    for (size_t i = 0; i < count; i++)
        json_add_number(&snapshot.json, spoor_metric_get(i)->name, values[i]);
    json_end(&snapshot.json);
    agent_end_answer(&snapshot);
    free(values);
    return 0;
}

static int show_result(struct agent *agent, const char *name, struct spoor_error *err)
{
    struct agent_answer result;
    int r;

    (void)name;
    finish(agent, WATCH_INPUT);
    agent->is_done = true;
    agent_begin_answer(&result, "result");
    r = agent->kind->add_result(agent->attachment->session, agent->data, &result.json, err);
    return agent_end_result(&result, r, err);
}

static const struct {
    const char *word;
    bool has_name;
    int (*act)(struct agent *agent, const char *name, struct spoor_error *err);
} actions[] = {
    { "phase-start", true, start_phase }, { "phase-stop", true, stop_phase },
    { "sample", false, take_sample },     { "snapshot", false, show_snapshot },
    { "stop", false, show_result },
};

static int obey(struct agent *agent, const char *line, struct spoor_error *err)
{
    size_t length = strcspn(line, " ");

    for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
        if (strlen(actions[i].word) == length && strncmp(line, actions[i].word, length) == 0 &&
            (line[length] == ' ') == actions[i].has_name) {
            if (!agent->attachment->session && actions[i].act != show_result)
                return error_set(
                    err, ESRCH,
                    "nothing is tracked: the process ended before tracking could begin");
            return actions[i].act(agent, line + length + actions[i].has_name, err);
        }
    }
    return error_set(err, EINVAL, "unknown command '%.100s'", line);
}

/* ---- lines -------------------------------------------------------------- */

/* Obeys all whole lines there are. */
static void take_lines(struct agent *agent)
{
    char *start = agent->line;
    char *end;

    while (!agent->is_done &&
           (end = memchr(start, '\n', agent->used - (size_t)(start - agent->line))) != NULL) {
        struct spoor_error err = { 0 };

        *end = '\0';
        if (obey(agent, start, &err) < 0)
            answer_error(err.code, err.message);
        start = end + 1;
    }
    agent->used -= (size_t)(start - agent->line);
    memmove(agent->line, start, agent->used);
}

/* A line has one answer, however long it is. */
static void skip_rest(struct agent *agent)
{
    const char *end = memchr(agent->line, '\n', agent->used);
    size_t length = end ? (size_t)(end - agent->line) + 1 : agent->used;

    agent->is_skipping = end == NULL;
    agent->used -= length;
    memmove(agent->line, agent->line + length, agent->used);
}

/* Reads what there is. The end of input is the end of the agent. */
static void read_input(struct agent *agent)
{
    ssize_t n =
        read(STDIN_FILENO, agent->line + agent->used, sizeof(agent->line) - agent->used);

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0) {
        agent->is_done = true;
        return;
    }
    agent->used += (size_t)n;
    if (agent->is_skipping)
        skip_rest(agent);
    take_lines(agent);
    if (agent->used == sizeof(agent->line)) { /* not even one whole line */
        answer_error(EINVAL, "the line is too long");
        agent->is_skipping = true;
        agent->used = 0;
    }
}

/* The process has gone; its caller may want to know how it was. */
static void read_until_done(struct agent *agent)
{
    while (!agent->is_done)
        read_input(agent);
}

int agent_serve(struct attachment *attachment, const struct agent_kind *kind, void *data)
{
    struct agent agent = { .attachment = attachment, .kind = kind, .data = data };
    struct spoor_error err = { 0 };
    enum watch_end end = WATCH_INTERRUPTED; /* if the wait fails */

    if (attachment->session) {
        watch_ignore_signals(&attachment->watch);
        attachment->watch.input_fd = STDIN_FILENO;
    } else {
        read_until_done(&agent);
    }
    while (!agent.is_done) {
        if (watch_wait(&attachment->watch, 0, &end, &err) < 0 || end == WATCH_PROCESS_ENDED) {
            finish(&agent, end);
            read_until_done(&agent);
        } else {
            read_input(&agent);
        }
    }
    finish(&agent, WATCH_INPUT); /* if there was no stop */
    return 0;
}

/* ---- the process -------------------------------------------------------- */

/* What the caller left open for its children is not for us, and another process may wait for
 * it to be closed. */
static void close_others(void)
{
    DIR *folder;
    const struct dirent *entry;

    if (syscall(SYS_close_range, STDERR_FILENO + 1u, UINT_MAX, 0u) == 0)
        return;
    folder = opendir("/proc/self/fd"); /* before Linux 5.9 */
    if (!folder)
        return;
    while ((entry = readdir(folder)) != NULL) {
        long fd = strtol(entry->d_name, NULL, 10);

        if (fd > STDERR_FILENO && fd != dirfd(folder))
            close((int)fd);
    }
    closedir(folder);
}

void agent_begin(void)
{
    (void)prctl(PR_SET_NAME, SPOOR_AGENT_NAME); /* cannot fail */
    (void)setsid(); /* fails if we lead a process group, as when started from a shell */
    close_others();
}
