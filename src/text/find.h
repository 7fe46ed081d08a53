/* SPDX-License-Identifier: Apache-2.0 */
/* find.h - finds a row of a table by one of its texts. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"

/* Returns the first row whose text at `offset` equals `text`; NULL: there is none. Rows may lack the text,
 * and an empty list may be NULL. */
static inline void *find_row(const void *rows, size_t count, size_t size, size_t offset,
                             const char *text)
{
    uintptr_t row = (uintptr_t)rows;

    for (; row != 0 && count > 0; count--, row += size) {
        const char *own = *(const char *const *)(row + offset);

        if (own && strcmp(own, text) == 0)
            return (void *)row;
    }
    return NULL;
}

/* Finds the row of a list, or of a table (an array), whose `member` equals `text`. */
#define FIND_IN_LIST(rows, count, member, text)                     \
    ((__typeof__(&(rows)[0]))find_row(rows, count, sizeof(*(rows)), \
                                      offsetof(__typeof__((rows)[0]), member), text))
#define FIND_ROW(rows, member, text) FIND_IN_LIST(rows, ARRAY_SIZE(rows), member, text)

/* Finds an element of an array of texts. */
#define FIND_TEXT(texts, text) \
    ((const char *const *)find_row(texts, ARRAY_SIZE(texts), sizeof(*(texts)), 0, text))
