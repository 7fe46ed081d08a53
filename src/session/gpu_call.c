/* SPDX-License-Identifier: Apache-2.0 */
#include "session/gpu_call.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arithmetic.h"
#include "base/clock.h"
#include "base/helper.h"
#include "job/cpu_spent.h"
#include "source/proc/pid_files.h"

/* A call may take so long at the end, unless its driver has taken this long already. */
#define WAIT_MOST_NS NS_PER_SECOND
#define STUCK_AFTER_NS (250 * NS_PER_MS)
/* And so long if the thread waits for a processor of a busy machine, not for a driver. */
#define STARVED_MOST_NS (10 * NS_PER_SECOND)
/* How long the thread's times before a call stand for later calls. */
#define TIMES_HOLD_NS NS_PER_SECOND

/* ---- in the helper's thread --------------------------------------------- */

static int open_watch(struct gpu_call_data *data)
{
    int r = root_open(data->root_path, &data->root);

    if (r < 0)
        return r;
    r = gpu_watch_open(&data->watch, &data->root, &data->options);
    if (r < 0)
        root_close(&data->root);
    data->is_open = r == 0;
    return r;
}

static void close_watch(struct gpu_call_data *data)
{
    if (!data->is_open)
        return;
    gpu_watch_close(&data->watch);
    root_close(&data->root);
    data->is_open = false;
}

static void look(struct gpu_call_data *data)
{
    uint64_t now_ns = clock_now().monotonic_ns;
    bool is_first = !data->is_open;

    if (is_first)
        data->error = open_watch(data);
    if (data->error < 0)
        return;
    now_ns = is_first ? clock_now().monotonic_ns : now_ns;
    if (data->request == GPU_REQUEST_QUICK)
        gpu_watch_poll(&data->watch, now_ns);
    else
        gpu_watch_read(&data->watch, now_ns, data->request == GPU_REQUEST_LAST);
    if (data->request == GPU_REQUEST_LAST)
        gpu_watch_accounts(&data->watch);
}

static void make_call(void *argument)
{
    struct gpu_call_data *data = argument;
    uint64_t cpu_ns;

    atomic_store(&data->thread_id, gettid());
    if (data->request == GPU_REQUEST_CLOSE)
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
    struct gpu_call_data *data = argument;

    close_watch(data);
    gpu_choice_done(&data->choice);
    free(data->root_path);
    gpu_owners_done(&data->owners);
    free(data);
}

static const struct helper_work work = { "spoor-gpu", make_call, release };

/* ---- for the caller -------------------------------------------------------- */

static int read_choice(const struct gpu_call_options *options, struct gpu_choice *ret)
{
    struct root root;
    int r;

    if (options->pid_count == 0)
        return gpu_choice_init(ret, options->gpus, environment_own);
    r = root_open(options->root, &root);
    if (r < 0)
        return r;
    r = gpu_choice_init_for(ret, options->gpus, &root, options->pids, options->pid_count);
    root_close(&root);
    return r;
}

bool gpu_call_is_needed(const struct root *root, const char *gpus, unsigned disabled)
{
    const struct gpu_vendor *vendors[GPU_VENDORS_MAX];
    size_t count = gpu_vendors_enabled(disabled, vendors);

    return !visible_is_none(gpus) && gpu_vendors_may_be_here(root, vendors, count);
}

static int prepare(struct gpu_call_data *data, const struct gpu_call_options *options)
{
    int r = read_choice(options, &data->choice);

    if (r < 0)
        return r;
    data->root = (struct root)ROOT_CLOSED;
    data->root_path = strdup(options->root ? options->root : "/");
    data->options = (struct gpu_watch_options){
        .vendors = data->vendors,
        .vendor_count = gpu_vendors_enabled(options->disabled, data->vendors),
        .choice = &data->choice,
        .owners = &data->owners,
        .start_ns = options->start_ns,
    };
    data->owners = (struct gpu_owners){ .main_pid = options->main_pid,
                                        .tracker_pid = options->tracker_pid,
                                        .is_main_only = options->is_main_only };
    if (!data->root_path)
        return -ENOMEM;
    return options->main_pid != 0 ? gpu_owners_add_ended(&data->owners, options->main_pid, 0)
                                  : 0;
}

int gpu_call_open(struct gpu_call *call, const struct gpu_call_options *options)
{
    struct gpu_call_data *data = calloc(1, sizeof(*data));
    int r = data ? prepare(data, options) : -ENOMEM;

    *call = (struct gpu_call){ .data = data,
                               .leaves_drivers = options->leaves_drivers,
                               .root = ROOT_CLOSED };
    if (r == 0)
        r = helper_open(&work, data, &call->helper);
    if (r < 0) {
        if (data)
            release(data);
        return r;
    }
    (void)root_open(NULL, &call->root); /* else a busy machine looks like a slow driver */
    return 0;
}

/* Zeros if the kernel does not count. */
static struct schedstat read_times(const struct gpu_call *call)
{
    struct schedstat times = { 0 };

    (void)schedstat_read(&call->root, atomic_load(&call->data->thread_id), &times);
    return times;
}

uint64_t gpu_call_taken_ns(const struct gpu_call *call, uint64_t now_ns)
{
    uint64_t taken_ns = call->called_ns != 0 ? sub_floor0(now_ns, call->called_ns) : 0;

    if (taken_ns < STUCK_AFTER_NS)
        return taken_ns;
    return sub_floor0(taken_ns, sub_floor0(read_times(call).waited_ns, call->before.waited_ns));
}

bool gpu_call_is_starved(const struct gpu_call *call)
{
    pid_t thread_id = atomic_load(&call->data->thread_id);
    struct pid_stat stat;

    if (thread_id == 0)
        return true;
    return pid_stat_read_once(&call->root, thread_id, &stat) == 0 && stat.state == 'R' &&
           sub_floor0(read_times(call).run_ns, call->before.run_ns) < STUCK_AFTER_NS;
}

bool gpu_call_wait(struct gpu_call *call)
{
    uint64_t now_ns = clock_now().monotonic_ns;
    bool is_stuck =
        gpu_call_taken_ns(call, now_ns) >= STUCK_AFTER_NS && !gpu_call_is_starved(call);
    uint64_t until_ns = now_ns + (is_stuck ? 0 : WAIT_MOST_NS);
    bool has_ended;

    do {
        has_ended = helper_wait(call->helper, until_ns);
        until_ns += WAIT_MOST_NS;
    } while (!has_ended && until_ns <= now_ns + STARVED_MOST_NS && gpu_call_is_starved(call));
    return has_ended;
}

int gpu_call_start(struct gpu_call *call, enum gpu_request request)
{
    uint64_t now_ns = clock_now().monotonic_ns;
    int r;

    call->data->request = request;
    if (atomic_load(&call->data->thread_id) != 0 && now_ns - call->before_ns >= TIMES_HOLD_NS) {
        call->before = read_times(call);
        call->before_ns = now_ns;
    }
    call->called_ns = now_ns;
    r = helper_start(call->helper);
    if (r < 0)
        call->called_ns = 0;
    return r;
}

bool gpu_call_has_ended(const struct gpu_call *call)
{
    return helper_wait(call->helper, 0);
}

void gpu_call_close(struct gpu_call *call)
{
    bool has_ended = gpu_call_has_ended(call);

    root_close(&call->root);
    if (call->leaves_drivers && (!has_ended || call->data->is_open))
        return;
    if (has_ended && call->data->is_open && gpu_call_start(call, GPU_REQUEST_CLOSE) == 0)
        (void)gpu_call_wait(call);
    call->helper = helper_close(call->helper);
}
