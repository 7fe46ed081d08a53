/* SPDX-License-Identifier: Apache-2.0 */
#include "front/nearest.h"

#include <string.h>

#define WORD_MAX 63

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Three rows of the table of distances between prefixes: a swap looks two rows
 * back, all else one. */
size_t edit_distance(const char *a, const char *b)
{
    size_t a_length = strnlen(a, WORD_MAX);
    size_t b_length = strnlen(b, WORD_MAX);
    size_t rows[3][WORD_MAX + 1] = { 0 };

    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3];
        const size_t *two_above = rows[(i + 1) % 3];

        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t changed = above[j - 1] + (a[i - 1] != b[j - 1]);

            row[j] = smaller(changed, smaller(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = smaller(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[a_length % 3][b_length];
}

void nearest_offer(struct nearest *nearest, const char *candidate)
{
    size_t length = strlen(nearest->word);
    size_t distance = edit_distance(nearest->word, candidate);

    /* The start of a word is a good hint at it, however long the rest. */
    if (length >= 2 && strncmp(candidate, nearest->word, length) == 0)
        distance = smaller(distance, 1);
    if (distance < nearest->distance) {
        nearest->best = candidate;
        nearest->distance = distance;
    }
}

const char *nearest_get(const struct nearest *nearest)
{
    size_t length = strlen(nearest->word);

    /* Beyond half its letters it is another word. */
    return nearest->distance <= smaller(length / 2, 3) ? nearest->best : NULL;
}
