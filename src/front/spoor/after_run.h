/* SPDX-License-Identifier: Apache-2.0 */
/* after_run.h - what happens with a run once its reports are written: limits (--max) and a command (--on-exit). */
#ifndef FRONT_SPOOR_AFTER_RUN_H
#define FRONT_SPOOR_AFTER_RUN_H

#include "front/spoor/outputs.h"
#include "front/spoor/settings.h"

/* Returns false if a limit was broken; each is a line on stderr. Costs nothing if the settings ask for nothing.
 * Nothing here fails: a failure is a line on stderr. The session is stopped. */
bool after_run(const struct settings *settings, const struct outputs *outputs,
               spoor_session *session);

/* The same for a run that has a record already, such as one that was not tracked. */
bool after_run_of(const struct settings *settings, const struct outputs *outputs,
                  const struct record *run);

#endif
