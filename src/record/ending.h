/* SPDX-License-Identifier: Apache-2.0 */
/* ending.h - how the job ended, from its wait status. */
#ifndef RECORD_ENDING_H
#define RECORD_ENDING_H

#include <stdbool.h>
#include <stdint.h>

struct ending {
    uint64_t exit_code;   /* 128 + n if signal n killed it; UNKNOWN */
    char signal_name[24]; /* "SIGKILL"; empty: it was not killed */
    bool has_dumped_core;
};

/* `wait_status` as wait(2) reports it, if `has_ended`. */
struct ending ending_of(bool has_ended, int wait_status);

#endif
