/* SPDX-License-Identifier: Apache-2.0 */
#include "source/proc/smaps.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/parse.h"
#include "base/unknown.h"

/* ---- smaps ----------------------------------------------------------------- */

/* Parses /proc/PID/smaps as a stream.
 *
 * An area is a line of columns, "start-end rights offset device inode   name", then about
 * twenty lines "Key:   number kB". Addresses start with a lower-case hexadecimal digit and
 * keys with a capital, so the two cannot be confused; the kernel writes a newline in a name
 * as \012. */

/* Larger than any address space: an invalid value. */
#define MAX_KB (1ull << 47)

#define FIELD(key, member)                                           \
    {                                                                \
        key, sizeof(key) - 1, offsetof(struct smaps_area, member), 0 \
    }
#define OPTIONAL_FIELD(key, member)                                  \
    {                                                                \
        key, sizeof(key) - 1, offsetof(struct smaps_area, member), 1 \
    }

static const struct {
    const char *key;
    size_t length;
    size_t offset; /* offset of a uint64_t in the area */
    bool is_optional;
} fields[] = {
    FIELD("Rss:", rss),
    FIELD("Pss:", pss),
    FIELD("Shared_Clean:", shared_clean),
    FIELD("Shared_Dirty:", shared_dirty),
    FIELD("Private_Clean:", private_clean),
    FIELD("Private_Dirty:", private_dirty),
    FIELD("Anonymous:", anonymous),
    OPTIONAL_FIELD("KSM:", merged),
};

static uint64_t *field_of(struct smaps_area *area, size_t i)
{
    return (uint64_t *)(void *)((char *)area + fields[i].offset);
}

void smaps_parser_init(struct smaps_parser *parser, smaps_each *each, void *data)
{
    *parser = (struct smaps_parser){ .each = each, .data = data };
}

/* Parses a hexadecimal number and the character after it. */
static int parse_address(const char **cursor, char end, uint64_t *ret)
{
    return parse_hex(cursor, ret) < 0 || *(*cursor)++ != end ? -EBADMSG : 0;
}

static int parse_head(const char *line, struct smaps_area *ret)
{
    struct smaps_area area = { 0 };
    uint64_t major, minor;

    if (parse_address(&line, '-', &area.start) < 0 || parse_address(&line, ' ', &area.end) < 0)
        return -EBADMSG;
    while (*line != ' ' && *line != '\n') /* the permissions */
        line++;
    if (*line++ != ' ' || parse_address(&line, ' ', &area.offset) < 0 ||
        parse_address(&line, ':', &major) < 0 || parse_address(&line, ' ', &minor) < 0 ||
        parse_u64(&line, &area.inode) < 0 || area.end < area.start || major > UINT32_MAX ||
        minor > UINT32_MAX)
        return -EBADMSG;
    area.device = major << 32 | minor;
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        *field_of(&area, i) = fields[i].is_optional ? 0 : UNKNOWN;
    *ret = area;
    return 0;
}

static int end_area(struct smaps_parser *parser)
{
    if (!parser->has_area)
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        if (!is_known(*field_of(&parser->area, i)))
            return -EBADMSG;
    }
    return parser->each(&parser->area, parser->data);
}

/* `line` ends with a newline. */
static int parse_line(struct smaps_parser *parser, const char *line)
{
    if (is_digit(*line) || (*line >= 'a' && *line <= 'f')) {
        int r = end_area(parser);

        if (r != 0)
            return r;
        parser->has_area = true;
        return parse_head(line, &parser->area);
    }
    if (!parser->has_area)
        return -EBADMSG;
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        const char *cursor = line + fields[i].length;
        uint64_t value;

        if (strncmp(line, fields[i].key, fields[i].length) != 0)
            continue;
        if (parse_u64(&cursor, &value) < 0 || value > MAX_KB)
            return -EBADMSG;
        *field_of(&parser->area, i) = value * 1024;
        return 0;
    }
    return 0;
}

/* Keeps the start of a line that continues in the next piece, as far as it fits. */
static void keep_start(struct smaps_parser *parser, const char *text, size_t size)
{
    size_t room = sizeof(parser->line) - 1;

    if (parser->length < room) {
        size_t kept = size < room - parser->length ? size : room - parser->length;

        memcpy(parser->line + parser->length, text, kept);
        parser->length += kept;
    }
}

int smaps_parser_feed(struct smaps_parser *parser, const char *text, size_t size)
{
    while (size > 0) {
        const char *end = memchr(text, '\n', size);
        size_t length = end ? (size_t)(end - text) + 1 : size;
        const char *line = text;
        int r;

        if (!end || parser->length > 0) {
            keep_start(parser, text, end ? length - 1 : length);
            line = parser->line;
        }
        text += length;
        size -= length;
        if (!end)
            return 0;
        if (line == parser->line)
            parser->line[parser->length] = '\n';
        parser->length = 0;
        r = parse_line(parser, line);
        if (r != 0)
            return r;
    }
    return 0;
}

int smaps_parser_finish(struct smaps_parser *parser)
{
    if (parser->length > 0)
        return -EBADMSG;
    return parser->has_area ? end_area(parser) : -ESRCH;
}

int smaps_read(const struct root *root, pid_t pid, smaps_each *each, void *data)
{
    AUTO_CLOSE int folder = root_open_dir(root, "proc/%d", (int)pid);
    AUTO_CLOSE int fd = -1;
    struct smaps_parser parser;
    char text[8192]; /* the kernel returns a page at a time, rarely more */

    if (folder < 0)
        return folder;
    fd = openat(folder, "smaps", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    smaps_parser_init(&parser, each, data);
    for (;;) {
        ssize_t n = read(fd, text, sizeof(text));
        int r;

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            return smaps_parser_finish(&parser);
        r = smaps_parser_feed(&parser, text, (size_t)n);
        if (r != 0)
            return r;
    }
}

/* ---- smaps rollup ---------------------------------------------------------- */

#define ROLLUP_FIELD(key, member)                        \
    {                                                    \
        key, offsetof(struct smaps_rollup, member), 1024 \
    }

static const struct keyed_field rollup_fields[] = {
    ROLLUP_FIELD("Rss:", rss),
    ROLLUP_FIELD("Pss:", pss),
    ROLLUP_FIELD("Pss_Anon:", pss_anon),
    ROLLUP_FIELD("Pss_File:", pss_file),
    ROLLUP_FIELD("Pss_Shmem:", pss_shmem),
    ROLLUP_FIELD("Shared_Clean:", shared_clean),
    ROLLUP_FIELD("Shared_Dirty:", shared_dirty),
    ROLLUP_FIELD("Private_Clean:", private_clean),
    ROLLUP_FIELD("Private_Dirty:", private_dirty),
    ROLLUP_FIELD("Anonymous:", anonymous),
    ROLLUP_FIELD("KSM:", merged),
};

int smaps_rollup_parse(const char *text, struct smaps_rollup *ret)
{
    struct smaps_rollup rollup;

    if (*text == '\0')
        return -ESRCH;
    keyed_parse(text, rollup_fields, ARRAY_SIZE(rollup_fields), &rollup);
    if (!is_known(rollup.rss) || !is_known(rollup.pss) || !is_known(rollup.shared_clean) ||
        !is_known(rollup.shared_dirty) || !is_known(rollup.private_clean) ||
        !is_known(rollup.private_dirty) || !is_known(rollup.anonymous))
        return -EBADMSG;
    *ret = rollup;
    return 0;
}

int smaps_rollup_read(const struct root *root, pid_t pid, struct smaps_rollup *ret)
{
    char text[2048];
    ssize_t n = root_read(root, text, sizeof(text), "proc/%d/smaps_rollup", (int)pid);

    return n < 0 ? (int)n : smaps_rollup_parse(text, ret);
}
