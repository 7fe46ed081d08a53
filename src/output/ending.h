/* SPDX-License-Identifier: Apache-2.0 */
/* ending.h - how the job ended, from its wait status. */
#ifndef OUTPUT_ENDING_H
#define OUTPUT_ENDING_H

#include <stdint.h>

#include "output/report.h"

struct ending {
    uint64_t exit_code;   /* 128 + n where signal n killed it; UNKNOWN */
    char signal_name[24]; /* as "SIGKILL"; empty: it was not killed */
};

struct ending ending_get(const struct report *report);

#endif
