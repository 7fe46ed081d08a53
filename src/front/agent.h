/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.h - the agent protocol, version 1: how a program controls a tracker that it has started.
 *
 * The agent reads requests from its standard input and writes answers to its standard output,
 * one JSON object per line. First it says that it is ready:
 *
 *     {"event": "ready", "protocol": 1, "pid": N}
 *
 * or answers with an error and exits. Then every request gets one answer with the same id, in
 * the order of the requests:
 *
 *     {"id": 1, "op": "phase-start", "arguments": ["load"]}
 *     {"id": 1, "event": "done"}
 *
 *     {"id": 2, "op": "phase-stop", "arguments": ["x"]}
 *     {"id": 2, "event": "error", "code": "EINVAL", "message": "phase 'x' is not open"}
 *
 * A program that was interrupted before it read an answer skips it by its id. The id of an error
 * is null if the request had none that could be read. Empty lines are ignored. The code is the
 * errno name of one of these; programs decide by it and never by the message:
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
#ifndef FRONT_AGENT_H
#define FRONT_AGENT_H

#include "front/agent_request.h"
#include "text/json_writer.h"

enum { AGENT_PROTOCOL = 1 };

/* To be called first. Names the process as an agent, detaches it from the terminal and closes
 * all but the standard descriptors. */
void agent_begin(void);

/* One line of JSON for the program. */
struct agent_answer {
    struct json_writer json;
    struct buffer line;
    const struct agent_request *request; /* NULL: it answers none */
};

/* "ready", to which members may be added in between. */
void agent_begin_ready(struct agent_answer *answer);
void agent_end_answer(struct agent_answer *answer);

/* Answers with an error instead of "ready"; the code is an errno value, positive or negative.
 * Returns the exit code. */
int agent_refuse(int code, const char *message);

/* Answers a request with an error; `message` may be longer than that of a struct spoor_error. */
void agent_answer_error(const struct agent_request *request, int code, const char *message);

/* What an agent can be asked for. */
struct agent_op {
    const char *name;
    size_t argument_min;
    size_t argument_max;
    /* Adds the members of the answer. 0; -errno to answer with `err`; or 1 if it has called
     * agent_answer_error() itself. */
    int (*act)(void *data, const struct agent_request *request, struct json_writer *json,
               struct spoor_error *err);
};

struct agent {
    const struct agent_op *ops;
    size_t op_count;
    void *data;       /* passed to the operations */
    bool is_at_end;   /* of the input */
    bool is_too_long; /* the line, what was read of it is dropped */
    struct buffer line;
};

/* Reads the input that there is, which may be none, and answers its requests. */
void agent_read(struct agent *agent);

/* Answers requests until the end of the input, and frees the agent's memory. */
void agent_finish(struct agent *agent);

#endif
