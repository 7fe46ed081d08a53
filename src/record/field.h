/* SPDX-License-Identifier: Apache-2.0 */
/*
 * field.h - the tables of a record's fields that are not figures: where each stands in the
 * JSON report and in the struct. The JSON writer, the loader and the CSV row use them, so
 * none can forget a field.
 */
#ifndef RECORD_FIELD_H
#define RECORD_FIELD_H

#include <stddef.h>

enum field_kind {
    FIELD_TEXT,    /* const char * */
    FIELD_COUNT,   /* uint64_t */
    FIELD_NUMBER,  /* double */
    FIELD_DATE,    /* double, since 1970, UTC */
    FIELD_FLAG,    /* bool */
    FIELD_IF_TRUE, /* bool; written only if it is true */
    FIELD_TEXTS,   /* const char **, ended by NULL */
    FIELD_TAGS,    /* struct record_tags */
};

struct field {
    const char *path; /* "run.id" */
    enum field_kind kind;
    size_t offset; /* in the struct that the table is of */
};

/* In the order of the JSON report. */
struct field_table {
    const struct field *rows;
    size_t count;
};

extern const struct field_table record_run_fields;
extern const struct field_table record_machine_fields; /* host and limits */
extern const struct field_table record_tracker_fields;
extern const struct field_table record_warning_fields;
extern const struct field_table record_phase_fields; /* before its figures */
extern const struct field_table record_gpu_fields;
extern const struct field_table record_process_fields;
extern const struct field_table record_process_sum_fields;

/* The first of record_gpu_fields say which GPU it is. */
enum { RECORD_GPU_IDENTITY = 5 };

/* Makes every field of a struct unknown; flags are false. */
void field_table_clear(const struct field_table *table, void *base);

/* Where a field is. `base` is the struct that holds it. */
static inline const void *field_at(const struct field *field, const void *base)
{
    return (const char *)base + field->offset;
}

#endif
