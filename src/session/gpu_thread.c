/* SPDX-License-Identifier: Apache-2.0 */
#include "session/gpu_thread.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/thread_start.h"
#include "job/memory/cpu_spent.h"
#include "job/rungs.h"
#include "session/gpu_pace.h"

/* The job is awake where it has run twice within that time. */
#define FLURRY_NS (20 * NS_PER_MS)
/* One that rests and cannot be waited for is looked at all the same after so long. */
#define REST_MOST_NS NS_PER_SECOND

struct gpu_thread {
    /* fixed when it is started */
    char *root_path;
    struct gpu_choice choice;
    const struct gpu_vendor *vendors[GPU_VENDORS_MAX];
    struct gpu_watch_options options;
    const struct gate *gate; /* the job's: gone when we are to end, see gpu_board.h */
    pthread_t thread;

    struct gpu_board board;

    /* the thread's own */
    struct root root;
    struct gpu_watch watch;
    struct gpu_pace pace;
    uint64_t marked_cpu_ns;

    /* the caller's own */
    uint64_t opened_ns; /* the gate, last */
};

static void free_all(struct gpu_thread *thread)
{
    gpu_board_done(&thread->board);
    gpu_choice_done(&thread->choice);
    free(thread->root_path);
    free(thread);
}

/* ---- the thread --------------------------------------------------------- */

static int open_watch(struct gpu_thread *thread)
{
    int r = root_open(thread->root_path, &thread->root);

    if (r < 0)
        return r;
    r = gpu_watch_open(&thread->watch, &thread->root, &thread->options);
    gpu_board_publish_refusals(&thread->board, &thread->watch.inventory);
    if (r == 0) {
        r = gpu_board_publish_units(&thread->board, &thread->watch);
        if (r < 0)
            gpu_watch_close(&thread->watch);
    }
    if (r < 0)
        root_close(&thread->root);
    return r;
}

static const char *why_none(const struct gpu_thread *thread, int error)
{
    if (thread->options.vendor_count == 0)
        return "disabled by SPOOR_DISABLE";
    if (thread->watch.inventory.refusal_count > 0)
        return "the GPU driver cannot be used: see the warnings";
    if (thread->watch.inventory.absent.code == ENXIO)
        return "this machine has no GPU, or its driver is not loaded";
    return error == -ENODEV ? "this machine has no GPU" : "out of memory";
}

/* CPU time of this thread since it was last asked for. */
static uint64_t take_cost(struct gpu_thread *thread)
{
    uint64_t cpu_ns = cpu_spent_ns(&thread->root);
    uint64_t cost_ns = cpu_ns - thread->marked_cpu_ns;

    thread->marked_cpu_ns = cpu_ns;
    return cost_ns;
}

/* Is there nothing to look at? The job rests. Where it can be waited for there is one look more,
 * for what it did before the gate was armed. */
static bool leaves_out(struct gpu_thread *thread, uint64_t now_ns)
{
    bool is_armed;

    if (!gpu_watch_rests(&thread->watch, now_ns))
        return false;
    is_armed = gpu_board_arm(&thread->board, thread->gate);
    gpu_pace_gate(&thread->pace, is_armed);
    return !is_armed && now_ns - thread->watch.looked_ns < REST_MOST_NS;
}

static void look_slowly(struct gpu_thread *thread, uint64_t now_ns)
{
    struct gpu_watch *watch = &thread->watch;

    gpu_board_begin_call(&thread->board);
    gpu_watch_read(watch, now_ns, false);
    gpu_board_publish(&thread->board, watch);
    gpu_pace_has_read(&thread->pace, clock_now().monotonic_ns, take_cost(thread),
                      &(struct gpu_activity){ watch->holds_context, watch->is_quiet });
}

static void look_quickly(struct gpu_thread *thread, uint64_t now_ns)
{
    struct gpu_watch *watch = &thread->watch;

    if (leaves_out(thread, now_ns)) {
        gpu_pace_rested(&thread->pace, now_ns, take_cost(thread), watch->holds_context);
        return;
    }
    gpu_board_begin_call(&thread->board);
    gpu_watch_poll(watch, now_ns);
    gpu_board_publish(&thread->board, watch);
    gpu_pace_polled(&thread->pace, clock_now().monotonic_ns, take_cost(thread),
                    watch->holds_context);
}

static void look(struct gpu_thread *thread, bool has_run)
{
    uint64_t now_ns = clock_now().monotonic_ns;

    if (has_run) /* and the gate is disarmed */
        gpu_pace_gate(&thread->pace, false);
    if (gpu_pace_read_is_due(&thread->pace, now_ns))
        look_slowly(thread, now_ns);
    else if (gpu_pace_poll_is_due(&thread->pace, now_ns))
        look_quickly(thread, now_ns);
}

/* Waits until a look is due, the job runs, or the end. Returns whether to go on. */
static bool wait_for_look(struct gpu_thread *thread, bool *ret_has_run)
{
    struct pollfd fd = { .fd = thread->board.wake_fd, .events = POLLIN };
    struct timespec timeout = clock_time_until(gpu_pace_wake_ns(&thread->pace));

    (void)ppoll(&fd, 1, &timeout, NULL); /* woken up for nothing it sleeps on */
    return gpu_board_goes_on(&thread->board, &thread->watch, ret_has_run);
}

static void look_until_ended(struct gpu_thread *thread)
{
    struct gpu_board *board = &thread->board;
    struct gpu_watch *watch = &thread->watch;
    bool has_run;

    /* What the first look finds was there before, and does not count. That is so of all processes
     * of a job that was attached to; children of one that we started are all new. */
    if (thread->options.tracker_pid == 0)
        (void)gpu_board_goes_on(board, watch, &has_run);
    gpu_watch_read(watch, clock_now().monotonic_ns, false); /* all is fresh from the opening */
    gpu_board_publish(board, watch);
    gpu_pace_init(&thread->pace, clock_now().monotonic_ns, take_cost(thread));
    while (wait_for_look(thread, &has_run))
        look(thread, has_run);
    gpu_board_begin_call(board);
    gpu_watch_read(watch, clock_now().monotonic_ns, true);
    gpu_watch_accounts(watch);
    gpu_board_publish(board, watch);
}

static void *watch_gpus(void *data)
{
    struct gpu_thread *thread = data;
    int r;

    (void)pthread_setname_np(pthread_self(), "spoor-gpu"); /* a name more or less */
    gpu_board_begin_call(&thread->board);
    r = open_watch(thread);
    if (r < 0)
        gpu_board_publish_none(&thread->board, why_none(thread, r));
    else
        look_until_ended(thread);
    gpu_board_end_last_look(&thread->board);
    if (r == 0) {
        gpu_watch_close(&thread->watch);
        root_close(&thread->root);
    }
    if (gpu_board_end(&thread->board))
        free_all(thread);
    return NULL;
}

/* ---- for others --------------------------------------------------------- */

static int read_choice(const struct gpu_thread_options *options, const struct root *root,
                       struct gpu_choice *ret)
{
    if (options->tracker_pid != 0 || options->main_pid == 0)
        return gpu_choice_init(ret, options->gpus, environment_own);
    return gpu_choice_init_for(ret, options->gpus, root, options->main_pid);
}

bool gpu_thread_is_needed(const struct root *root, unsigned disabled)
{
    const struct gpu_vendor *vendors[GPU_VENDORS_MAX];
    size_t count = gpu_vendors_enabled(disabled, vendors);

    return gpu_vendors_may_be_here(root, vendors, count);
}

static int prepare(struct gpu_thread *thread, const struct gpu_thread_options *options)
{
    struct root root;
    int r = root_open(options->root, &root);

    if (r < 0)
        return r;
    r = read_choice(options, &root, &thread->choice);
    root_close(&root);
    if (r < 0)
        return r;
    thread->root_path = strdup(options->root ? options->root : "/");
    if (!thread->root_path)
        return -ENOMEM;
    thread->gate = options->gate;
    thread->options = (struct gpu_watch_options){
        .vendors = thread->vendors,
        .vendor_count = gpu_vendors_enabled(options->disabled, thread->vendors),
        .choice = &thread->choice,
        .main_pid = options->main_pid,
        .tracker_pid = options->tracker_pid,
        .is_main_only = options->is_main_only,
        .is_for_host = options->is_for_host,
        .start_ns = options->start_ns,
    };
    return 0;
}

int gpu_thread_start(const struct gpu_thread_options *options, struct gpu_thread **ret)
{
    struct gpu_thread *thread = calloc(1, sizeof(*thread));
    int r;

    if (!thread)
        return -ENOMEM;
    r = gpu_board_init(&thread->board);
    if (r == 0)
        r = prepare(thread, options);
    if (r == 0) {
        gpu_board_tell(&thread->board, options->members);
        r = thread_start_quiet(&thread->thread, watch_gpus, thread);
    }
    if (r < 0) {
        free_all(thread);
        return r;
    }
    *ret = thread;
    return 0;
}

void gpu_thread_tell(struct gpu_thread *thread, const struct members *members)
{
    gpu_board_tell(&thread->board, members);
}

void gpu_thread_tell_ended(struct gpu_thread *thread, pid_t pid)
{
    gpu_board_tell_ended(&thread->board, pid);
}

/* Threads of a driver in the job wake up now and then; who goes on is awake. */
void gpu_thread_tell_run(struct gpu_thread *thread, uint64_t now_ns)
{
    bool goes_on = now_ns - thread->opened_ns < FLURRY_NS;

    thread->opened_ns = now_ns;
    if (goes_on)
        gpu_board_tell_run(&thread->board, thread->gate);
}

void gpu_thread_take(struct gpu_thread *thread, uint64_t now_ns, struct gpu_view *view)
{
    gpu_board_take(&thread->board, now_ns, view);
}

void gpu_thread_ask_last(struct gpu_thread *thread)
{
    gpu_board_ask_last(&thread->board);
}

void gpu_thread_wait_last(struct gpu_thread *thread)
{
    gpu_board_wait_last(&thread->board);
}

void gpu_thread_troubles(struct gpu_thread *thread, struct gpu_troubles *ret)
{
    gpu_board_get_troubles(&thread->board, ret);
}

struct gpu_thread *gpu_thread_close(struct gpu_thread *thread)
{
    pthread_t id;

    if (!thread)
        return NULL;
    id = thread->thread;
    gpu_board_ask_last(&thread->board);
    if (!gpu_board_leave(&thread->board)) {
        (void)pthread_detach(id); /* it frees all when its driver lets it go */
        return NULL;
    }
    (void)pthread_join(id, NULL);
    free_all(thread);
    return NULL;
}
