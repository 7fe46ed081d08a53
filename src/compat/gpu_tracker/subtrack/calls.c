/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/gpu_tracker/subtrack/calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "text/number.h"

static int compare_numbers(double a, double b)
{
    return (a > b) - (a < b);
}

static int compare_events(const void *left, const void *right, void *names)
{
    const struct block_event *a = left, *b = right;
    int order = a->name == b->name
                    ? 0
                    : strcmp((const char *)names + a->name, (const char *)names + b->name);

    if (order == 0)
        order = (a->process_id > b->process_id) - (a->process_id < b->process_id);
    if (order == 0)
        order = compare_numbers(a->timestamp, b->timestamp);
    return order ? order : (a->order > b->order) - (a->order < b->order);
}

void calls_sort_events(struct block_log *log)
{
    if (log->count > 0)
        qsort_r(log->events, log->count, sizeof(*log->events), compare_events, log->names);
}

/* A stop with nothing open before it: it is described with the row that comes next. */
static int refuse_stop(const struct block_event *stop, const struct block_event *end,
                       struct spoor_error *err)
{
    const struct block_event *next = stop + 1;
    struct decimal_text first = decimal_float(stop->timestamp), second;

    if (next == end)
        return error_set(err, EBADMSG,
                         "Sub-tracking file is invalid. Detected a stop (%s) of process ID "
                         "%lld without a start.",
                         first.text, (long long)stop->process_id);
    second = decimal_float(next->timestamp);
    if (next->process_id != stop->process_id)
        return error_set(err, EBADMSG,
                         "Sub-tracking file is invalid. Detected timestamp pair (%s, %s) with "
                         "differing process IDs: %lld and %lld.",
                         first.text, second.text, (long long)stop->process_id,
                         (long long)next->process_id);
    return error_set(
        err, EBADMSG,
        "Sub-tracking file is invalid. Detected timestamp pair (%s, %s) of process "
        "ID %lld with a start time greater than the stop time.",
        first.text, second.text, (long long)stop->process_id);
}

int calls_pair(const struct block_event *events, size_t count, struct call *ret,
               struct spoor_error *err)
{
    AUTO_FREE double *open = malloc((count + 1) * sizeof(*open));
    const struct block_event *end = events + count;
    size_t open_count = 0;
    int calls = 0;

    if (!open)
        return error_set(err, ENOMEM, "out of memory");
    for (const struct block_event *event = events; event < end; event++) {
        if (event > events && event->process_id != event[-1].process_id)
            open_count = 0;
        if (!event->is_stop)
            open[open_count++] = event->timestamp;
        else if (open_count > 0)
            ret[calls++] =
                (struct call){ open[--open_count], event->timestamp, event->process_id };
        else
            return refuse_stop(event, end, err);
    }
    return calls;
}

static int compare_calls(const void *left, const void *right)
{
    return compare_numbers(((const struct call *)left)->start,
                           ((const struct call *)right)->start);
}

size_t calls_join(struct call *calls, size_t count)
{
    size_t last = 0;

    if (count == 0)
        return 0;
    qsort(calls, count, sizeof(*calls), compare_calls);
    for (size_t i = 1; i < count; i++) {
        if (calls[i].start > calls[last].stop)
            calls[++last] = calls[i];
        else if (calls[i].stop > calls[last].stop)
            calls[last].stop = calls[i].stop;
    }
    return last + 1;
}

bool calls_contain(const struct call *joined, size_t count, double timestamp)
{
    size_t low = 0, high = count;

    /* The first that starts later; the one before it is the only candidate. */
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (joined[middle].start > timestamp)
            high = middle;
        else
            low = middle + 1;
    }
    return low > 0 && timestamp <= joined[low - 1].stop;
}
