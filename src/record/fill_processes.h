/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_FILL_PROCESSES_H
#define RECORD_FILL_PROCESSES_H

#include "record/fill.h"

/* The processes of the job; none if input->processes is NULL. */
void fill_processes(struct record *record, const struct record_input *input);

#endif
