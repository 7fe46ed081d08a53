/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracking_file.h - the tracking file of gpu-tracker: facts about the run, and one row per
 * sample.
 *
 * The suffix of the file name is its kind: .csv (lines end in CR LF; two lines of facts, then a
 * header and the rows) or .sqlite (tables static_data and data). Rows that were written survive
 * if the writer is killed.
 */
#pragma once

#include <stdbool.h>

#include "base/writer_process.h"
#include "spoor/spoor.h"

/* ---- the file ----------------------------------------------------------- */

/* The columns of a row, in order. Memory is in the unit that the facts name. A percentage is
 * of one CPU or GPU (sum), or of all expected CPUs or GPUs (hardware). The time is in seconds
 * since 1970. */
enum tracking_column {
    TRACKING_MAIN_RAM,
    TRACKING_DESCENDANTS_RAM,
    TRACKING_COMBINED_RAM,
    TRACKING_SYSTEM_RAM,
    TRACKING_MAIN_GPU_RAM,
    TRACKING_DESCENDANTS_GPU_RAM,
    TRACKING_COMBINED_GPU_RAM,
    TRACKING_SYSTEM_GPU_RAM,
    TRACKING_GPU_SUM_UTILIZATION_PERCENT,
    TRACKING_GPU_HARDWARE_UTILIZATION_PERCENT,
    TRACKING_MAIN_N_THREADS,
    TRACKING_DESCENDANTS_N_THREADS,
    TRACKING_COMBINED_N_THREADS,
    TRACKING_CPU_SYSTEM_SUM_UTILIZATION_PERCENT,
    TRACKING_CPU_SYSTEM_HARDWARE_UTILIZATION_PERCENT,
    TRACKING_CPU_MAIN_SUM_UTILIZATION_PERCENT,
    TRACKING_CPU_MAIN_HARDWARE_UTILIZATION_PERCENT,
    TRACKING_CPU_DESCENDANTS_SUM_UTILIZATION_PERCENT,
    TRACKING_CPU_DESCENDANTS_HARDWARE_UTILIZATION_PERCENT,
    TRACKING_CPU_COMBINED_SUM_UTILIZATION_PERCENT,
    TRACKING_CPU_COMBINED_HARDWARE_UTILIZATION_PERCENT,
    TRACKING_TIMESTAMP,
    TRACKING_COLUMNS
};

/* The facts about the run (table static_data), in order. */
enum tracking_fact {
    TRACKING_RAM_UNIT,
    TRACKING_GPU_RAM_UNIT,
    TRACKING_TIME_UNIT,
    TRACKING_RAM_CAPACITY,
    TRACKING_GPU_RAM_CAPACITY,
    TRACKING_CORE_COUNT,
    TRACKING_EXPECTED_CORES,
    TRACKING_GPU_COUNT,
    TRACKING_EXPECTED_GPUS,
    TRACKING_FACTS
};

struct tracking_facts {
    char texts[TRACKING_FACTS][64]; /* values of the facts that are texts */
    double numbers[TRACKING_FACTS]; /* values of the numeric facts */
};

/* The unit of a value: the base unit, a unit that the facts name, or percent. */
enum tracking_unit {
    TRACKING_COUNTS,
    TRACKING_IN_RAM,
    TRACKING_IN_GPU_RAM,
    TRACKING_IN_TIME,
    TRACKING_PERCENT
};

/* The moment of a value: the last sample in which the command was alive (HELD), or the sample
 * of the row (NOW). A RATE is the increase per second since the previous row. */
enum tracking_moment { TRACKING_HELD, TRACKING_NOW, TRACKING_RATE };

enum tracking_type { TRACKING_TEXT, TRACKING_REAL, TRACKING_INTEGER };

struct tracking_field {
    const char *name;
    enum tracking_type type;
    /* Metric of a column; NULL: computed from the previous column, or the timestamp. */
    const char *metric;
    enum tracking_unit unit;
    enum tracking_moment moment;
    enum tracking_column threads; /* column with the threads of the same processes; 0: none */
};

extern const struct tracking_field tracking_fact_fields[TRACKING_FACTS];
extern const struct tracking_field tracking_row_fields[TRACKING_COLUMNS];

/* ---- reading ------------------------------------------------------------ */

/* Receives one row. Returns 0 to go on, or -errno. */
typedef int tracking_row_seen(const double row[TRACKING_COLUMNS], void *data);

/* Reads a tracking file. Every message contains the name of the file. */
int tracking_read(const char *path, struct tracking_facts *ret, tracking_row_seen *seen,
                  void *data, struct spoor_error *err);

/* ---- the process that writes --------------------------------------------
 *
 * Writes the tracking file in a writer process (base/writer_process.h): if the disk does not
 * respond, rows are lost, but nothing is delayed.
 *
 * A failure loses rows but does not stop the run. The next call returns it, once: -errno, with
 * a message for a warning. All functions accept a closed writer.
 */

/* All zero: closed. */
struct tracking_writer {
    struct writer_process process;
    const char *path; /* borrowed */
    bool has_failed;  /* a failure has been returned */
};

/* Starts the writer process. The calling process must not have threads yet. The caller has
 * checked the suffix of the path. 0, or -errno with a message. */
int tracking_writer_start(struct tracking_writer *writer, const char *path, bool overwrite,
                          struct spoor_error *err);

/* Creates the file and writes the facts; closes the writer on failure. If the file exists,
 * fails with -EEXIST, unless `overwrite` was set: then the new file stays next to the old one
 * until tracking_writer_begin(). It is not a failure if the disk does not respond within 2
 * s. */
int tracking_writer_open(struct tracking_writer *writer, const struct tracking_facts *facts,
                         struct spoor_error *err);

/* Called before the first row: replaces an old file. */
int tracking_writer_begin(struct tracking_writer *writer, struct spoor_error *err);

/* Adds a row; NaN (unknown) is written as 0. May be called from another thread than the
 * other functions, but not concurrently. */
int tracking_writer_add(struct tracking_writer *writer, const double row[TRACKING_COLUMNS],
                        struct spoor_error *err);

/* Waits briefly until the rows are in the file. */
void tracking_writer_wait(const struct tracking_writer *writer);

/* Finishes the file. If tracking_writer_begin() was not called, removes the new file and
 * keeps an old one. Also fails if rows could not be written in time. */
int tracking_writer_close(struct tracking_writer *writer, struct spoor_error *err);
