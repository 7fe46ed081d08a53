/* SPDX-License-Identifier: Apache-2.0 */
#include "source/proc/pid_io.h"

#include <errno.h>

#include "base/compiler.h"
#include "source/proc/keyed.h"

static const struct keyed_field fields[] = {
    { "rchar:", offsetof(struct pid_io, read_chars), 1 },
    { "wchar:", offsetof(struct pid_io, written_chars), 1 },
    { "read_bytes:", offsetof(struct pid_io, read_bytes), 1 },
    { "write_bytes:", offsetof(struct pid_io, written_bytes), 1 },
};

int pid_io_parse(const char *text, struct pid_io *ret)
{
    struct pid_io io;

    if (keyed_parse(text, fields, ARRAY_SIZE(fields), &io) != ARRAY_SIZE(fields))
        return -EBADMSG;
    *ret = io;
    return 0;
}

int pid_io_read(struct cached_file *kept, const struct root *root, pid_t pid,
                struct pid_io *ret)
{
    char text[512];
    ssize_t n = cached_file_read_record(kept, root, text, sizeof(text), "proc/%d/io", (int)pid);

    return n < 0 ? (int)n : pid_io_parse(text, ret);
}
