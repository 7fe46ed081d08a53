/* SPDX-License-Identifier: Apache-2.0 */
#include "mutate.h"

#include <string.h>

#include "base/compiler.h"

uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static size_t random_below(uint64_t *state, size_t limit)
{
    return limit == 0 ? 0 : (size_t)(random_next(state) % limit);
}

struct input {
    unsigned char *data;
    size_t length, capacity;
    const unsigned char *other;
    size_t other_length;
};

/* Replaces `removed` bytes at offset `at` with `added` new bytes, or as many as fit. */
static void replace(struct input *input, size_t at, size_t removed, const void *bytes,
                    size_t added)
{
    size_t rest = input->length - at - removed;

    if (added > input->capacity - at - rest)
        added = input->capacity - at - rest;
    memmove(input->data + at + added, input->data + at + removed, rest);
    if (added > 0)
        memcpy(input->data + at, bytes, added);
    input->length = at + added + rest;
}

static void change_byte(struct input *input, uint64_t *state)
{
    static const unsigned char special[] =
        "\0\n\r\t ,:;=\"'\\/[]{}()#-+.%0919azAZeE\x7f\x80\xff";
    size_t at = random_below(state, input->length);

    if (input->length == 0)
        return;
    if (random_next(state) % 3 == 0)
        input->data[at] ^= (unsigned char)(1u << random_below(state, 8));
    else
        input->data[at] = special[random_below(state, sizeof(special) - 1)];
}

static void insert_word(struct input *input, uint64_t *state)
{
    static const char *const words[] = {
        "0",
        "-1",
        "18446744073709551615",
        "18446744073709551616",
        "9223372036854775808",
        "1e999",
        "4294967296",
        "-0",
        "nan",
        "null",
        "[",
        "{",
        "\"",
        "\"\"",
        "\n",
        "\r\n",
        "\t",
        "\\u0000",
        "\\ud800",
        "\xf0\x9f\x92\xa9",
        "\x1b[2J",
        "\xff\xff\xff\xff",
        "../",
        "max",
    };
    const char *word = words[random_below(state, ARRAY_SIZE(words))];

    replace(input, random_below(state, input->length + 1), 0, word, strlen(word));
}

/* Replaces a number with an extreme number. */
static void change_number(struct input *input, uint64_t *state)
{
    static const char *const numbers[] = {
        "0", "1", "-1", "2147483648", "18446744073709551615", "99999999999999999999999", "1e308"
    };
    const char *number = numbers[random_below(state, ARRAY_SIZE(numbers))];
    size_t at = random_below(state, input->length), end;

    while (at < input->length && (input->data[at] < '0' || input->data[at] > '9'))
        at++;
    for (end = at; end < input->length && input->data[end] >= '0' && input->data[end] <= '9';)
        end++;
    replace(input, at, end - at, number, strlen(number));
}

static void remove_piece(struct input *input, uint64_t *state)
{
    size_t at = random_below(state, input->length);
    size_t size = random_below(state, input->length - at + 1);

    replace(input, at, random_next(state) % 2 == 0 && size > 8 ? 8 : size, NULL, 0);
}

static void repeat_piece(struct input *input, uint64_t *state)
{
    unsigned char piece[256];
    size_t at = random_below(state, input->length);
    size_t size = random_below(state, input->length - at + 1);

    size = size > sizeof(piece) ? sizeof(piece) : size;
    memcpy(piece, input->data + at, size);
    for (size_t n = random_below(state, 4) + 1; n > 0; n--)
        replace(input, at, 0, piece, size);
}

static void copy_piece(struct input *input, uint64_t *state)
{
    size_t from = random_below(state, input->other_length);
    size_t size = random_below(state, input->other_length - from + 1);
    size_t at = random_below(state, input->length + 1);

    replace(input, at, 0, input->other + from, size);
}

static void cut(struct input *input, uint64_t *state)
{
    input->length = random_below(state, input->length + 1);
}

size_t mutate(unsigned char *data, size_t length, size_t capacity, const unsigned char *other,
              size_t other_length, uint64_t *state)
{
    static void (*const changes[])(struct input *, uint64_t *) = {
        change_byte,  change_byte,  change_byte, insert_word, change_number,
        remove_piece, repeat_piece, copy_piece,  cut,
    };
    struct input input = { data, length, capacity, other, other_length };

    for (size_t n = random_below(state, 4) + 1; n > 0; n--)
        changes[random_below(state, ARRAY_SIZE(changes))](&input, state);
    return input.length;
}
