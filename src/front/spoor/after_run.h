/* SPDX-License-Identifier: Apache-2.0 */
/* after_run.h - actions after the reports of a run are written: limits (--max) and a command
 * (--on-exit). */
#ifndef FRONT_SPOOR_AFTER_RUN_H
#define FRONT_SPOOR_AFTER_RUN_H

#include "front/spoor/outputs.h"
#include "front/spoor/settings.h"

/* Returns false if a limit was broken; each is a line on stderr. Does nothing if the
 * settings have neither limits nor a command. Failures are lines on stderr. The session must
 * be stopped. */
bool after_run(const struct settings *settings, const struct outputs *outputs,
               spoor_session *session);

/* Does the same for a run that has a record already, such as one that was not tracked. */
bool after_run_of(const struct settings *settings, const struct outputs *outputs,
                  const struct record *run);

#endif
