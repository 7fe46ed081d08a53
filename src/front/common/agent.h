/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.h - a tracker controlled by the program that started it: commands are lines on
 * standard input, answers are JSON objects on standard output, one per line.
 *
 *     command               answer
 *     (none: at the start)  {"event": "ready", "pid": N}, when the first sample is taken
 *     phase-start NAME      {"event": "done"}
 *     phase-stop NAME       {"event": "done"}
 *     sample                {"event": "done"}
 *     snapshot              {"event": "snapshot", "metrics": {NAME: VALUE, ...}}
 *     stop                  {"event": "result", ...}; then the agent exits
 *
 * A failure is answered with {"event": "error", "code": "EINVAL", "message": "..."}. The code is
 * the errno name of one of these; callers decide by it and never by the message:
 *
 *     EINVAL, EBADMSG          an argument, or the contents of a file, is not valid
 *     ENOENT, ENOTDIR, EISDIR  a file or folder is missing, or is of the wrong kind
 *     EEXIST                   a file exists that must not be replaced
 *     EACCES, EPERM            not permitted
 *     ESRCH                    the process does not exist, or has ended
 *     ENODEV                   there is no such GPU
 *     ENOMEM, ENOSPC           out of memory, disk space, or room for another phase
 *     EIO                      anything else
 *
 * The agent exits when its input ends; its files are complete then. When the tracked process
 * exits, the run is over and its files are written, but the agent waits for its last command.
 */
#ifndef FRONT_COMMON_AGENT_H
#define FRONT_COMMON_AGENT_H

#include "front/common/attachment.h"
#include "text/json_writer.h"

/* How agents differ. */
struct agent_kind {
    /* The run is over: writes its files. */
    void (*finish)(spoor_session *session, void *data);
    /* Adds the members of the result, such as "report". 0 or -errno. */
    int (*add_result)(spoor_session *session, void *data, struct json_writer *json,
                      struct spoor_error *err);
};

/* To be called first. Names the process as an agent, detaches it from the terminal and closes
 * all but the standard descriptors. */
void agent_begin(void);

/* Answers with an error; the code is an errno value, positive or negative. Returns the exit
 * code. */
int agent_refuse(int code, const char *message);

/* One line of JSON for the caller. */
struct agent_answer {
    struct json_writer json;
    struct buffer line;
};

/* An answer, to which members may be added in between. "ready" has a pid. */
void agent_begin_answer(struct agent_answer *answer, const char *event);
void agent_begin_ready(struct agent_answer *answer);
void agent_end_answer(struct agent_answer *answer);

/* Serves until the end. Without a session in the attachment, there was nothing to track and
 * the run is over already. Returns the exit code. */
int agent_serve(struct attachment *attachment, const struct agent_kind *kind, void *data);

#endif
