/* SPDX-License-Identifier: Apache-2.0 */
#include "session/gpu_looks.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/helper.h"
#include "job/gpu/gpu_share.h"
#include "sample/origins.h"
#include "source/proc/pid_files.h"

/* Maximum wait for a call at the end. A call that has already taken STUCK_AFTER_NS is not
 * waited for. */
#define WAIT_MOST_NS NS_PER_SECOND
#define STUCK_AFTER_NS (250 * NS_PER_MS)
/* The maximum wait if the thread waits for a CPU of a busy machine, not for a driver; and while
 * the job waits for the look. */
#define STARVED_MOST_NS (10 * NS_PER_SECOND)
#define STARVED_AT_BORDER_NS (500 * NS_PER_MS)
#define STARVED_STEP_NS (50 * NS_PER_MS)
/* Maximum age of the thread's times: they are read again only if they are older. */
#define TIMES_HOLD_NS NS_PER_SECOND
/* A driver that takes longer than this counts as not responding. */
#define SILENT_AFTER_NS (2 * NS_PER_SECOND)

static const char too_early[] = "the run ended before the drivers had reported their GPUs";
static const char never_responded[] = "the GPU driver does not respond";
static const char has_stopped[] = "the GPU driver stopped responding";

struct gpu_look_data {
    struct gpu_owners owners;

    /* results */
    struct gpu_watch watch;
    bool is_open;
    int error;          /* why opening failed */
    uint64_t looked_ns; /* the time of the figures of the latest look */
    uint64_t ended_ns;  /* when the call returned */
    uint64_t cost_ns;   /* CPU time of the call, including the wake-up */

    /* Private. */
    enum gpu_look request;
    char *cgroup;
    struct gpu_choice choice;
    const struct gpu_vendor *vendors[GPU_VENDORS_MAX];
    struct gpu_watch_options options;
    struct root root;
    _Atomic pid_t thread_id; /* 0: not started yet */
    uint64_t marked_cpu_ns;
};

/* ---- in the helper's thread --------------------------------------------- */

static void close_watch(struct gpu_look_data *data)
{
    if (data->is_open)
        gpu_watch_close(&data->watch);
    data->is_open = false;
}

static void look(struct gpu_look_data *data)
{
    uint64_t now_ns = clock_now().monotonic_ns;
    bool is_first = !data->is_open;

    if (is_first) {
        data->error = gpu_watch_open(&data->watch, &data->root, &data->options);
        data->is_open = data->error == 0;
    }
    if (data->error < 0)
        return;
    now_ns = is_first ? clock_now().monotonic_ns : now_ns;
    data->looked_ns = now_ns;
    if (data->request == GPU_LOOK_QUICK)
        gpu_watch_poll(&data->watch, now_ns, false);
    else if (data->request == GPU_LOOK_BORDER)
        gpu_watch_look_at_border(&data->watch, now_ns);
    else
        gpu_watch_read(&data->watch, now_ns, data->request == GPU_LOOK_LAST);
    if (data->request == GPU_LOOK_LAST)
        gpu_watch_accounts(&data->watch);
}

static void make_call(void *argument)
{
    struct gpu_look_data *data = argument;
    uint64_t cpu_ns;

    atomic_store(&data->thread_id, gettid());
    if (data->request == GPU_LOOK_CLOSE)
        close_watch(data);
    else
        look(data);
    cpu_ns = cpu_spent_ns(&data->root);
    data->cost_ns = cpu_ns - data->marked_cpu_ns;
    data->marked_cpu_ns = cpu_ns;
    data->ended_ns = clock_now().monotonic_ns;
}

static void release(void *argument)
{
    struct gpu_look_data *data = argument;

    close_watch(data);
    root_close(&data->root);
    gpu_choice_done(&data->choice);
    free(data->cgroup);
    gpu_owners_done(&data->owners);
    free(data);
}

static const struct helper_work work = { "spoor-gpu", make_call, release };

/* ---- for the caller -------------------------------------------------------- */

static int read_choice(const struct gpu_looks_options *options, struct gpu_choice *ret)
{
    if (options->pid_count == 0)
        return gpu_choice_init(ret, options->gpus, environment_own);
    return gpu_choice_init_for(ret, options->gpus, options->root, options->pids,
                               options->pid_count);
}

bool gpu_looks_are_needed(const struct root *root, const char *gpus, unsigned disabled)
{
    const struct gpu_vendor *vendors[GPU_VENDORS_MAX];
    size_t count = gpu_vendors_enabled(disabled, vendors);

    return !visible_is_none(gpus) && gpu_vendors_may_be_here(root, vendors, count);
}

static int prepare(struct gpu_look_data *data, const struct gpu_looks_options *options)
{
    int r;

    data->root = (struct root)ROOT_CLOSED;
    r = root_copy(options->root, &data->root);
    if (r == 0)
        r = read_choice(options, &data->choice);
    if (r < 0)
        return r;
    data->cgroup = options->watch.cgroup ? strdup(options->watch.cgroup) : NULL;
    data->options = options->watch;
    data->options.vendors = data->vendors;
    data->options.vendor_count = gpu_vendors_enabled(options->disabled, data->vendors);
    data->options.choice = &data->choice;
    data->options.owners = &data->owners;
    data->options.cgroup = data->cgroup;
    data->owners = (struct gpu_owners){ .main_pid = options->main_pid,
                                        .tracker_pid = options->tracker_pid,
                                        .is_main_only = options->is_main_only };
    return options->main_pid != 0 ? gpu_owners_set(&data->owners, options->main_pid, 0) : 0;
}

int gpu_looks_open(struct gpu_looks *looks, const struct gpu_looks_options *options)
{
    struct gpu_look_data *data = calloc(1, sizeof(*data));
    int r = data ? prepare(data, options) : -ENOMEM;

    *looks = (struct gpu_looks){ .reason = origins_gpus_not_opened,
                                 .troubles = { .record_bytes = UNKNOWN },
                                 .data = data,
                                 .leaves_drivers = options->leaves_drivers,
                                 .root = ROOT_CLOSED };
    gpu_totals_clear(&looks->totals);
    gpu_totals_clear(&looks->latest);
    if (r == 0)
        r = helper_open(&work, data, &looks->helper);
    if (r < 0) {
        if (data)
            release(data);
        return r;
    }
    looks->watch = &data->watch;
    looks->is_open = true;
    /* On failure, a busy machine is mistaken for a slow driver. */
    (void)root_open(NULL, &looks->root);
    return 0;
}

/* Returns the run and wait times of the thread; zeros if the kernel does not count them. */
static struct schedstat read_times(const struct gpu_looks *looks)
{
    struct schedstat times = { 0 };

    (void)schedstat_read(&looks->root, atomic_load(&looks->data->thread_id), &times);
    return times;
}

static uint64_t look_taken_ns(const struct gpu_looks *looks, uint64_t now_ns)
{
    uint64_t taken_ns = looks->started_ns != 0 ? sub_floor0(now_ns, looks->started_ns) : 0;

    if (taken_ns < STUCK_AFTER_NS)
        return taken_ns;
    return sub_floor0(taken_ns,
                      sub_floor0(read_times(looks).waited_ns, looks->before.waited_ns));
}

bool gpu_looks_are_starved(const struct gpu_looks *looks)
{
    pid_t thread_id = atomic_load(&looks->data->thread_id);
    struct pid_stat stat;

    if (thread_id == 0)
        return true;
    return pid_stat_read(NULL, &looks->root, thread_id, &stat) == 0 && stat.state == 'R' &&
           sub_floor0(read_times(looks).run_ns, looks->before.run_ns) < STUCK_AFTER_NS;
}

/* Waits for the call in progress until `until_ns`, and for steps until `most_ns` as long as the
 * thread has had no CPU. Returns whether the call has ended. */
static bool wait_while_starved(const struct gpu_looks *looks, uint64_t until_ns,
                               uint64_t step_ns, uint64_t most_ns)
{
    bool has_ended;

    do {
        has_ended = helper_wait(looks->helper, until_ns);
        until_ns += step_ns;
    } while (!has_ended && until_ns <= most_ns && gpu_looks_are_starved(looks));
    return has_ended;
}

static bool wait_for_call(struct gpu_looks *looks)
{
    uint64_t now_ns = clock_now().monotonic_ns;
    bool is_stuck =
        look_taken_ns(looks, now_ns) >= STUCK_AFTER_NS && !gpu_looks_are_starved(looks);

    return wait_while_starved(looks, now_ns + (is_stuck ? 0 : WAIT_MOST_NS), WAIT_MOST_NS,
                              now_ns + STARVED_MOST_NS);
}

static int start_call(struct gpu_looks *looks, enum gpu_look request)
{
    uint64_t now_ns = clock_now().monotonic_ns;
    int r;

    looks->data->request = request;
    if (atomic_load(&looks->data->thread_id) != 0 &&
        now_ns - looks->before_ns >= TIMES_HOLD_NS) {
        looks->before = read_times(looks);
        looks->before_ns = now_ns;
    }
    looks->started_ns = now_ns;
    r = helper_start(looks->helper);
    if (r < 0)
        looks->started_ns = 0;
    return r;
}

static void close_drivers(struct gpu_looks *looks)
{
    bool has_ended = helper_wait(looks->helper, 0);

    root_close(&looks->root);
    if (looks->leaves_drivers && (!has_ended || looks->data->is_open))
        return;
    if (has_ended && looks->data->is_open && start_call(looks, GPU_LOOK_CLOSE) == 0)
        (void)wait_for_call(looks);
    looks->helper = helper_close(looks->helper);
}

void gpu_looks_close(struct gpu_looks *looks)
{
    if (looks->is_open)
        close_drivers(looks);
    free(looks->units);
    free(looks->devices);
    *looks = (struct gpu_looks){ 0 };
}

/* ---- looks ----------------------------------------------------------------- */

void gpu_looks_add_ended(struct gpu_looks *looks, pid_t pid)
{
    if (gpu_looks_are_idle(looks) && looks->state == GPU_READY)
        /* On failure, the process's usage since the last look is not counted. */
        (void)gpu_owners_set(&looks->data->owners, pid, clock_now().monotonic_ns);
}

/* Copies the processes of the job for the next look. If we attached to the job, the usage
 * found by the first look is old and does not count. If we started the job, all
 * descendants are new. */
void gpu_looks_note(struct gpu_looks *looks, const struct roster *roster)
{
    struct gpu_owners *owners = &looks->data->owners;

    if (gpu_looks_are_idle(looks))
        owners->have_left_cgroup = looks->have_left_cgroup;
    if (gpu_looks_are_idle(looks) && (looks->state == GPU_READY || owners->tracker_pid == 0))
        gpu_owners_update(owners, roster, clock_now().monotonic_ns);
}

int gpu_looks_start(struct gpu_looks *looks, enum gpu_look look, const struct roster *roster)
{
    gpu_looks_note(looks, roster);
    if (looks->reason == origins_gpus_not_opened)
        looks->reason = too_early;
    return start_call(looks, look);
}

void gpu_looks_wait(const struct gpu_looks *looks, uint64_t until_ns)
{
    if (looks->started_ns != 0) /* gpu_looks_collect() checks the outcome */
        (void)wait_while_starved(looks, until_ns, STARVED_STEP_NS,
                                 until_ns + STARVED_AT_BORDER_NS);
}

bool gpu_looks_are_idle(const struct gpu_looks *looks)
{
    return looks->started_ns == 0;
}

static void note_silence(struct gpu_looks *looks, uint64_t now_ns)
{
    uint64_t taken_ns = look_taken_ns(looks, now_ns);

    if (taken_ns >= SILENT_AFTER_NS && taken_ns > looks->troubles.silent_for_ns) {
        looks->troubles.silent_for_ns = taken_ns;
        looks->troubles.silent_since_ns = looks->started_ns;
    }
}

static const char *why_none(const struct gpu_look_data *data)
{
    if (data->options.vendor_count == 0)
        return "disabled by SPOOR_DISABLE";
    if (data->watch.inventory.refusal_count > 0)
        return "the GPU driver cannot be used: see the warnings";
    if (data->watch.inventory.absent.code == ENXIO)
        return "this machine has no GPU, or its driver is not loaded";
    return data->error == -ENODEV ? "this machine has no GPU" : "out of memory";
}

static int learn_units(struct gpu_looks *looks)
{
    const struct gpu_inventory *inventory = &looks->data->watch.inventory;

    looks->units = calloc(inventory->count, sizeof(*looks->units));
    looks->devices = calloc(inventory->count, sizeof(*looks->devices));
    if (!looks->units || !looks->devices)
        return -ENOMEM;
    looks->unit_count = inventory->count;
    memcpy(looks->units, inventory->units, inventory->count * sizeof(*looks->units));
    for (size_t i = 0; i < inventory->count; i++)
        gpu_device_view_init(&looks->devices[i], inventory->units[i].sources);
    looks->troubles.unmatched = inventory->unmatched;
    return 0;
}

/* Stores the GPUs that the drivers report, or why there are none. Called after the first
 * look. */
static void learn(struct gpu_looks *looks)
{
    struct gpu_look_data *data = looks->data;

    memcpy(looks->troubles.refusals, data->watch.inventory.refusals,
           sizeof(looks->troubles.refusals));
    looks->troubles.refusal_count = data->watch.inventory.refusal_count;
    if (data->error == 0)
        data->error = learn_units(looks);
    looks->state = data->error < 0 ? GPU_NONE : GPU_READY;
    looks->reason = data->error < 0 ? why_none(data) : NULL;
}

bool gpu_looks_collect(struct gpu_looks *looks)
{
    struct gpu_watch *watch = &looks->data->watch;
    const struct measure *latest = looks->latest.measures;

    if (looks->started_ns == 0 || !helper_wait(looks->helper, 0))
        return false;
    note_silence(looks, looks->data->ended_ns);
    looks->started_ns = 0;
    if (looks->state == GPU_PENDING)
        learn(looks);
    looks->cost_ns += looks->data->cost_ns;
    if (looks->state == GPU_NONE)
        return true;
    looks->latest = gpu_watch_totals(watch);
    looks->latest_ns = looks->data->looked_ns;
    looks->has_news = true;
    gpu_totals_renew(&looks->totals, &looks->latest);
    for (size_t i = 0; i < looks->unit_count; i++)
        gpu_device_view_renew(&looks->devices[i], &watch->account.list[i].view);
    looks->troubles.record_bytes = watch->record_bytes;
    looks->troubles.is_busy_mixed = looks->latest.is_busy_mixed;
    looks->found = (struct gpu_findings){
        .memory_bytes =
            latest[watch->owners->main_pid != 0 ? GPU_TOTAL_JOB_MEMORY : GPU_TOTAL_HOST_MEMORY]
                .value,
        .utilization = latest[GPU_TOTAL_UTILIZATION].value,
        .holds_context = watch->holds_context || looks->latest.is_memory_unreported,
    };
    return true;
}

void gpu_looks_begin_last(struct gpu_looks *looks, const struct roster *roster)
{
    if (looks->started_ns == 0 && !looks->is_last && looks->state == GPU_READY)
        looks->is_last = gpu_looks_start(looks, GPU_LOOK_LAST, roster) == 0;
}

bool gpu_looks_finish(struct gpu_looks *looks)
{
    return looks->started_ns != 0 && wait_for_call(looks) && gpu_looks_collect(looks);
}

/* ---- view ------------------------------------------------------------------- */

static void copy_devices(struct gpu_looks *looks, struct gpu_view *view)
{
    if (!view->devices && looks->unit_count > 0)
        view->devices = calloc(looks->unit_count, sizeof(*view->devices));
    if (!view->devices)
        return;
    view->units = looks->units;
    view->count = looks->unit_count;
    memcpy(view->devices, looks->devices, looks->unit_count * sizeof(*view->devices));
    for (size_t i = 0; i < looks->unit_count; i++) {
        struct gpu_figure *figures = looks->devices[i].figures;

        figures[GPU_MEMORY].measure.value = figures[GPU_MEMORY].measure.now;
        figures[GPU_JOB_MEMORY].measure.value = figures[GPU_JOB_MEMORY].measure.now;
    }
}

/* Keeps the values reported since the last view; the current values are unknown. */
static void report_silence(struct gpu_looks *looks, struct gpu_view *view)
{
    bool has_responded = looks->state == GPU_READY;

    view->state = has_responded ? GPU_SILENT : GPU_PENDING;
    view->reason = has_responded ? has_stopped : never_responded;
    for (int i = 0; i < GPU_TOTAL_COUNT; i++) {
        struct measure *measure = &view->totals.measures[i];

        measure->now = UNKNOWN;
        if (i >= GPU_TOTAL_LEVELS || !looks->has_news)
            measure->value = UNKNOWN;
        if (i < GPU_TOTAL_LEVELS)
            looks->totals.measures[i].value = UNKNOWN;
    }
    for (size_t i = 0; view->devices && i < view->count; i++) {
        for (int k = 0; k < GPU_MEASURE_COUNT; k++)
            view->devices[i].figures[k].measure.origin.reason = view->reason;
    }
}

/* Removes the busy time of the last `span_ns`, by the shares that were measured last. */
static void date_back(struct gpu_totals *totals, const struct gpu_totals *latest,
                      uint64_t span_ns)
{
    static const struct {
        enum gpu_total busy, share;
    } pairs[] = {
        { GPU_TOTAL_BUSY, GPU_TOTAL_UTILIZATION },
        { GPU_TOTAL_JOB_BUSY, GPU_TOTAL_JOB_UTILIZATION },
    };

    for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
        uint64_t *busy_ns = &totals->measures[pairs[i].busy].value;
        uint64_t share = known_or_0(latest->measures[pairs[i].share].value);

        if (is_known(*busy_ns))
            *busy_ns = sub_floor0(*busy_ns, gpu_share_ns(span_ns, share));
    }
}

void gpu_looks_view(struct gpu_looks *looks, uint64_t now_ns, struct gpu_view *view)
{
    copy_devices(looks, view);
    view->state = looks->state;
    view->reason = looks->reason;
    view->totals = looks->totals;
    /* The GPUs are read after the last sample. Their busy time after it is not part of the run. */
    date_back(&view->totals, &looks->latest, sub_floor0(looks->latest_ns, now_ns));
    looks->totals = looks->latest;
    if (look_taken_ns(looks, now_ns) >= SILENT_AFTER_NS && !gpu_looks_are_starved(looks)) {
        note_silence(looks, now_ns);
        report_silence(looks, view);
    }
    looks->has_news = false;
}
