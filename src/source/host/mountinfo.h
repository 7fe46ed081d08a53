/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mountinfo.h - the mounts a process sees, from /proc/PID/mountinfo.
 *
 * One line is one mount. Its parts are given as they stand in the text, where
 * blanks, newlines and backslashes of names are written \040, \011, \012, \134.
 */
#ifndef SOURCE_HOST_MOUNTINFO_H
#define SOURCE_HOST_MOUNTINFO_H

#include <stdbool.h>
#include <stddef.h>

/* A part of a text that someone else owns; not NUL-ended. */
struct text_part {
    const char *start;
    size_t length;
};

/* Borrows from the text it was parsed from. */
struct mountinfo {
    unsigned major, minor;   /* of the filesystem */
    struct text_part root;   /* the folder of the filesystem that is mounted: "/" */
    struct text_part point;  /* where */
    struct text_part type;   /* "ext4" */
    struct text_part source; /* "/dev/sda1", or what the filesystem likes; may be empty */
    struct text_part super_options; /* of the filesystem, not of this mount: "rw,memory" */
};

/* Parses one line. -EBADMSG: it is damaged, or does not end in a newline. */
int mountinfo_parse_line(const char *line, struct mountinfo *ret);

bool text_part_is(struct text_part part, const char *word);
bool text_part_starts(struct text_part part, const char *start);

/* Is `word` one of the options of a list that is parted by commas? */
bool text_part_has_option(struct text_part part, const char *word);

/* Writes a part with its escapes decoded, ended with NUL. Returns its length;
 * -ENAMETOOLONG: it does not fit; -EBADMSG: it would hold a NUL. */
int text_part_decode(struct text_part part, char *buf, size_t size);

#endif
