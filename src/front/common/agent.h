/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.h - a tracker that a program steers: lines on standard input, answers on standard
 * output, one JSON object a line.
 *
 *     line                  answer
 *     (none: at the start)  {"event": "ready", "pid": N}, when the first sample is taken
 *     phase-start NAME      {"event": "done"}
 *     phase-stop NAME       {"event": "done"}
 *     sample                {"event": "done"}
 *     snapshot              {"event": "snapshot", "metrics": {NAME: VALUE, ...}}
 *     stop                  {"event": "result", ...}: then the agent ends
 *
 * What fails is answered by {"event": "error", "message": "..."}. The agent ends when its
 * input does; its files are complete then. When the tracked process ends, the run is over
 * and its files are written, but the agent waits for its last line.
 */
#ifndef FRONT_COMMON_AGENT_H
#define FRONT_COMMON_AGENT_H

#include "front/common/attachment.h"
#include "text/json_writer.h"

/* In what agents differ. */
struct agent_kind {
    /* The run is over: writes its files. */
    void (*finish)(spoor_session *session, void *data);
    /* Adds the members of the result, such as "report". 0 or -errno. */
    int (*add_result)(spoor_session *session, void *data, struct json_writer *json,
                      struct spoor_error *err);
};

/* To be called first: this process is an agent, for all who look, is of no terminal, and has
 * no files but the standard ones. */
void agent_begin(void);

/* Answers that it cannot be done. Returns the exit code. */
int agent_refuse(const char *message);

/* One line of JSON for the caller. */
struct agent_answer {
    struct json_writer json;
    struct buffer line;
};

/* The answer "ready", to which members may be added in between. */
void agent_begin_ready(struct agent_answer *answer);
void agent_end_ready(struct agent_answer *answer);

/* Serves until the end. Where the attachment has no session there was nothing to track: the
 * run is over already. Returns the exit code. */
int agent_serve(struct attachment *attachment, const struct agent_kind *kind, void *data);

#endif
