/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse.h - parsers for the kernel's text formats; they do no I/O.
 *
 * All work on NUL-terminated text. They accept what the kernel writes and nothing
 * else: no sign where none belongs, no overflow, no octal, no locale.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads a decimal number after blanks and moves *cursor past it. Returns 0, or -EBADMSG (not a
 * number, or too large) and leaves *cursor and *ret alone. */
int parse_u64(const char **cursor, uint64_t *ret);
int parse_i64(const char **cursor, int64_t *ret);

/* Like parse_u64(), but without blanks before the number. */
int parse_digits(const char **cursor, uint64_t *ret);

/* Returns the value of a hexadecimal digit, upper or lower case; -1: not a hexadecimal
 * digit. */
int parse_hex_digit(char c);

/* Like parse_u64(), but reads a hexadecimal number without leading blanks or "0x". */
int parse_hex(const char **cursor, uint64_t *ret);

/* Parses a text that consists of one number; blanks and a newline around it are allowed. */
int parse_whole_u64(const char *text, uint64_t *ret);

/* Parses the number after `key` at the start of a line: parse_key_u64(text, "MemFree:", &v).
 * The key is followed by blanks or '='. -ENOENT: no such line. */
int parse_key_u64(const char *text, const char *key, uint64_t *ret);

/* Finds the start of the value after `key` at the start of a line, or NULL. */
const char *parse_key(const char *text, const char *key);

/* Returns the start of the next line, or the end of the text. */
const char *parse_next_line(const char *text);

/* Copies one word (up to a blank or the end of the line) and moves *cursor past it. Returns
 * its length; -EBADMSG: no word, or it does not fit. */
int parse_word(const char **cursor, char *buf, size_t size);

/* Copies the first line that is not blank, without leading and trailing blanks, truncated to
 * fit. */
void parse_copy_line(const char *text, char *buf, size_t size);

/* Returns whether a text contains `word` as a whole word. */
bool parse_has_word(const char *text, const char *word);

/* No kernel is built for more CPUs. The longest list names every second CPU. */
enum { CPU_NUMBER_END = 8192, CPU_LIST_SIZE = 24 * 1024 };

/* Parses a list of CPUs such as "0-3,8,10-11". Returns their number; -E2BIG: more than
 * `capacity`; -EBADMSG: not a list of CPUs. `cpus` NULL: only counts them. */
int parse_cpu_list(const char *text, unsigned *cpus, size_t capacity);

/* Files of "Key:   value kB" lines, read by a table of fields.
 *
 * One pass over the text fills a struct of uint64_t fields. A field without a line is UNKNOWN; if a key
 * occurs twice, the first line counts. Keys that are not in the table are ignored. */

struct keyed_field {
    const char *key; /* with its colon: "VmHWM:" */
    size_t offset;   /* offset of a uint64_t in the struct */
    uint64_t scale;  /* factor to multiply by: 1024 for kB */
};

/* Returns the field of the key at the start of a line, or NULL. */
const struct keyed_field *keyed_find(const char *line, const struct keyed_field *fields,
                                     size_t count);

/* Returns how many fields were found. `into` is a struct of uint64_t fields. */
size_t keyed_parse(const char *text, const struct keyed_field *fields, size_t count,
                   void *into);

static inline bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Finds the name of a user in the text of /etc/passwd. -ENOENT: no such user; -EBADMSG: the
 * name is empty or does not fit. */
int passwd_parse_name(const char *text, uint64_t uid, char *buf, size_t size);
