/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracking_agent.h - an agent (agent.h) that tracks a process. Its operations:
 *
 *     phase-start NAME, phase-stop NAME
 *     sample      takes a sample, in addition to those of the interval
 *     snapshot    takes a sample and answers with "metrics": {NAME: VALUE, ...}
 *     stop        takes the last sample, writes the files and answers with the result; may be
 *                 repeated, for a program that missed the first answer
 *
 * Without a stop, the files are written when the tracked process exits or the input ends.
 */
#ifndef FRONT_TRACKING_AGENT_H
#define FRONT_TRACKING_AGENT_H

#include "front/agent.h"
#include "front/attachment.h"

/* How agents differ. */
struct tracking_agent_kind {
    /* The run is over: writes its files. */
    void (*finish)(spoor_session *session, void *data);
    /* Adds the members of the result, such as "report". 0 or -errno. */
    int (*add_result)(spoor_session *session, void *data, struct json_writer *json,
                      struct spoor_error *err);
};

/* Serves until the end of the input, after the caller has said "ready". Without a session in the
 * attachment, there was nothing to track and the run is over already. Returns the exit code. */
int tracking_agent_serve(struct attachment *attachment, const struct tracking_agent_kind *kind,
                         void *data);

/* The report of the run in a format. */
int tracking_agent_format(spoor_session *session, enum spoor_format format, struct buffer *ret,
                          struct spoor_error *err);

/* Adds the JSON report as "report"; null without a session. */
int tracking_agent_add_report(spoor_session *session, struct json_writer *json,
                              struct spoor_error *err);

#endif
