/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvidia_meters.h - the busy time of a device's cores, encoders and decoders.
 *
 * The best source of a device is selected at the first reading and kept:
 *
 * - The driver's buffered samples: one every 200 ms or so, kept for about 14 s.
 * - GPM, the performance monitor of Hopper and later. Two snapshots of hardware counters give
 *   the share of the time between them in which a kernel ran. GPM is the only source for a MIG
 *   device, which has no samples. A snapshot covers a GPU instance: compute instances that
 *   share an instance have the same figure.
 * - The driver's current rate, polled.
 *
 * Reading samples takes milliseconds, so none are read at the start: later readings cover the
 * time since the start anyway. Encoders and decoders do nothing in most jobs: they count as
 * idle if the driver's current rate is 0, and either the cores were idle or no sample of a
 * process shows otherwise.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "source/gpu/nvidia_gpm.h"
#include "source/gpu/nvidia_nvml.h"

/* ---- how often an expensive call is made --------------------------------- */

/*
 * Driver calls take from microseconds to milliseconds of CPU time, depending on the card. Each
 * call gets a share of the time: a call that took 2 ms is repeated after two seconds, a call
 * that took 10 us is repeated at every opportunity. A zeroed struct is due at once.
 */
struct nvidia_pace {
    uint64_t due_ns;     /* monotonic */
    uint64_t started_ns; /* CPU time of the thread */
};

/* Returns whether the call is due. If so, the caller makes the call, and then calls
 * nvidia_pace_end(). */
bool nvidia_pace_begin(struct nvidia_pace *pace, uint64_t now_ns);

/* Called when the call has ended. The next call is due after a thousand times the CPU time of
 * this one, but not before `least_ns` and not later than `most_ns`. */
void nvidia_pace_end(struct nvidia_pace *pace, uint64_t now_ns, uint64_t least_ns,
                     uint64_t most_ns);

/* ---- busy time from samples; pure ---------------------------------------- */

/*
 * A sample is the busy percentage of the time since the previous sample. Exceptions:
 *
 * - The first sample after the start covers the time since the start.
 * - A sample after a hole, or the first if no start was set, covers one period, as long as the
 *   periods before it (200 ms if there were none). The rest of a hole is neither busy nor idle.
 * - Samples of a device are at most a second apart; more than 1.5 s is a hole.
 * - A sample is dropped if it is not newer than the last one, above 100 %, or in the future. If
 *   the clock is set back, the meter starts again.
 */
#define BUSY_PERIOD_DEFAULT_US 200000ull
#define BUSY_HOLE_US 1500000ull
#define BUSY_FUTURE_US 60000000ull

/* A zeroed struct has no start time yet. */
struct busy_meter {
    /* Everything until this time is counted: timestamp of the newest sample, or the start; 0:
     * neither. */
    uint64_t last_us;
    bool has_sample;    /* last_us is the time of a sample */
    uint64_t period_us; /* the shortest time between two samples so far; 0: unknown */
    uint64_t busy_ns, covered_ns;
};

/* Returns the shortest plausible period (10 ms to 1 s), updated with one more gap. */
uint64_t busy_learn_period(uint64_t period_us, uint64_t gap_us);

/* Whether a sample is valid. `now_us` is the time of day. */
bool busy_is_plausible(uint64_t last_us, uint64_t stamp_us, double percent, uint64_t now_us);

/* Counts a sample. Samples must be in order of time. Returns false if the sample is dropped. */
bool busy_meter_add(struct busy_meter *meter, uint64_t stamp_us, double percent,
                    uint64_t now_us);

/* Counts `percent` of a time span; called with values of another source. */
void busy_meter_add_span(struct busy_meter *meter, uint64_t span_ns, double percent);

/* Counts the time until `until_us` as idle; called if another source shows this. */
void busy_meter_add_idle(struct busy_meter *meter, uint64_t until_us);

/* Starts counting at `stamp_us`: earlier samples are not part of the run. */
void busy_meter_begin(struct busy_meter *meter, uint64_t stamp_us);

/* Restarts at `now_us` if the clock was set back before the newest sample. */
void busy_meter_check_clock(struct busy_meter *meter, uint64_t now_us);

/* Returns the percentage in a sample's value; NaN if its type is unknown. */
double nvidia_sample_percent(union nvml_value value, int value_type);

/* ---- lists of the driver -------------------------------------------------- */

/* Memory for a list from the driver. Zeroed: empty; `list` is owned. */
struct nvidia_buffer {
    void *list;
    size_t size_bytes;
};

/* A request for a list. The members after the first two are used by some calls only. */
struct nvidia_request {
    const struct nvml *nvml;
    nvml_device device;
    nvml_list_function *list; /* a list of processes */
    uint64_t last_us;         /* samples after this time */
    int sampling;             /* samples of a device: enum nvml_sampling */
    int *value_type;          /* set by the call */
};

/* A driver call that fills a list. *count is the room in elements; the call sets it to their
 * number. */
typedef int nvidia_call(const struct nvidia_request *request, unsigned *count, void *list);

/* Repeats the call until the list, which may grow between two calls, fits. Elements that the
 * driver does not write are zeroed. Returns the number of elements in the buffer, or -errno:
 * -EFBIG if there are more than `most`. */
ssize_t nvidia_fetch(struct nvidia_buffer *buffer, size_t element_bytes, size_t most,
                     nvidia_call *call, const struct nvidia_request *request);

/* Buffers for the driver's lists, shared by all devices. */
struct nvidia_buffers {
    struct nvidia_buffer samples; /* struct nvml_sample */
    struct nvidia_buffer usage;   /* struct nvml_process_usage */
    struct nvidia_buffer pids;    /* lists of processes: in use and accounting */
};

void nvidia_buffers_done(struct nvidia_buffers *buffers);

/* Fetches the samples of a device's processes that are newer than `last_us`, in order of time.
 * Returns how many are in buffers->usage, or -errno: -ENOTSUP if this device or driver has no
 * samples. */
ssize_t nvidia_usage_get(const struct nvidia_subject *of, uint64_t last_us);

/* ---- the meters of a device ---------------------------------------------- */

enum nvidia_meter_kind { METER_GPU, METER_ENCODER, METER_DECODER, METER_COUNT };

enum nvidia_meter_source { METER_UNTRIED, METER_SAMPLES, METER_GPM, METER_POLLED, METER_NONE };

struct nvidia_meter {
    enum nvidia_meter_source source;
    bool is_failing; /* METER_UNTRIED: no source worked, but one may later */
    struct busy_meter busy;
    struct nvidia_pace pace;
    uint64_t polled_ns;   /* METER_POLLED: when the rate was last polled */
    uint64_t gpu_busy_ns; /* busy_ns of METER_GPU when this meter was last read */
    bool may_have_worked; /* samples of processes show work since polled_ns or gpu_busy_ns */
};

/* A zeroed struct is closed. */
struct nvidia_meters {
    const struct nvidia_subject *of; /* borrowed */
    struct nvidia_meter list[METER_COUNT];
    struct nvidia_gpm gpm; /* used if GPM is the source of METER_GPU */
    bool has_usage;        /* samples of processes were added */
};

/* Starts counting at `now_ns`. Makes no driver call. */
void nvidia_meters_init(struct nvidia_meters *ret, const struct nvidia_subject *of,
                        uint64_t now_ns);

/* Makes the first reading now, before it is due. */
void nvidia_meters_find_sources(struct nvidia_meters *meters, uint64_t now_ns);

/* Updates the meters that are due. */
void nvidia_meters_read(struct nvidia_meters *meters, uint64_t now_ns);

/* Reads only METER_GPU, due or not. Returns 0, or -errno if the counters did not advance. */
int nvidia_meters_read_gpu(struct nvidia_meters *meters, uint64_t now_ns);

/* Adds the samples of processes since the last call; `count` < 0: they could not be read. */
void nvidia_meters_note_usage(struct nvidia_meters *meters,
                              const struct nvml_process_usage *list, ssize_t count);

/* Returns the source of METER_GPU as named in reports: static text; NULL: none, or not yet
 * chosen. */
const char *nvidia_meters_source(const struct nvidia_meters *meters);

/* Whether METER_GPU covers all of the time. Other sources cover only part of it, and the
 * driver's buffer may never have contained a sample. */
bool nvidia_meters_see_all(const struct nvidia_meters *meters);

/* Makes all meters due. */
void nvidia_meters_refresh(struct nvidia_meters *meters);
