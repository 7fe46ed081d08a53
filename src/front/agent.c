/* SPDX-License-Identifier: Apache-2.0 */
#include "front/agent.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/root.h"

/* ---- requests ----------------------------------------------------------- */

static int read_id(const json_t *value, struct agent_request *ret, struct spoor_error *err)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return error_set(err, EINVAL, "invalid request: 'id' must be a whole number");
    ret->id = (uint64_t)json_integer_value(value);
    ret->has_id = true;
    return 0;
}

static int read_arguments(const json_t *value, struct agent_request *ret,
                          struct spoor_error *err)
{
    size_t count = json_array_size(value); /* 0 if `value` is not an array */

    if (value && !json_is_array(value))
        return error_set(err, EINVAL, "invalid request: 'arguments' must be a list of strings");
    ret->arguments = calloc(count + 1, sizeof(*ret->arguments));
    if (!ret->arguments)
        return error_set(err, ENOMEM, "out of memory");
    for (size_t i = 0; i < count; i++) {
        ret->arguments[i] = json_string_value(json_array_get(value, i));
        if (!ret->arguments[i])
            return error_set(err, EINVAL,
                             "invalid request: 'arguments' must be a list of strings");
    }
    ret->argument_count = count;
    return 0;
}

int agent_request_parse(const char *line, size_t length, struct agent_request *ret,
                        struct spoor_error *err)
{
    json_error_t error;
    int r;

    *ret = (struct agent_request){ .document = json_loadb(line, length, 0, &error) };
    if (!ret->document && error.text[0] == '\0') /* jansson has no message for this error */
        return error_set(err, ENOMEM, "out of memory");
    if (!ret->document)
        return error_set(err, EINVAL, "invalid request: %s", error.text);
    if (!json_is_object(ret->document))
        return error_set(err, EINVAL, "invalid request: expected a JSON object");
    r = read_id(json_object_get(ret->document, "id"), ret, err);
    if (r < 0)
        return r;
    ret->op = json_string_value(json_object_get(ret->document, "op"));
    if (!ret->op)
        return error_set(err, EINVAL, "invalid request: 'op' must be a string");
    return read_arguments(json_object_get(ret->document, "arguments"), ret, err);
}

void agent_request_done(struct agent_request *request)
{
    free(request->arguments);
    json_decref(request->document);
    *request = (struct agent_request){ 0 };
}

/* ---- agents ------------------------------------------------------------- */

enum { AGENT_PROTOCOL = 2 };

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

/* Waits for the reader as long as our input is open: only the end of the input shows that
 * the program is gone. A program that has closed our input may still read, so it gets a moment
 * to empty the pipe. */
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

/* Sends a fixed error if there is no memory for the response: otherwise the program would wait
 * forever. */
static void answer_no_memory(const struct agent_request *request)
{
    char text[128], id[24] = "null";
    struct buffer line = { .text = text };

    if (request && request->has_id)
        /* Always fits, as does `text` below. */
        (void)snprintf(id, sizeof(id), "%" PRIu64, request->id);
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

/* The codes that agent.h lists; any other failure is EIO. */
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

/* Reads the input that is available, if any, and serves its requests. */
static void read_requests(struct agent *agent)
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

enum watch_end agent_follow(struct agent *agent, struct watch *watch)
{
    enum watch_end end = WATCH_INPUT;

    watch_ignore_signals(watch);
    watch->input_fd = STDIN_FILENO;
    while (!agent->is_at_end && end == WATCH_INPUT) {
        if (watch_wait(watch, 0, &end, NULL) < 0)
            break; /* the end of the process will not be noticed */
        if (end == WATCH_INPUT)
            read_requests(agent);
    }
    return end;
}

void agent_finish(struct agent *agent)
{
    struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

    while (!agent->is_at_end) {
        (void)poll(&input, 1, -1); /* if poll() fails, read() reports the error */
        read_requests(agent);
    }
    buffer_done(&agent->line);
}

/* ---- the process -------------------------------------------------------- */

/* Closes the descriptors that the caller left open: another process may wait for their end
 * of file. */
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

/* ---- a session on a running process ------------------------------------- */

int attachment_open(const struct spoor_options *options, struct attachment *ret,
                    struct spoor_error *err)
{
    struct attachment attachment = { .session = NULL };
    const char *cgroup = options->flags & SPOOR_TRACK_CGROUP ? options->cgroup_folder : NULL;
    int r;

    file_limit_raise(); /* perf needs a descriptor for each thread */
    r = watch_open(options->pid, cgroup, &attachment.watch, err);
    if (r < 0)
        return r;
    r = spoor_session_open(options, &attachment.session, err);
    if (r == 0)
        r = spoor_session_start(attachment.session, err);
    if (r < 0) {
        attachment.session = spoor_session_close(attachment.session);
        watch_close(&attachment.watch);
        return r;
    }
    *ret = attachment;
    return 0;
}

/* Takes the last sample. Reads the exit status if the process has ended. */
static int attachment_stop(struct attachment *attachment, enum watch_end end,
                           struct spoor_error *err)
{
    int wait_status;
    int r = spoor_session_stop(attachment->session, err);

    if (r < 0)
        spoor_session_warn(attachment->session, "no-last-sample", err->message);
    if (end == WATCH_PROCESS_ENDED && watch_wait_status(&attachment->watch, &wait_status) == 0)
        spoor_session_set_wait_status(attachment->session, wait_status);
    return r;
}

int attachment_follow(const struct program *program, const struct spoor_options *options,
                      uint64_t duration_ns, int input_fd, int output_fd, struct attachment *ret)
{
    enum watch_end end = WATCH_INTERRUPTED;
    struct spoor_error err = { 0 };

    if (attachment_open(options, ret, &err) < 0)
        return program_complain(program, "%s", err.message);
    ret->watch.input_fd = input_fd;
    ret->watch.output_fd = output_fd;
    if (watch_wait(&ret->watch, duration_ns, &end, &err) < 0)
        program_complain(program, "%s", err.message);
    if (attachment_stop(ret, end, &err) < 0)
        program_complain(program, "%s", err.message);
    return 0;
}

void attachment_close(struct attachment *attachment)
{
    if (!attachment->session)
        return;
    attachment->session = spoor_session_close(attachment->session);
    watch_close(&attachment->watch);
}

/* ---- agents that track a process ---------------------------------------- */

struct tracking_agent {
    struct attachment *attachment;
    const struct tracking_agent_kind *kind;
    void *data;
    bool is_over; /* the last sample has been taken, and the files are written */
};

/* Takes the last sample and writes the files. Does nothing when called again. */
static void finish(struct tracking_agent *agent, enum watch_end end)
{
    struct spoor_error err = { 0 };

    if (agent->is_over)
        return;
    agent->is_over = true;
    if (agent->attachment->session)
        /* The report contains the warning. */
        (void)attachment_stop(agent->attachment, end, &err);
    agent->kind->finish(agent->attachment->session, agent->data);
}

/* Returns the session; NULL, with a message, if there is none. */
static spoor_session *get_session(const struct tracking_agent *agent, struct spoor_error *err)
{
    if (!agent->attachment->session)
        (void)error_set(err, ESRCH,
                        "nothing is tracked: the process ended before tracking could begin");
    return agent->attachment->session;
}

/* ---- the report ----------------------------------------------------------- */

/* Writes the report to a memfd and reads it back. */
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
                       UNUSED struct json_writer *json, struct spoor_error *err)
{
    spoor_session *session = get_session(data, err);

    return session ? spoor_phase_start(session, request->arguments[0], err) : -ESRCH;
}

static int stop_phase(void *data, const struct agent_request *request,
                      UNUSED struct json_writer *json, struct spoor_error *err)
{
    spoor_session *session = get_session(data, err);
    int r;

    if (!session)
        return -ESRCH;
    r = spoor_phase_stop(session, request->arguments[0], err);
    if (r == -ENOENT)
        err->code = EINVAL; /* for callers, ENOENT means a missing file */
    return r;
}

static int take_sample(void *data, UNUSED const struct agent_request *request,
                       UNUSED struct json_writer *json, struct spoor_error *err)
{
    spoor_session *session = get_session(data, err);

    return session ? spoor_session_sample(session, err) : -ESRCH;
}

static void add_gpu(const struct spoor_gpu_sample *gpu, void *data)
{
    struct json_writer *json = data;

    json_begin(json, NULL, '{');
    json_add_number(json, "index", gpu->index);
    json_add_number(json, "part", gpu->part < 0 ? (double)NAN : gpu->part);
    json_add_text(json, "uuid", gpu->uuid);
    json_add_number(json, "memory_bytes", gpu->memory_bytes);
    json_add_number(json, "memory_total_bytes", gpu->memory_total_bytes);
    json_add_number(json, "job_memory_bytes", gpu->job_memory_bytes);
    json_add_number(json, "utilization", gpu->utilization);
    json_add_number(json, "job_utilization", gpu->job_utilization);
    json_add_number(json, "encoder_utilization", gpu->encoder_utilization);
    json_add_number(json, "decoder_utilization", gpu->decoder_utilization);
    json_add_number(json, "power_watts", gpu->power_watts);
    json_add_number(json, "temperature_celsius", gpu->temperature_celsius);
    json_add_number(json, "clock_hertz", gpu->clock_hertz);
    json_add_number(json, "energy_joules", gpu->energy_joules);
    json_end(json);
}

/* Takes a new sample, if that is still possible. */
static int show_snapshot(void *data, UNUSED const struct agent_request *request,
                         struct json_writer *json, struct spoor_error *err)
{
    const struct tracking_agent *agent = data;
    size_t count = spoor_metric_count();
    spoor_session *session = get_session(data, err);
    double *values;

    if (!session)
        return -ESRCH;
    values = calloc(count, sizeof(*values));
    if (!values)
        return error_set(err, ENOMEM, "out of memory");
    if (!agent->is_over)
        (void)spoor_session_sample(session, NULL);      /* the session is running */
    (void)spoor_session_latest(session, values, count); /* at least the first sample exists */
    json_begin(json, "metrics", '{');
    for (size_t i = 0; i < count; i++)
        json_add_number(json, spoor_metric_get(i)->name, values[i]);
    json_end(json);
    json_begin(json, "gpus", '[');
    spoor_session_latest_gpus(session, add_gpu, json);
    json_end(json);
    free(values);
    return 0;
}

static int show_result(void *data, UNUSED const struct agent_request *request,
                       struct json_writer *json, struct spoor_error *err)
{
    struct tracking_agent *agent = data;

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

    if (attachment->session && agent_follow(&agent, &attachment->watch) == WATCH_PROCESS_ENDED)
        finish(&tracking, WATCH_PROCESS_ENDED);
    agent_finish(&agent); /* the program may still request the result */
    finish(&tracking, WATCH_INPUT);
    return 0;
}
