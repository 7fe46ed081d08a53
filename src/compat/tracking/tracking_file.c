/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/tracking/tracking_file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "compat/tracking/table.h"
#include "compat/tracking/tracking_format.h"
#include "output/output_file.h"

struct tracking_file {
    const struct tracking_format *format;
    void *state; /* NULL: no rows yet */
    char *path;
    struct replacement replacement; /* of an old file, until then; fd -1: none */
    struct stat created;            /* whose the name was in the beginning */
    bool has_begun;                 /* there may be rows */
    bool has_failed;
};

static const struct tracking_format *const formats[] = {
    [TABLE_CSV] = &tracking_csv,
    [TABLE_SQLITE] = &tracking_sqlite,
};

const struct tracking_field tracking_fact_fields[TRACKING_FACTS] = {
    { "ram_unit", TRACKING_TEXT },
    { "gpu_ram_unit", TRACKING_TEXT },
    { "time_unit", TRACKING_TEXT },
    { "ram_system_capacity", TRACKING_REAL },
    { "gpu_ram_system_capacity", TRACKING_REAL },
    { "system_core_count", TRACKING_INTEGER },
    { "n_expected_cores", TRACKING_INTEGER },
    { "system_gpu_count", TRACKING_INTEGER },
    { "n_expected_gpus", TRACKING_INTEGER },
};

/* clang-format off */
const struct tracking_field tracking_row_fields[TRACKING_COLUMNS] = {
[TRACKING_MAIN_RAM] = { "main_ram", TRACKING_REAL },
[TRACKING_DESCENDANTS_RAM] = { "descendants_ram", TRACKING_REAL },
[TRACKING_COMBINED_RAM] = { "combined_ram", TRACKING_REAL },
[TRACKING_SYSTEM_RAM] = { "system_ram", TRACKING_REAL },
[TRACKING_MAIN_GPU_RAM] = { "main_gpu_ram", TRACKING_REAL },
[TRACKING_DESCENDANTS_GPU_RAM] = { "descendants_gpu_ram", TRACKING_REAL },
[TRACKING_COMBINED_GPU_RAM] = { "combined_gpu_ram", TRACKING_REAL },
[TRACKING_SYSTEM_GPU_RAM] = { "system_gpu_ram", TRACKING_REAL },
[TRACKING_GPU_SUM_UTILIZATION_PERCENT] = { "gpu_sum_utilization_percent", TRACKING_REAL },
[TRACKING_GPU_HARDWARE_UTILIZATION_PERCENT] = { "gpu_hardware_utilization_percent", TRACKING_REAL },
[TRACKING_MAIN_N_THREADS] = { "main_n_threads", TRACKING_INTEGER },
[TRACKING_DESCENDANTS_N_THREADS] = { "descendants_n_threads", TRACKING_INTEGER },
[TRACKING_COMBINED_N_THREADS] = { "combined_n_threads", TRACKING_INTEGER },
[TRACKING_CPU_SYSTEM_SUM_UTILIZATION_PERCENT] = { "cpu_system_sum_utilization_percent", TRACKING_REAL },
[TRACKING_CPU_SYSTEM_HARDWARE_UTILIZATION_PERCENT] = { "cpu_system_hardware_utilization_percent", TRACKING_REAL },
[TRACKING_CPU_MAIN_SUM_UTILIZATION_PERCENT] = { "cpu_main_sum_utilization_percent", TRACKING_REAL },
[TRACKING_CPU_MAIN_HARDWARE_UTILIZATION_PERCENT] = { "cpu_main_hardware_utilization_percent", TRACKING_REAL },
[TRACKING_CPU_DESCENDANTS_SUM_UTILIZATION_PERCENT] = { "cpu_descendants_sum_utilization_percent", TRACKING_REAL },
[TRACKING_CPU_DESCENDANTS_HARDWARE_UTILIZATION_PERCENT] = { "cpu_descendants_hardware_utilization_percent", TRACKING_REAL },
[TRACKING_CPU_COMBINED_SUM_UTILIZATION_PERCENT] = { "cpu_combined_sum_utilization_percent", TRACKING_REAL },
[TRACKING_CPU_COMBINED_HARDWARE_UTILIZATION_PERCENT] = { "cpu_combined_hardware_utilization_percent", TRACKING_REAL },
[TRACKING_TIMESTAMP] = { "timestamp", TRACKING_REAL },
};
/* clang-format on */

/* In this interface what cannot be known is 0. */
static double known(double value)
{
    return isfinite(value) ? value : 0;
}

void tracking_fact_values(const struct tracking_facts *facts,
                          struct tracking_value ret[TRACKING_FACTS])
{
    const struct tracking_value values[TRACKING_FACTS] = {
        { facts->ram_unit, 0 },
        { facts->gpu_ram_unit, 0 },
        { facts->time_unit, 0 },
        { NULL, known(facts->ram_system_capacity) },
        { NULL, known(facts->gpu_ram_system_capacity) },
        { NULL, facts->system_core_count },
        { NULL, facts->n_expected_cores },
        { NULL, facts->system_gpu_count },
        { NULL, facts->n_expected_gpus },
    };

    memcpy(ret, values, sizeof(values));
}

int tracking_file_check_name(const char *path, struct spoor_error *err)
{
    int kind = table_check_name(path, err);

    return kind < 0 ? kind : 0;
}

/* What SQLite kept beside an older file would be taken for part of the new one. */
static int remove_beside(const char *path, struct spoor_error *err)
{
    static const char *const suffixes[] = { "-wal", "-shm", "-journal" };

    for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
        AUTO_FREE char *name = NULL;

        if (asprintf(&name, "%s%s", path, suffixes[i]) < 0) {
            name = NULL;
            return error_set(err, ENOMEM, "out of memory");
        }
        if (unlink(name) < 0 && errno != ENOENT)
            return error_sys(err, errno, "cannot replace the file %s", name);
    }
    return 0;
}

/* An empty file under that name or, if there is an old one, beside it. */
static int create(struct tracking_file *file, bool overwrite, struct spoor_error *err)
{
    const char *path = file->path;
    struct stat old;
    int fd, r;

    if (stat(path, &old) == 0 && S_ISREG(old.st_mode)) {
        if (!overwrite)
            return error_set(err, EEXIST,
                             "File %s already exists. Set overwrite to True to overwrite the "
                             "existing file.",
                             path);
        r = output_file_check(path, OUTPUT_REPLACE, NULL);
        if (r == 0 || r == -ELOOP) /* a link is replaced, not what it names */
            r = replacement_open(&file->replacement, path, false);
        return r < 0 ? error_sys(err, r, "cannot replace the file %s", path) : 0;
    }
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return error_sys(err, errno, "cannot create the file %s", path);
    close(fd);
    return remove_beside(path, err);
}

/* A new file that is not needed or cannot be used. */
static void discard(struct tracking_file *file)
{
    if (file->replacement.fd >= 0)
        replacement_cancel(&file->replacement);
    else
        (void)unlink(file->path);
}

static void free_file(struct tracking_file **file)
{
    if (!*file)
        return;
    free((*file)->path);
    free(*file);
}

static int open_rows(struct tracking_file *file, struct spoor_error *err)
{
    int r;

    if (stat(file->path, &file->created) < 0)
        return error_sys(err, errno, "cannot open the file %s", file->path);
    r = file->format->open(file->path, &file->state, err);
    return r < 0 ? error_prefix(err, r, "cannot write to the file %s", file->path) : 0;
}

int tracking_file_open(const char *path, bool overwrite, const struct tracking_facts *facts,
                       struct tracking_file **ret, struct spoor_error *err)
{
    CLEANUP(free_file) struct tracking_file *file = calloc(1, sizeof(*file));
    int kind = table_check_name(path, err);
    int r;

    if (kind < 0)
        return kind;
    if (file)
        file->path = strdup(path);
    if (!file || !file->path)
        return error_set(err, ENOMEM, "out of memory");
    file->format = formats[kind];
    file->replacement.fd = -1;
    r = create(file, overwrite, err);
    if (r < 0)
        return r;
    r = file->format->create(
        file->replacement.fd >= 0 ? file->replacement.temporary : file->path, facts, err);
    if (r < 0)
        (void)error_prefix(err, r, "cannot write to the file %s", path);
    /* A new file is complete before the job starts, which may look for it. */
    if (r == 0 && file->replacement.fd < 0)
        r = open_rows(file, err);
    if (r < 0) {
        discard(file);
        return r;
    }
    *ret = take_ptr(file);
    return 0;
}

static int replace_old(struct tracking_file *file, struct spoor_error *err)
{
    int r = remove_beside(file->path, err);

    if (r < 0)
        return r;
    r = replacement_commit(&file->replacement, false);
    return r < 0 ? error_sys(err, r, "cannot replace the file %s", file->path)
                 : open_rows(file, err);
}

int tracking_file_begin(struct tracking_file *file, struct spoor_error *err)
{
    int r = file->replacement.fd >= 0 ? replace_old(file, err) : 0;

    file->has_begun = true;
    file->has_failed = r < 0;
    return r;
}

static bool is_removed(const struct tracking_file *file)
{
    struct stat now;

    return stat(file->path, &now) < 0 || now.st_ino != file->created.st_ino ||
           now.st_dev != file->created.st_dev;
}

int tracking_file_add(struct tracking_file *file, const double row[TRACKING_COLUMNS],
                      struct spoor_error *err)
{
    double values[TRACKING_COLUMNS];
    int r;

    if (!file->state)
        return 0;
    if (is_removed(file)) {
        r = error_set(err, ENOENT,
                      "The file %s was removed in the middle of writing data to it.",
                      file->path);
    } else {
        for (size_t i = 0; i < TRACKING_COLUMNS; i++)
            values[i] = known(row[i]);
        r = file->format->add(file->state, values, err);
        if (r < 0)
            r = error_prefix(err, r, "cannot write a row to the file %s", file->path);
    }
    if (r == 0 || file->has_failed)
        return 0;
    file->has_failed = true;
    return r;
}

int tracking_file_close(struct tracking_file *file, struct spoor_error *err)
{
    int r = 0;

    if (!file)
        return 0;
    if (file->state)
        r = file->format->close(file->state, err);
    if (!file->has_begun || file->replacement.fd >= 0)
        discard(file);
    if (r < 0)
        r = error_prefix(err, r, "cannot write the end of the file %s", file->path);
    /* The user was told already. */
    if (file->has_failed)
        r = 0;
    free_file(&file);
    return r;
}
