/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.h - the agent protocol, version 2: how a program controls a tracker that it has started.
 *
 * The agent reads requests from its standard input and writes responses to its standard output, one JSON
 * object per line. The first event is "ready":
 *
 *     {"event": "ready", "protocol": 2, "pid": N}
 *
 * or an error, and the agent exits. Then every request gets one response with the same id, in the order of
 * the requests:
 *
 *     {"id": 1, "op": "phase-start", "arguments": ["load"]}
 *     {"id": 1, "event": "done"}
 *
 *     {"id": 2, "op": "phase-stop", "arguments": ["x"]}
 *     {"id": 2, "event": "error", "code": "EINVAL", "message": "phase 'x' is not open"}
 *
 * A program that was interrupted before it read a response skips it by its id. The id of an
 * error is null if the request had no readable id. Empty lines are ignored. The code is one of
 * the errno names below; programs must check the code, never the message:
 *
 *     EINVAL, EBADMSG          an argument, or the contents of a file, is not valid
 *     ENOENT, ENOTDIR, EISDIR  a file or folder is missing, or is of the wrong kind
 *     EEXIST                   a file exists that must not be replaced
 *     EACCES, EPERM            not permitted
 *     ESRCH                    the process does not exist, or has ended
 *     ENODEV                   there is no such GPU
 *     ENOMEM, ENOSPC           out of memory or disk space
 *     EIO                      anything else
 *
 * The agent exits at the end of its input.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "front/program.h"
#include "run/watch.h"
#include "spoor/spoor.h"
#include "text/json_writer.h"

/* ---- requests -----------------------------------------------------------
 *
 *     {"id": 1, "op": "phase-start", "arguments": ["load"]}
 *
 * "arguments" may be left out. Other members are ignored.
 */

struct json_t;

/* A zeroed struct is empty. */
struct agent_request {
    bool has_id;
    uint64_t id;
    const char *op;
    const char **arguments; /* owned; their text belongs to the document */
    size_t argument_count;
    struct json_t *document; /* owned */
};

/* Parses a line without its newline. On failure (-EINVAL), *ret has the id if it could be read,
 * so that the error can be matched with its request. The caller calls done() in any case. */
int agent_request_parse(const char *line, size_t length, struct agent_request *ret,
                        struct spoor_error *err);
void agent_request_done(struct agent_request *request);

/* ---- agents ------------------------------------------------------------- */

/* Names the process as an agent, detaches it from the terminal and closes all but the standard
 * descriptors. Must be called first. */
void agent_begin(void);

/* One line of JSON for the program. */
struct agent_answer {
    struct json_writer json;
    struct buffer line;
    const struct agent_request *request; /* NULL: it is not a response to a request */
};

/* Begin and end the event "ready"; members may be added in between. */
void agent_begin_ready(struct agent_answer *answer);
void agent_end_answer(struct agent_answer *answer);

/* Sends an error instead of "ready"; the code is an errno value, positive or negative.
 * Returns the exit code. */
int agent_refuse(int code, const char *message);

/* Responds to a request with an error. `message` may be longer than spoor_error.message. */
void agent_answer_error(const struct agent_request *request, int code, const char *message);

/* An operation of an agent. */
struct agent_op {
    const char *name;
    size_t argument_min;
    size_t argument_max;
    /* Adds the members of the response. Returns 0; -errno to respond with `err`; or 1 if it
     * has called agent_answer_error() itself. */
    int (*act)(void *data, const struct agent_request *request, struct json_writer *json,
               struct spoor_error *err);
};

struct agent {
    const struct agent_op *ops;
    size_t op_count;
    void *data;       /* passed to the operations */
    bool is_at_end;   /* the input has ended */
    bool is_too_long; /* the line is too long: its first part is dropped */
    struct buffer line;
};

/* Serves requests until the end of the input (WATCH_INPUT) or until `watch` reports another
 * end. */
enum watch_end agent_follow(struct agent *agent, struct watch *watch);

/* Serves requests until the end of the input, and frees the agent's memory. */
void agent_finish(struct agent *agent);

/* ---- a session on a running process -------------------------------------
 *
 * Tracking a process or cgroup that is already running, or the host alone: the path of
 * `spoor attach`, `spoor system` and of agents.
 */

struct attachment {
    struct watch watch;
    spoor_session *session;
};

/* Starts tracking options->pid (0: the host), or the cgroup of the options: the first sample is taken
 * when it returns. */
int attachment_open(const struct spoor_options *options, struct attachment *ret,
                    struct spoor_error *err);

/* Opens an attachment, waits like watch_wait(), also for the two descriptors (-1: none), and
 * stops the session. Reports failures. Returns 0, or the program's failure code if there was
 * nothing to track. */
int attachment_follow(const struct program *program, const struct spoor_options *options,
                      uint64_t duration_ns, int input_fd, int output_fd,
                      struct attachment *ret);

/* Accepts a zeroed attachment. */
void attachment_close(struct attachment *attachment);

/* ---- agents that track a process ----------------------------------------
 *
 *     phase-start NAME, phase-stop NAME
 *     sample      takes a sample, in addition to those of the interval
 *     snapshot    takes a sample and returns "metrics": {NAME: VALUE, ...}
 *     stop        takes the last sample, writes the files and returns the result; may be repeated,
 *                 for a program that missed the first response
 *
 * Without a stop, the files are written when the tracked process exits or the input ends.
 */

/* The functions that differ between agents. */
struct tracking_agent_kind {
    /* Called when the run has ended: writes its files. */
    void (*finish)(spoor_session *session, void *data);
    /* Adds the members of the result, such as "report". 0 or -errno. */
    int (*add_result)(spoor_session *session, void *data, struct json_writer *json,
                      struct spoor_error *err);
};

/* Sends "ready" and serves requests until the end of the input. If the attachment has no
 * session, there was nothing to track and the run has already ended. Returns the exit code. */
int tracking_agent_serve(struct attachment *attachment, const struct tracking_agent_kind *kind,
                         void *data);

/* Sets `ret` to the report of the run in a format. */
int tracking_agent_format(spoor_session *session, enum spoor_format format, struct buffer *ret,
                          struct spoor_error *err);

/* Adds the JSON report as "report"; null without a session. */
int tracking_agent_add_report(spoor_session *session, struct json_writer *json,
                              struct spoor_error *err);
