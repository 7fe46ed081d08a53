/* SPDX-License-Identifier: Apache-2.0 */
#include "session/gpu_thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "job/memory/cpu_spent.h"
#include "job/rungs.h"
#include "session/gpu_pace.h"

struct gpu_thread {
    /* fixed when it is started */
    char *root_path;
    struct gpu_choice choice;
    const struct gpu_vendor *vendors[GPU_VENDORS_MAX];
    struct gpu_watch_options options;
    pthread_t thread;

    struct gpu_board board;

    /* the thread's own */
    struct root root;
    struct gpu_watch watch;
    struct gpu_pace pace;
    uint64_t marked_cpu_ns;
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
        return "switched off (SPOOR_DISABLE)";
    if (thread->watch.inventory.refusal_count > 0)
        return "the GPU driver cannot be used: see the warnings";
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

static void look(struct gpu_thread *thread)
{
    struct gpu_watch *watch = &thread->watch;
    uint64_t now_ns = clock_now().monotonic_ns;
    bool is_slow = gpu_pace_read_is_due(&thread->pace, now_ns);

    if (!is_slow && gpu_watch_rests(watch, now_ns)) {
        gpu_pace_rested(&thread->pace, now_ns, take_cost(thread), watch->holds_context);
        return;
    }
    gpu_board_begin_call(&thread->board);
    if (is_slow)
        gpu_watch_read(watch, now_ns, false);
    else
        gpu_watch_poll(watch, now_ns);
    gpu_board_publish(&thread->board, watch);
    now_ns = clock_now().monotonic_ns;
    if (is_slow)
        gpu_pace_has_read(&thread->pace, now_ns, take_cost(thread),
                          &(struct gpu_activity){ watch->holds_context, watch->is_quiet });
    else
        gpu_pace_polled(&thread->pace, now_ns, take_cost(thread), watch->holds_context);
}

static void look_until_ended(struct gpu_thread *thread)
{
    struct gpu_board *board = &thread->board;
    struct gpu_watch *watch = &thread->watch;

    gpu_watch_read(watch, clock_now().monotonic_ns, false); /* all is fresh from the opening */
    gpu_board_publish(board, watch);
    gpu_pace_init(&thread->pace, clock_now().monotonic_ns, take_cost(thread));
    while (gpu_board_wait(board, gpu_pace_wake_ns(&thread->pace), watch))
        look(thread);
    gpu_board_begin_call(board);
    gpu_watch_read(watch, clock_now().monotonic_ns, true);
    if (thread->options.tracker_pid != 0) /* else accounts speak of the time before us too */
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
    if (options->tracker_pid != 0)
        return gpu_choice_init(ret, options->gpus, environment_own);
    return gpu_choice_init_for(ret, options->gpus, root, options->main_pid);
}

static bool may_be_here(const struct gpu_vendor *const *vendors, size_t count,
                        const struct root *root)
{
    for (size_t i = 0; i < count; i++) {
        if (!vendors[i]->may_be_here || vendors[i]->may_be_here(root))
            return true;
    }
    return false;
}

static int prepare(struct gpu_thread *thread, const struct gpu_thread_options *options,
                   const struct root *root)
{
    thread->root_path = strdup(options->root ? options->root : "/");
    if (!thread->root_path)
        return -ENOMEM;
    thread->options = (struct gpu_watch_options){
        .vendors = thread->vendors,
        .vendor_count = gpu_vendors_enabled(options->disabled, thread->vendors),
        .choice = &thread->choice,
        .main_pid = options->main_pid,
        .tracker_pid = options->tracker_pid,
        .start_ns = options->start_ns,
    };
    return read_choice(options, root, &thread->choice);
}

static int start(const struct gpu_thread_options *options, const struct root *root,
                 struct gpu_thread **ret)
{
    struct gpu_thread *thread = calloc(1, sizeof(*thread));
    int r;

    if (!thread)
        return -ENOMEM;
    gpu_board_init(&thread->board);
    r = prepare(thread, options, root);
    if (r == 0)
        r = -pthread_create(&thread->thread, NULL, watch_gpus, thread);
    if (r < 0) {
        free_all(thread);
        return r;
    }
    *ret = thread;
    return 0;
}

int gpu_thread_start(const struct gpu_thread_options *options, struct gpu_thread **ret)
{
    const struct gpu_vendor *vendors[GPU_VENDORS_MAX];
    size_t count = gpu_vendors_enabled(options->disabled, vendors);
    struct root root;
    int r = root_open(options->root, &root);

    if (r < 0)
        return r;
    /* Nothing is allocated before: this is a machine without GPUs as a rule. */
    r = may_be_here(vendors, count, &root) ? start(options, &root, ret) : -ENODEV;
    root_close(&root);
    return r;
}

void gpu_thread_tell(struct gpu_thread *thread, const struct members *members,
                     uint64_t started_count)
{
    gpu_board_tell(&thread->board, members, started_count);
}

void gpu_thread_tell_ended(struct gpu_thread *thread, pid_t pid)
{
    gpu_board_tell_ended(&thread->board, pid);
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
