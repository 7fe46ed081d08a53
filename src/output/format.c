/* SPDX-License-Identifier: Apache-2.0 */
#include "output/format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/compiler.h"
#include "base/error.h"
#include "record/row.h"
#include "text/escape.h"
#include "text/find.h"

/* ---- format ---------------------------------------------------------------- */

static void write_row(const struct record *record, UNUSED const struct format_style *style,
                      struct buffer *out)
{
    row_write(record, out);
}

static const struct format formats[] = {
    [SPOOR_TEXT] = { .name = "text", .suffix = ".txt", .write = text_write },
    [SPOOR_JSON] = { .name = "json", .suffix = ".json", .write = json_write },
    [SPOOR_CSV] = { .name = "csv", .suffix = ".csv", .write = csv_write, .header = csv_header },
    [SPOOR_HTML] = { .name = "html",
                     .suffix = ".html",
                     .write_all = html_write_all,
                     .check = html_check },
    [SPOOR_MARKDOWN] = { .name = "markdown", .suffix = ".md", .write_all = markdown_write_all },
    [SPOOR_OPENMETRICS] = { .name = "openmetrics",
                            .suffix = ".prom",
                            .write_all = openmetrics_write_all },
    [SPOOR_ROW] = { .name = "row", .suffix = ".row", .write = write_row },
    [SPOOR_RANK] = { .name = "rank", .suffix = ".rank", .write = rank_write },
    [SPOOR_SNAKEMAKE] = { .name = "snakemake",
                          .write = snakemake_write,
                          .header = snakemake_header },
    [SPOOR_SNAKEMAKE_9] = { .name = "snakemake-9",
                            .write = snakemake_9_write,
                            .header = snakemake_header },
    [SPOOR_NEXTFLOW] = { .name = "nextflow", .write = nextflow_write },
    [SPOOR_SEFF] = { .name = "seff", .write = seff_write },
    [SPOOR_JOBSTATS] = { .name = "jobstats", .write = jobstats_write },
    [SPOOR_TRACE] = { .name = "trace", .write_all = trace_write_all },
};

bool path_has_suffix(const char *path, const char *suffix)
{
    size_t length = strlen(path);
    size_t suffix_length = strlen(suffix);

    return length > suffix_length && strcmp(path + length - suffix_length, suffix) == 0;
}

const struct format *format_get(enum spoor_format format)
{
    return (size_t)format < ARRAY_SIZE(formats) ? &formats[format] : NULL;
}

void format_write(const struct format *format, const struct record *records, size_t count,
                  struct format_style *style, struct buffer *out)
{
    if (format->write_all)
        format->write_all(records, count, out);
    for (size_t i = 0; !format->write_all && i < count; i++) {
        format->write(&records[i], style, out);
        style->has_header = false;
    }
}

int format_check(enum spoor_format format, struct spoor_error *err)
{
    const struct format *row = format_get(format);

    if (!row)
        return error_set(err, EINVAL, "unknown report format %d", (int)format);
    return row->check ? row->check(err) : 0;
}

bool spoor_format_for_name(const char *name, enum spoor_format *ret)
{
    const struct format *format = FIND_ROW(formats, name, name);

    if (format)
        *ret = (enum spoor_format)(format - formats);
    return format;
}

bool spoor_format_for_path(const char *path, enum spoor_format *ret)
{
    for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
        if (formats[i].suffix && path_has_suffix(path, formats[i].suffix)) {
            *ret = (enum spoor_format)i;
            return true;
        }
    }
    return false;
}

bool format_for_version(const char *name, enum spoor_format *ret)
{
    if (strcmp(name, "snakemake-7") == 0 || strcmp(name, "snakemake-8") == 0)
        *ret = SPOOR_SNAKEMAKE;
    else if (strcmp(name, "snakemake-9") == 0)
        *ret = SPOOR_SNAKEMAKE_9;
    else
        return false;
    return true;
}

/* ---- The style of text for its destination --------------------------------- */

static bool locale_is_utf8(void)
{
    static const char *const variables[] = { "LC_ALL", "LC_CTYPE", "LANG" };

    for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
        const char *value = getenv(variables[i]);

        if (value && *value)
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}

static size_t columns_of(int fd)
{
    struct winsize size;

    if (fd < 0 || ioctl(fd, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
        return TEXT_COLUMNS;
    if (size.ws_col < TEXT_COLUMNS_MIN)
        return TEXT_COLUMNS_MIN;
    return size.ws_col < TEXT_COLUMNS_MAX ? size.ws_col : TEXT_COLUMNS_MAX;
}

struct format_style format_style_for(int fd, bool has_color)
{
    return (struct format_style){ has_color, locale_is_utf8(), columns_of(fd), true };
}

/* ---- tags ------------------------------------------------------------------ */

void tags_write(const struct record_tags *tags, struct buffer *out)
{
    CLEANUP(buffer_done) struct buffer word = { 0 };

    for (size_t i = 0; i < tags->count; i++) {
        buffer_clear(&word);
        buffer_format(&word, "%s=%s", tags->items[i].key, tags->items[i].value);
        if (i > 0)
            buffer_add_text(out, " ");
        if (buffer_error(&word) == 0)
            escape_shell(word.text, out);
    }
}
