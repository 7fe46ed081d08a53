/* SPDX-License-Identifier: Apache-2.0 */
/* save.h - a report where it belongs; on disk it is whole, or not there. */
#ifndef OUTPUT_SAVE_H
#define OUTPUT_SAVE_H

#include "record/record.h"
#include "spoor/spoor.h"

/* Writes a report to a descriptor. */
int save_to_descriptor(const struct record *record, enum spoor_format format, bool has_color,
                       int fd, struct spoor_error *err);

/* Writes a report to a file as `how` says. No symbolic link is followed. A CSV file that is
 * appended to keeps its header. */
int save_to_file(const struct record *record, enum spoor_format format, const char *path,
                 enum spoor_save how, struct spoor_error *err);

#endif
