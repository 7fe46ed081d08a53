/* SPDX-License-Identifier: Apache-2.0 */
#include "record/run_figure.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/error.h"
#include "series/figure.h"
#include "text/find.h"

const struct run_figure run_figures[RUN_FIGURES] = {
    { "time", "Time", NULL, RUN_SECONDS, "TIME" },
    { "cpu", "CPU time", "cpu.total_seconds", RUN_SECONDS, "CPU" },
    { "memory", "Peak memory", "memory.combined.total_rss_bytes", RUN_BYTES, "MEMORY" },
    { "read", "Read from disk", "io.read_bytes", RUN_BYTES, "READ" },
    { "written", "Written to disk", "io.written_bytes", RUN_BYTES, "WRITTEN" },
    { "gpu_memory", "Peak GPU memory", "gpu.memory.combined_bytes", RUN_BYTES, "GPU MEM" },
    { "energy", "GPU energy", "energy.gpu_joules", RUN_JOULES, "ENERGY" },
};

static const struct {
    const char *words[2]; /* the last word of the paths of such figures */
    const char *expected;
    struct number (*text)(double value);
} kinds[] = {
    [RUN_SECONDS] = { { "seconds" }, "a time, such as 90, 10m or 3h", number_duration },
    [RUN_BYTES] = { { "bytes", "chars" }, "a size, such as 500MB, 2GiB or 20G", number_bytes },
    [RUN_JOULES] = { { "joules" }, "an energy, such as 500, 20kJ or 0.5kWh", number_energy },
    [RUN_NUMBER] = { { NULL }, "a number", number_short },
};

static enum run_unit unit_of(const char *path)
{
    const char *word = strrchr(path, '_');

    for (enum run_unit unit = 0; word && unit < RUN_NUMBER; unit++) {
        for (size_t i = 0; i < ARRAY_SIZE(kinds[unit].words) && kinds[unit].words[i]; i++) {
            if (strcmp(word + 1, kinds[unit].words[i]) == 0)
                return unit;
        }
    }
    return RUN_NUMBER;
}

int run_figure_find(const char *name, struct run_figure *ret, struct spoor_error *err)
{
    const struct run_figure *found = FIND_ROW(run_figures, name, name);
    ssize_t index = figure_index(name);

    if (found) {
        *ret = *found;
        return 0;
    }
    if (index < 0)
        return error_set(err, EINVAL,
                         "unknown figure '%s': use time, cpu, memory, read, written, "
                         "gpu_memory, energy, or a path of the JSON report, such as "
                         "memory.job_peak_bytes",
                         name);
    *ret = (struct run_figure){
        .name = figure_path((size_t)index),
        .label = figure_path((size_t)index),
        .path = figure_path((size_t)index),
        .unit = unit_of(name),
    };
    return 0;
}

struct spoor_figure run_figure_get(const struct run_figure *figure, const struct record *record)
{
    const double unknown = (double)NAN;

    if (figure->path)
        return record->figures ? record_find(record->figures, figure->path)
                               : record_unknown_figure("no job was tracked");
    return (struct spoor_figure){
        .value = record->elapsed_seconds,
        .low = unknown,
        .high = unknown,
        .is_exact = true,
    };
}

double run_figure_low(const struct spoor_figure *figure)
{
    return figure->is_exact || isnan(figure->low) ? figure->value : figure->low;
}

double run_figure_high(const struct spoor_figure *figure)
{
    return figure->is_exact || isnan(figure->high) ? figure->value : figure->high;
}

struct number run_figure_text(const struct run_figure *figure, double value)
{
    return kinds[figure->unit].text(value);
}

void run_figure_add(const struct run_figure *figure, double value, double low, double high,
                    struct buffer *out)
{
    buffer_add_text(out, run_figure_text(figure, value).text);
    if (low < high)
        buffer_format(out, " (%s to %s)", run_figure_text(figure, low).text,
                      run_figure_text(figure, high).text);
}

/* ---- values that people write ------------------------------------------- */

static double byte_factor(const char *unit)
{
    static const char letters[] = "kmgtp";
    const char *letter = *unit ? strchr(letters, *unit | 0x20) : NULL;
    double power = letter ? (double)(letter - letters + 1) : 0;
    const char *rest = letter ? unit + 1 : unit;

    if (letter && (*rest == '\0' || strcasecmp(rest, "i") == 0 || strcasecmp(rest, "ib") == 0))
        return pow(1024, power);
    return *rest == '\0' || strcasecmp(rest, "b") == 0 ? pow(1000, power) : 0;
}

static double joule_factor(const char *unit)
{
    static const struct {
        const char *name;
        double joules;
    } units[] = { { "", 1 }, { "J", 1 }, { "kJ", 1e3 }, { "Wh", 3600 }, { "kWh", 3.6e6 } };

    for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
        if (strcasecmp(units[i].name, unit) == 0)
            return units[i].joules;
    }
    return 0;
}

int run_figure_parse(const struct run_figure *figure, const char *text, double *ret,
                     struct spoor_error *err)
{
    const char *rest = text;
    double number = 0, factor = 0;
    uint64_t ns;

    if (figure->unit == RUN_SECONDS) {
        if (duration_parse(text, &ns) == 0) {
            *ret = (double)ns / (double)NS_PER_SECOND;
            return 0;
        }
    } else if (number_read(&rest, &number) == 0 && number >= 0) {
        rest += strspn(rest, " ");
        factor = figure->unit == RUN_BYTES    ? byte_factor(rest)
                 : figure->unit == RUN_JOULES ? joule_factor(rest)
                                              : *rest == '\0';
    }
    if (!(factor > 0))
        return error_set(err, EINVAL, "invalid value '%s' of %s: expected %s", text,
                         figure->name, kinds[figure->unit].expected);
    *ret = number * factor;
    return 0;
}
