/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/subtrack_report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/gpu_tracker_log.h"

int subtrack_format(const struct subtrack_settings *settings, enum subtrack_format *ret)
{
    const char *format = settings->format ? settings->format : "text";

    if (strcmp(format, "pickle") == 0)
        return gpu_tracker_error("\"pickle\" is not a valid format: to read it is to run what "
                                 "it holds. Use \"json\", which sub-track compare reads.");
    if (strcmp(format, "json") != 0 && strcmp(format, "text") != 0)
        return gpu_tracker_error(
            "\"%s\" is not a valid format. Valid values are \"json\" or \"text\".", format);
    *ret = strcmp(format, "json") == 0 ? SUBTRACK_JSON : SUBTRACK_TEXT;
    return 0;
}

/* All of it is made before the file is touched. */
static char *make(enum subtrack_format format, subtrack_writer *write, const void *data,
                  size_t *ret_length)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, ret_length);
    int r;

    if (!out)
        return NULL;
    r = write(format, data, out);
    if (fclose(out) != 0 || r < 0) {
        free(text);
        return NULL;
    }
    return text;
}

int subtrack_write(const struct subtrack_settings *settings, enum subtrack_format format,
                   subtrack_writer *write, const void *data)
{
    const char *path = settings->output;
    size_t length = 0;
    AUTO_FREE char *text = make(format, write, data, &length);
    FILE *out = stdout;
    bool is_lost;

    if (!text)
        return gpu_tracker_error("out of memory");
    if (path)
        out = fopen(path, "we");
    if (!out)
        return gpu_tracker_error("File %s: %s", path, strerror(errno));
    is_lost = fwrite(text, 1, length, out) != length;
    if (!path)
        is_lost |= fputc('\n', out) == EOF;
    is_lost |= (path ? fclose(out) : fflush(out)) != 0;
    if (is_lost)
        return gpu_tracker_error("the report could not be written to %s: %s",
                                 path ? path : "stdout", strerror(errno));
    return 0;
}
