/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder.h - the folder of a group: DIR/HOST.jsonl, one file per node, to which the ranks of
 * the node append. No rank waits for another.
 *
 *     {"schema":"spoor/1","begin":{"id":...,"host":...},"launch":{...}}   when a rank begins
 *     {"schema":"spoor/1","run":{"id":...},...}                           its report, when it ends
 *     {"schema":"spoor/1","node":{"ended":4}}                             all ranks that began here have ended
 *
 * With the last kind of line, a rank need not read the reports of all nodes to find out whether
 * it is the last one.
 */
#pragma once

#include <sys/types.h>

#include "record/record.h"
#include "text/buffer.h"

/* Returns whether a folder contains the files of a group. */
bool group_is_folder(const char *folder);

/* Adds the first line of a rank, and removes an earlier merged report. */
int group_begin(const char *folder, const struct record *record, struct spoor_error *err);

/* Returns the pid of the tracker of a rank that began on this machine and has not ended; 0:
 * there is none. */
pid_t group_find_running(const char *folder, uint64_t rank);

/* Adds the report of a rank, a line in the format SPOOR_RANK. If all `ranks` have ended,
 * writes merged.json and merged.html and returns 1; else 0. */
int group_end(const char *folder, const struct buffer *line, uint64_t ranks,
              struct spoor_error *err);

/* Merges all lines. Damaged lines become warnings in the record. The caller calls
 * record_done(). */
int group_load(const char *folder, struct record *ret, struct spoor_error *err);
