/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_stat.c - parse /proc/stat.
 *
 *     cpu  1809 0 913 182852 1367 0 13 6 0 0      the sum, in ticks
 *     cpu0 1014 0 499 91126 854 0 4 2 0 0         one line for each CPU online
 *     intr 153411 0 0 ...                         thousands of numbers
 *     processes 4902
 *
 * The numbers of a cpu line, in order: see enum column. Later kernels add more.
 */
#include "source/host/cpu_stat.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/clock.h"
#include "base/parse.h"
#include "base/unknown.h"

enum column {
    COLUMN_USER,
    COLUMN_NICE,
    COLUMN_SYSTEM,
    COLUMN_IDLE,
    COLUMN_IOWAIT,
    COLUMN_IRQ,
    COLUMN_SOFTIRQ,
    COLUMN_STEAL,
    COLUMN_COUNT,
    COLUMNS_NEEDED = COLUMN_IDLE + 1,
};

/* Whole seconds first: ticks times a thousand million would soon not fit. */
static uint64_t ticks_to_ns(uint64_t ticks, uint64_t ticks_per_second)
{
    if (!is_known(ticks))
        return UNKNOWN;
    return sum_u64(product_u64(ticks / ticks_per_second, NS_PER_SECOND),
                   ticks % ticks_per_second * NS_PER_SECOND / ticks_per_second);
}

/* Behind the name of a line. */
static int parse_columns(const char *line, uint64_t column[COLUMN_COUNT])
{
    int count = 0;

    /* Without its newline the last number may be half of one. */
    if (!line || !strchr(line, '\n'))
        return -EBADMSG;
    while (count < COLUMN_COUNT && parse_u64(&line, &column[count]) == 0)
        count++;
    if (count < COLUMNS_NEEDED)
        return -EBADMSG;
    for (; count < COLUMN_COUNT; count++)
        column[count] = UNKNOWN;
    return 0;
}

/* Counts the cpuN lines. They are all there only if a line follows that is not the
 * start of one more. */
static uint64_t count_cpus(const char *text)
{
    uint64_t count = 0;

    for (; strncmp(text, "cpu", 3) == 0; text = parse_next_line(text))
        count += isdigit((unsigned char)text[3]) ? 1 : 0;
    return strncmp(text, "cpu", strlen(text)) != 0 && count > 0 ? count : UNKNOWN;
}

int cpu_stat_parse(const char *text, uint64_t ticks_per_second, struct cpu_stat *ret)
{
    uint64_t column[COLUMN_COUNT];
    uint64_t user_ticks, system_ticks, interrupt_ticks;
    struct cpu_stat stat;

    if (ticks_per_second == 0 || parse_columns(parse_key(text, "cpu"), column) < 0)
        return -EBADMSG;

    /* A kernel that has no column for interrupts counts them as system time. */
    user_ticks = sum_u64(column[COLUMN_USER], column[COLUMN_NICE]);
    interrupt_ticks =
        sum_u64(known_or_0(column[COLUMN_IRQ]), known_or_0(column[COLUMN_SOFTIRQ]));
    system_ticks = sum_u64(column[COLUMN_SYSTEM], interrupt_ticks);
    stat = (struct cpu_stat){
        .user_ns = ticks_to_ns(user_ticks, ticks_per_second),
        .system_ns = ticks_to_ns(system_ticks, ticks_per_second),
        .idle_ns = ticks_to_ns(column[COLUMN_IDLE], ticks_per_second),
        .iowait_ns = ticks_to_ns(column[COLUMN_IOWAIT], ticks_per_second),
        .steal_ns = ticks_to_ns(column[COLUMN_STEAL], ticks_per_second),
        .interrupt_ns = ticks_to_ns(interrupt_ticks, ticks_per_second),
        .cpus = count_cpus(text),
    };
    *ret = stat;
    return 0;
}

size_t cpu_stat_parse_each(const char *text, uint64_t ticks_per_second, struct cpu_busy *list,
                           size_t capacity)
{
    size_t count = 0;

    for (; strncmp(text, "cpu", 3) == 0 && count < capacity; text = parse_next_line(text)) {
        const char *line = text + 3;
        uint64_t column[COLUMN_COUNT];
        uint64_t number, ticks;

        if (!isdigit((unsigned char)*line) || parse_u64(&line, &number) < 0 ||
            parse_columns(line, column) < 0)
            continue;
        ticks = column[COLUMN_USER];
        ticks = sum_u64(ticks, column[COLUMN_NICE]);
        ticks = sum_u64(ticks, column[COLUMN_SYSTEM]);
        ticks = sum_u64(ticks, known_or_0(column[COLUMN_IRQ]));
        ticks = sum_u64(ticks, known_or_0(column[COLUMN_SOFTIRQ]));
        ticks = sum_u64(ticks, known_or_0(column[COLUMN_STEAL]));
        list[count++] = (struct cpu_busy){ number, ticks_to_ns(ticks, ticks_per_second) };
    }
    return count;
}
