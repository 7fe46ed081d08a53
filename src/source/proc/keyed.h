/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keyed.h - files of "Key:   value kB" lines, read by a table of fields.
 *
 * One pass over the text fills a struct of uint64_t fields. A key that does not come stays UNKNOWN, and
 * of one that comes twice the first counts. Keys of the file that are not in the table are ignored.
 */
#ifndef SOURCE_PROC_KEYED_H
#define SOURCE_PROC_KEYED_H

#include <stddef.h>
#include <stdint.h>

struct keyed_field {
    const char *key; /* with its colon: "VmHWM:" */
    size_t offset;   /* of a uint64_t in the struct */
    uint64_t scale;  /* what the value is multiplied by: 1024 for kB */
};

/* Returns how many fields were found. `into` is a struct of uint64_t fields. */
size_t keyed_parse(const char *text, const struct keyed_field *fields, size_t count,
                   void *into);

#endif
