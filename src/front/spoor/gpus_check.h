/* SPDX-License-Identifier: Apache-2.0 */
/* gpus_check.h - check that the GPUs of --gpus exist, before a job starts. */
#ifndef FRONT_SPOOR_GPUS_CHECK_H
#define FRONT_SPOOR_GPUS_CHECK_H

#include "front/spoor/settings.h"

/* If the settings list single GPUs, asks the drivers for at most 2 s. -EINVAL: one of them does
 * not exist. If there is no GPU or a driver does not answer, nothing is refused: the report
 * warns. */
int gpus_check(const struct settings *settings, struct spoor_error *err);

/* Makes a message of the library about --gpus name what set it: option, variable or file. */
void gpus_name_source(const struct settings *settings, struct spoor_error *err);

#endif
