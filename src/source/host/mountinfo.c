/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mountinfo.c - parse /proc/PID/mountinfo.
 *
 *     36 35 98:0 /folder /mnt/point rw,noatime master:1 - ext4 /dev/sda1 rw,discard
 *
 * Numbers of the mount and its parent, device, root, point, options of the mount,
 * any number of words, a lone dash, type, source, options of the filesystem. One
 * blank stands between two parts, so that an empty source shows as two blanks.
 */
#include "source/host/mountinfo.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "base/parse.h"

bool text_part_is(struct text_part part, const char *word)
{
    return part.length == strlen(word) && memcmp(part.start, word, part.length) == 0;
}

bool text_part_starts(struct text_part part, const char *start)
{
    size_t length = strlen(start);

    return part.length >= length && memcmp(part.start, start, length) == 0;
}

bool text_part_has_option(struct text_part part, const char *word)
{
    const char *end = part.start + part.length;

    while (part.start < end) {
        const char *comma = memchr(part.start, ',', (size_t)(end - part.start));

        part.length = (size_t)((comma ? comma : end) - part.start);
        if (text_part_is(part, word))
            return true;
        part.start += part.length + 1;
    }
    return false;
}

static bool is_octal(char c)
{
    return c >= '0' && c <= '7';
}

/* Is there an escape of three octal digits that is one byte? */
static bool is_escape(const char *text, size_t length)
{
    return length >= 4 && text[0] == '\\' && text[1] >= '0' && text[1] <= '3' &&
           is_octal(text[2]) && is_octal(text[3]);
}

int text_part_decode(struct text_part part, char *buf, size_t size)
{
    size_t used = 0;

    if (part.length > INT_MAX)
        return -ENAMETOOLONG;
    for (size_t i = 0; i < part.length; i++) {
        const char *text = part.start + i;
        char c = *text;

        if (is_escape(text, part.length - i)) {
            c = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 | (text[3] - '0'));
            i += 3;
        }
        if (c == '\0')
            return -EBADMSG;
        if (used + 1 >= size)
            return -ENAMETOOLONG;
        buf[used++] = c;
    }
    if (size == 0)
        return -ENAMETOOLONG;
    buf[used] = '\0';
    return (int)used;
}

static bool ends_part(char c)
{
    return c == ' ' || c == '\n' || c == '\0';
}

/* Takes the next part of a line and moves *cursor behind the blank after it.
 * Only the last part, which the newline ends, leaves *cursor at the newline. */
static int take_part(const char **cursor, struct text_part *ret)
{
    size_t length = 0;

    while (!ends_part((*cursor)[length])) /* strcspn() makes a table at every call */
        length++;
    if ((*cursor)[0] == '\n' || (*cursor)[length] == '\0')
        return -EBADMSG;
    *ret = (struct text_part){ .start = *cursor, .length = length };
    *cursor += length + ((*cursor)[length] == ' ');
    return 0;
}

static int parse_device(struct text_part part, struct mountinfo *mount)
{
    const char *cursor = part.start;
    uint64_t major, minor;

    if (parse_u64(&cursor, &major) < 0 || *cursor++ != ':' || parse_u64(&cursor, &minor) < 0 ||
        cursor != part.start + part.length || major > UINT_MAX || minor > UINT_MAX)
        return -EBADMSG;
    mount->major = (unsigned)major;
    mount->minor = (unsigned)minor;
    return 0;
}

int mountinfo_parse_line(const char *line, struct mountinfo *ret)
{
    enum { ID, PARENT, DEVICE, ROOT, POINT, OPTIONS, FIXED_COUNT };
    struct text_part part[FIXED_COUNT];
    struct text_part optional;
    struct mountinfo mount;

    for (int i = 0; i < FIXED_COUNT; i++) {
        if (take_part(&line, &part[i]) < 0)
            return -EBADMSG;
    }
    do {
        if (take_part(&line, &optional) < 0)
            return -EBADMSG;
    } while (!text_part_is(optional, "-"));
    if (take_part(&line, &mount.type) < 0 || take_part(&line, &mount.source) < 0 ||
        take_part(&line, &mount.super_options) < 0 || *line != '\n')
        return -EBADMSG;
    if (parse_device(part[DEVICE], &mount) < 0)
        return -EBADMSG;
    mount.root = part[ROOT];
    mount.point = part[POINT];
    *ret = mount;
    return 0;
}
