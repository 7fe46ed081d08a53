/* SPDX-License-Identifier: Apache-2.0 */
/* text_parts.h - the parts of the text report that text.c puts together. */
#pragma once

#include "output/text_layout.h"
#include "record/record.h"

/* ---- GPUs (text_gpu.c) ---- */

/* Writes the usage of the job's GPUs, and a row for each GPU that it used. Writes nothing if
 * the job has no GPU. */
void text_gpu_write(const struct record *record, struct page *page);

/* Whether the job used a GPU, as far as known. Otherwise there is no row of GPU usage. */
bool text_gpu_has_used(const struct record *record);

/* The name of a GPU, as in --gpus: "GPU 1", "GPU 0:1" for a part. */
struct gpu_label {
    char text[48];
} gpu_label(const struct record_gpu *gpu);

/* ---- the ranks of a job; nothing if the record is of one run (text_group.c) ---- */

/* Writes how many ranks reported, which did not, and how uneven they are. */
void group_verdict_write(const struct record *record, struct page *page);

/* Writes the nodes with the most memory, and the ranks that differ most. */
void group_table_write(const struct record *record, struct page *page);

/* ---- a machine without a job (text_system.c) ---- */

/* Writes the headline and a row for each quantity and device. record->system must not be
 * NULL. */
void text_system_write(const struct record *record, struct page *page);

/* ---- below the rows (text_tables.c) ---- */

/* Writes which figures are sampled and how inaccurate a peak may be; which are missing and
 * why. Writes nothing if all are exact. */
void notes_write(const struct record *record, struct page *page);

enum { PHASE_TABLE_ROWS_MAX = 8 };

/* Writes nothing if there are no phases. The last row counts phases that do not fit. */
void phase_table_write(const struct record *record, struct page *page);

/* Writes record->shown_processes of the processes, those with the most CPU time first. */
void process_list_write(const struct record *record, struct page *page);
