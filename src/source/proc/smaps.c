/* SPDX-License-Identifier: Apache-2.0 */
#include "source/proc/smaps.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/parse.h"
#include "text/line_reader.h"

#define FIELD(key, member)                               \
    {                                                    \
        key, offsetof(struct smaps_rollup, member), 1024 \
    }

static const struct keyed_field fields[] = {
    FIELD("Rss:", rss),
    FIELD("Pss:", pss),
    FIELD("Pss_Anon:", pss_anon),
    FIELD("Pss_File:", pss_file),
    FIELD("Pss_Shmem:", pss_shmem),
    FIELD("Shared_Clean:", shared_clean),
    FIELD("Shared_Dirty:", shared_dirty),
    FIELD("Private_Clean:", private_clean),
    FIELD("Private_Dirty:", private_dirty),
    FIELD("Anonymous:", anonymous),
    FIELD("KSM:", merged),
    FIELD("Shared_Hugetlb:", shared_huge),
};

/* Whether the sizes that every kernel reports are known. */
static bool is_complete(const struct smaps_rollup *sizes)
{
    return is_known(sizes->rss) && is_known(sizes->pss) && is_known(sizes->shared_clean) &&
           is_known(sizes->shared_dirty) && is_known(sizes->private_clean) &&
           is_known(sizes->private_dirty) && is_known(sizes->anonymous);
}

/* ---- smaps ----------------------------------------------------------------- */

/* Parses /proc/PID/smaps line by line.
 *
 * An area is a line of columns, "start-end rights offset device inode   name", then about
 * twenty lines "Key:   number kB". Addresses start with a lower-case hexadecimal digit and
 * keys with a capital, so the two cannot be confused; the kernel writes a newline in a name
 * as \012. */

/* Larger than any address space, so a larger number is invalid. */
#define MAX_KB (1ull << 47)

/* The area whose lines are being read. */
struct parser {
    smaps_each *each;
    void *data;
    struct smaps_area area;
    bool has_area;
};

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
    line += strcspn(line, " "); /* the permissions */
    if (*line++ != ' ' || parse_address(&line, ' ', &area.offset) < 0 ||
        parse_address(&line, ':', &major) < 0 || parse_address(&line, ' ', &minor) < 0 ||
        parse_u64(&line, &area.inode) < 0 || area.end < area.start || major > UINT32_MAX ||
        minor > UINT32_MAX)
        return -EBADMSG;
    area.device = major << 32 | minor;
    memset(&area.sizes, 0xff, sizeof(area.sizes)); /* UNKNOWN */
    area.sizes.merged = 0;                         /* an older kernel does not report it */
    *ret = area;
    return 0;
}

static int end_area(struct parser *parser)
{
    if (!parser->has_area)
        return 0;
    return is_complete(&parser->area.sizes) ? parser->each(&parser->area, parser->data)
                                            : -EBADMSG;
}

static int parse_line(struct parser *parser, const char *line)
{
    const struct keyed_field *field;
    uint64_t value;

    if (is_digit(*line) || (*line >= 'a' && *line <= 'f')) {
        int r = end_area(parser);

        if (r != 0)
            return r;
        parser->has_area = true;
        return parse_head(line, &parser->area);
    }
    if (!parser->has_area)
        return -EBADMSG;
    field = keyed_find(line, fields, ARRAY_SIZE(fields));
    if (!field)
        return 0;
    line += strlen(field->key);
    if (parse_u64(&line, &value) < 0 || value > MAX_KB)
        return -EBADMSG;
    value *= field->scale;
    memcpy((char *)&parser->area.sizes + field->offset, &value, sizeof(value));
    return 0;
}

int smaps_parse(int fd, smaps_each *each, void *data)
{
    CLEANUP(line_reader_done) struct line_reader reader = { .fd = fd };
    struct parser parser = { .each = each, .data = data };
    struct line line;
    int r;

    while ((r = line_reader_next(&reader, &line)) > 0) {
        r = line.is_torn ? -EBADMSG : parse_line(&parser, line.text);
        if (r != 0)
            return r;
    }
    if (r < 0)
        return r;
    return parser.has_area ? end_area(&parser) : -ESRCH;
}

int smaps_read(const struct root *root, pid_t pid, smaps_each *each, void *data)
{
    AUTO_CLOSE int folder = root_open_dir(root, "proc/%d", (int)pid);
    AUTO_CLOSE int fd = -1;

    if (folder < 0)
        return folder;
    fd = openat(folder, "smaps", O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : smaps_parse(fd, each, data);
}

/* ---- smaps rollup ---------------------------------------------------------- */

int smaps_rollup_parse(const char *text, struct smaps_rollup *ret)
{
    struct smaps_rollup rollup;

    if (*text == '\0')
        return -ESRCH;
    keyed_parse(text, fields, ARRAY_SIZE(fields), &rollup);
    if (!is_complete(&rollup))
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
