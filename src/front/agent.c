/* SPDX-License-Identifier: Apache-2.0 */
#include "front/agent.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arithmetic.h"
#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/error.h"
#include "front/program.h"

enum { LINE_BYTES_MAX = 1 << 20 };

/* ---- answers ------------------------------------------------------------ */

static void begin_answer(struct agent_answer *answer)
{
    *answer = (struct agent_answer){ .json = { .style = &json_compact } };
    answer->json.out = &answer->line;
    json_begin(&answer->json, NULL, '{');
}

static void begin_answer_to(struct agent_answer *answer, const struct agent_request *request,
                            const char *event)
{
    begin_answer(answer);
    answer->request = request;
    if (request->has_id)
        json_add_u64(&answer->json, "id", request->id);
    else
        json_add_null(&answer->json, "id");
    json_add_text(&answer->json, "event", event);
}

/* Waits for the reader as long as our input is open: its end is the only sign that the program is
 * gone. A program that has closed it may still read, so its buffer has a moment to empty. */
static void send_line(const struct buffer *line)
{
    enum { CLOSED_MS = 1000 };
    static bool has_no_reader;
    bool is_closed = false;
    size_t done = 0;

    while (done < line->length && !has_no_reader) {
        struct pollfd fds[] = { { .fd = STDOUT_FILENO, .events = POLLOUT },
                                { .fd = STDIN_FILENO, .events = POLLRDHUP } };
        int n = poll(fds, is_closed ? 1 : 2, is_closed ? CLOSED_MS : -1);

        ssize_t written;

        has_no_reader = n == 0;
        is_closed |= n > 0 && fds[0].revents == 0;
        if (n == 0 || (n > 0 && fds[0].revents == 0) || (n < 0 && errno == EINTR))
            continue;
        /* A pipe that is ready has room for PIPE_BUF bytes. */
        written =
            write(STDOUT_FILENO, line->text + done, smaller(line->length - done, PIPE_BUF));
        if (written < 0 && errno != EINTR && errno != EAGAIN)
            return;
        done += written > 0 ? (size_t)written : 0;
    }
}

/* For an answer that does not fit in memory: without one, the program would wait for ever. */
static void answer_no_memory(const struct agent_request *request)
{
    char text[128], id[24] = "null";
    struct buffer line = { .text = text };

    if (request && request->has_id)
        (void)snprintf(id, sizeof(id), "%" PRIu64, request->id); /* fits, like the line */
    line.length = (size_t)snprintf(
        text, sizeof(text),
        "{\"id\":%s,\"event\":\"error\",\"code\":\"ENOMEM\",\"message\":\"out of memory\"}\n",
        id);
    send_line(&line);
}

void agent_end_answer(struct agent_answer *answer)
{
    json_end(&answer->json);
    buffer_add(&answer->line, "\n", 1);
    if (buffer_error(&answer->line) < 0)
        answer_no_memory(answer->request);
    else
        send_line(&answer->line);
    buffer_done(&answer->line);
}

void agent_begin_ready(struct agent_answer *answer)
{
    begin_answer(answer);
    json_add_text(&answer->json, "event", "ready");
    json_add_u64(&answer->json, "protocol", AGENT_PROTOCOL);
    json_add_u64(&answer->json, "pid", (uint64_t)getpid());
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

void agent_answer_error(const struct agent_request *request, int code, const char *message)
{
    struct agent_answer error;

    begin_answer_to(&error, request, "error");
    json_add_text(&error.json, "code", code_name(abs(code)));
    json_add_text(&error.json, "message", message);
    agent_end_answer(&error);
}

int agent_refuse(int code, const char *message)
{
    static const struct agent_request none = { .has_id = false };

    agent_answer_error(&none, code, message);
    return EXIT_OWN_FAILURE;
}

/* ---- requests ----------------------------------------------------------- */

static int obey(const struct agent *agent, const struct agent_request *request,
                struct json_writer *json, struct spoor_error *err)
{
    for (size_t i = 0; i < agent->op_count; i++) {
        const struct agent_op *op = &agent->ops[i];

        if (strcmp(op->name, request->op) != 0)
            continue;
        if (request->argument_count < op->argument_min ||
            request->argument_count > op->argument_max)
            return error_set(err, EINVAL, "operation '%s': wrong number of arguments",
                             op->name);
        return op->act(agent->data, request, json, err);
    }
    return error_set(err, EINVAL, "unknown operation '%.100s'", request->op);
}

static int parse_line(const struct agent *agent, struct agent_request *ret,
                      struct spoor_error *err)
{
    if (agent->is_too_long)
        return error_set(err, EINVAL, "invalid request: the line is too long");
    if (buffer_error(&agent->line) < 0)
        return error_sys(err, buffer_error(&agent->line), "request");
    return agent_request_parse(agent->line.text, agent->line.length, ret, err);
}

static void answer_line(const struct agent *agent)
{
    CLEANUP(agent_request_done) struct agent_request request = { .op = "" };
    struct agent_answer answer;
    struct spoor_error err = { 0 };
    int r = parse_line(agent, &request, &err);

    begin_answer_to(&answer, &request, "done");
    if (r == 0)
        r = obey(agent, &request, &answer.json, &err);
    if (r == 0 && buffer_error(&answer.line) < 0)
        r = error_sys(&err, buffer_error(&answer.line), "answer");
    if (r == 0)
        agent_end_answer(&answer);
    else
        buffer_done(&answer.line);
    if (r < 0)
        agent_answer_error(&request, err.code, err.message);
}

/* ---- lines -------------------------------------------------------------- */

static void add_to_line(struct agent *agent, const char *text, size_t length)
{
    if (agent->line.length + length > LINE_BYTES_MAX) {
        agent->is_too_long = true;
        buffer_done(&agent->line);
        agent->line = (struct buffer){ 0 };
    }
    if (!agent->is_too_long)
        buffer_add(&agent->line, text, length);
}

static void end_line(struct agent *agent)
{
    if (agent->line.length > 0 || agent->is_too_long || buffer_error(&agent->line) < 0)
        answer_line(agent);
    buffer_done(&agent->line);
    agent->line = (struct buffer){ 0 };
    agent->is_too_long = false;
}

void agent_read(struct agent *agent)
{
    char piece[4096];
    const char *rest = piece;
    ssize_t n = read(STDIN_FILENO, piece, sizeof(piece));

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0)
        agent->is_at_end = true;
    while (n > 0) {
        const char *end = memchr(rest, '\n', (size_t)n);
        ssize_t length = end ? end - rest : n;

        add_to_line(agent, rest, (size_t)length);
        if (end)
            end_line(agent);
        rest += length + (end != NULL);
        n -= length + (end != NULL);
    }
}

void agent_finish(struct agent *agent)
{
    struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

    while (!agent->is_at_end) {
        (void)poll(&input, 1, -1); /* if it fails, read() does */
        agent_read(agent);
    }
    buffer_done(&agent->line);
}

/* ---- the process -------------------------------------------------------- */

/* What the caller left open for its children is not for us, and another process may wait for
 * it to be closed. */
static void close_others(void)
{
    DIR *folder;
    const struct dirent *entry;

    if (syscall(__NR_close_range, STDERR_FILENO + 1u, UINT_MAX, 0u) == 0)
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
