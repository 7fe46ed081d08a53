/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder.h - the folder of a group: DIR/HOST.jsonl, one file per node, to which the ranks of the node append. No rank
 * waits for another.
 *
 *     {"schema":"spoor/1","begin":{"id":...,"host":...},"launch":{...}}   when a rank begins
 *     {"schema":"spoor/1","run":{"id":...},...}                           its report, when it ends
 *     {"schema":"spoor/1","node":{"ended":4}}                             all ranks that began here have ended
 *
 * The last kind spares a rank from reading the reports of all nodes to find out whether it is the last one.
 */
#ifndef GROUP_FOLDER_H
#define GROUP_FOLDER_H

#include <sys/types.h>

#include "record/record.h"
#include "text/buffer.h"

/* Whether a folder has the files of a group. */
bool group_is_folder(const char *folder);

/* Adds the first line of a rank. A group that was merged before is merged again when it ends. */
int group_begin(const char *folder, const struct record *record, struct spoor_error *err);

/* The tracker of a rank that began on this machine and has not ended; 0: there is none. */
pid_t group_find_running(const char *folder, uint64_t rank);

/* Adds its report, a line of SPOOR_RANK. If all `ranks` have ended, writes merged.json and merged.html: 1 if so. */
int group_end(const char *folder, const struct buffer *line, uint64_t ranks,
              struct spoor_error *err);

/* Merges all lines. Damaged lines are warnings of the record, which the caller ends with record_done(). */
int group_load(const char *folder, struct record *ret, struct spoor_error *err);

#endif
