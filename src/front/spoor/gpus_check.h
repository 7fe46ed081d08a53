/* SPDX-License-Identifier: Apache-2.0 */
/* gpus_check.h - a list of GPUs that names one which is not there is refused, before a job starts. */
#ifndef FRONT_SPOOR_GPUS_CHECK_H
#define FRONT_SPOOR_GPUS_CHECK_H

#include "front/spoor/settings.h"

/* Asks the drivers, for 2 s at most, where the settings name GPUs one by one. -EINVAL: one of
 * them is not there. Where there is no GPU, or a driver cannot be asked, nothing is refused: the
 * report warns. */
int gpus_check(const struct settings *settings, struct spoor_error *err);

/* A message of the library about --gpus, of whoever said it: the option, the variable, the file. */
void gpus_name_source(const struct settings *settings, struct spoor_error *err);

#endif
