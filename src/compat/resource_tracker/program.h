/* SPDX-License-Identifier: Apache-2.0 */
/* program.h - resource-tracker: the predecessor's command line. */
#ifndef COMPAT_RESOURCE_TRACKER_PROGRAM_H
#define COMPAT_RESOURCE_TRACKER_PROGRAM_H

#include "front/program.h"

extern const struct program resource_tracker_program;

#endif
