/* SPDX-License-Identifier: Apache-2.0 */
#include "session/gpu_board.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/arithmetic.h"
#include "base/clock.h"
#include "base/unknown.h"
#include "source/proc/pid_stat.h"

/* A driver that takes longer has stopped answering. */
#define SILENT_AFTER_NS (2 * NS_PER_SECOND)
/* The last look may take so long, unless a driver has taken this long already. */
#define LAST_LOOK_MOST_NS NS_PER_SECOND
#define STUCK_AFTER_NS (250 * NS_PER_MS)
/* And so long where it is no driver but a busy machine that the thread waits for. */
#define STARVED_MOST_NS (10 * NS_PER_SECOND)
/* What the thread had of the processors is read anew after so long. */
#define TIMES_HOLD_NS NS_PER_SECOND

static const char too_early[] = "the run ended before the drivers had reported their GPUs";
static const char is_mute[] = "the GPU driver does not respond";
static const char has_stopped[] = "the GPU driver stopped responding";

int gpu_board_init(struct gpu_board *board)
{
    *board = (struct gpu_board){ .reason = too_early, .root = ROOT_CLOSED };
    board->troubles.account_bytes = UNKNOWN;
    gpu_totals_clear(&board->totals);
    gpu_totals_clear(&board->latest);
    (void)pthread_mutex_init(&board->mutex, NULL);  /* cannot fail with defaults */
    (void)pthread_cond_init(&board->changed, NULL); /* likewise */
    (void)root_open(NULL, &board->root); /* else a busy machine looks like a slow driver */
    board->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return board->wake_fd < 0 ? -errno : 0;
}

void gpu_board_done(struct gpu_board *board)
{
    (void)pthread_mutex_destroy(&board->mutex);
    (void)pthread_cond_destroy(&board->changed);
    root_close(&board->root);
    if (board->wake_fd >= 0)
        close(board->wake_fd);
    free(board->living.list);
    free(board->ended.list);
    free(board->units);
    free(board->devices);
}

/* ---- for the thread ----------------------------------------------------- */

/* Of the thread; zeros where the kernel does not count. */
static struct schedstat read_times(const struct gpu_board *board)
{
    struct schedstat times = { 0 };

    (void)schedstat_read(&board->root, board->thread_id, &times);
    return times;
}

void gpu_board_begin_call(struct gpu_board *board)
{
    uint64_t now_ns;

    pthread_mutex_lock(&board->mutex);
    now_ns = clock_now().monotonic_ns;
    board->thread_id = gettid();
    board->calling_since_ns = now_ns;
    if (board->before_ns == 0 || now_ns - board->before_ns >= TIMES_HOLD_NS) {
        board->before = read_times(board);
        board->before_ns = now_ns;
    }
    pthread_mutex_unlock(&board->mutex);
}

/* For how long the driver has been asked, less what the thread waited for a processor: that is
 * the machine's doing. With the mutex held. */
static uint64_t taken_by_driver(const struct gpu_board *board, uint64_t now_ns)
{
    uint64_t taken_ns = board->calling_since_ns ? less(now_ns, board->calling_since_ns) : 0;

    if (taken_ns < STUCK_AFTER_NS)
        return taken_ns;
    return less(taken_ns, less(read_times(board).waited_ns, board->before.waited_ns));
}

/* Would the thread go on if it had a processor? A driver that does not answer lets it sleep, or
 * spins and takes CPU time. With the mutex held, by others. */
static bool is_starved(const struct gpu_board *board)
{
    struct kept file = KEPT_CLOSED;
    struct pid_stat thread;
    int r;

    if (board->thread_id == 0)
        return true;
    r = pid_stat_read(&file, &board->root, board->thread_id, &thread);
    kept_close(&file);
    return r == 0 && thread.state == 'R' &&
           less(read_times(board).run_ns, board->before.run_ns) < STUCK_AFTER_NS;
}

/* With the mutex held. */
static void note_silence(struct gpu_board *board, uint64_t now_ns)
{
    uint64_t taken_ns = taken_by_driver(board, now_ns);

    if (taken_ns >= SILENT_AFTER_NS && taken_ns > board->troubles.silent_for_ns) {
        board->troubles.silent_for_ns = taken_ns;
        board->troubles.silent_since_ns = board->calling_since_ns;
    }
}

/* `now_ns`: when the driver had answered, before the mutex was waited for. With it held. */
static void end_call(struct gpu_board *board, uint64_t now_ns)
{
    note_silence(board, now_ns);
    board->calling_since_ns = 0;
}

/* Where no GPU is the job's, that alone is why figures of its GPUs are missing. */
static struct gpu_totals totals_of(const struct gpu_watch *watch)
{
    const char *reason = watch->inventory.none_reason; /* lasts as long as the board */
    struct gpu_totals totals = watch->tally.totals;

    if (*reason)
        totals.memory_reason = totals.busy_reason = totals.job_busy_reason =
            totals.energy_reason = reason;
    return totals;
}

void gpu_board_publish(struct gpu_board *board, const struct gpu_watch *watch)
{
    uint64_t now_ns = clock_now().monotonic_ns;
    struct gpu_totals totals = totals_of(watch);

    pthread_mutex_lock(&board->mutex);
    end_call(board, now_ns);
    board->state = GPU_READY;
    board->reason = NULL;
    board->latest = totals;
    board->has_untaken = true;
    gpu_totals_renew(&board->totals, &totals);
    for (size_t i = 0; i < board->unit_count; i++)
        gpu_device_view_renew(&board->devices[i], &watch->tally.list[i].view);
    board->troubles.account_bytes = watch->account_bytes;
    board->troubles.is_busy_mixed = watch->tally.totals.is_busy_mixed;
    pthread_mutex_unlock(&board->mutex);
}

static const char *process_memory(const struct gpu_sources *sources)
{
    return sources->process_memory;
}

static const char *process_busy(const struct gpu_sources *sources)
{
    return sources->process_busy;
}

static const char *device_busy(const struct gpu_sources *sources)
{
    return sources->device_busy;
}

static const char *device(const struct gpu_sources *sources)
{
    return sources->device;
}

static void name_sources(struct gpu_origin_names *names, const struct gpu_watch *watch)
{
    gpu_watch_source(watch, process_memory, false, names->process_memory,
                     sizeof(names->process_memory));
    gpu_watch_source(watch, process_busy, false, names->process_busy,
                     sizeof(names->process_busy));
    gpu_watch_source(watch, device_busy, false, names->device_busy, sizeof(names->device_busy));
    gpu_watch_source(watch, device, true, names->device, sizeof(names->device));
}

int gpu_board_publish_units(struct gpu_board *board, const struct gpu_watch *watch)
{
    const struct gpu_inventory *inventory = &watch->inventory;
    struct gpu_unit *units = calloc(inventory->count, sizeof(*units));
    struct gpu_device_view *devices = calloc(inventory->count, sizeof(*devices));

    if (!units || !devices) {
        free(units);
        free(devices);
        return -ENOMEM;
    }
    memcpy(units, inventory->units, inventory->count * sizeof(*units));
    for (size_t i = 0; i < inventory->count; i++)
        gpu_device_view_clear(&devices[i]);
    pthread_mutex_lock(&board->mutex);
    board->units = units;
    board->devices = devices;
    board->unit_count = inventory->count;
    board->troubles.unmatched = inventory->unmatched;
    name_sources(&board->sources, watch);
    pthread_mutex_unlock(&board->mutex);
    return 0;
}

void gpu_board_publish_none(struct gpu_board *board, const char *reason)
{
    uint64_t now_ns = clock_now().monotonic_ns;

    pthread_mutex_lock(&board->mutex);
    end_call(board, now_ns);
    board->state = GPU_NONE;
    board->reason = reason;
    pthread_mutex_unlock(&board->mutex);
}

void gpu_board_publish_refusals(struct gpu_board *board, const struct gpu_inventory *from)
{
    pthread_mutex_lock(&board->mutex);
    memcpy(board->troubles.refusals, from->refusals, sizeof(from->refusals));
    board->troubles.refusal_count = from->refusal_count;
    pthread_mutex_unlock(&board->mutex);
}

/* With the mutex held. */
static void take_news(struct gpu_board *board, struct gpu_watch *watch)
{
    uint64_t now_ns = clock_now().monotonic_ns;

    if (!board->has_news)
        return;
    /* Where memory is short some are missing until they are told again. */
    (void)gpu_kin_tell(&watch->kin, board->living.list, board->living.count, now_ns);
    for (size_t i = 0; i < board->ended.count; i++)
        (void)gpu_kin_add(&watch->kin, board->ended.list[i], now_ns);
    board->ended.count = 0;
    board->has_news = false;
}

bool gpu_board_goes_on(struct gpu_board *board, struct gpu_watch *watch, bool *ret_has_run)
{
    uint64_t count;
    bool goes_on;

    pthread_mutex_lock(&board->mutex);
    (void)!read(board->wake_fd, &count, sizeof(count)); /* does not block */
    goes_on = !board->must_end;
    *ret_has_run = board->has_run;
    board->has_run = false;
    take_news(board, watch);
    pthread_mutex_unlock(&board->mutex);
    return goes_on;
}

bool gpu_board_arm(struct gpu_board *board, const struct gate *gate)
{
    bool is_armed;

    pthread_mutex_lock(&board->mutex);
    is_armed = !board->must_end && gate->signal_fd >= 0;
    if (is_armed)
        gate_arm(gate);
    pthread_mutex_unlock(&board->mutex);
    return is_armed;
}

void gpu_board_end_last_look(struct gpu_board *board)
{
    pthread_mutex_lock(&board->mutex);
    board->has_looked = true;
    (void)pthread_cond_broadcast(&board->changed);
    pthread_mutex_unlock(&board->mutex);
}

bool gpu_board_end(struct gpu_board *board)
{
    bool is_abandoned;

    pthread_mutex_lock(&board->mutex);
    is_abandoned = board->is_abandoned;
    board->has_ended = true;
    (void)pthread_cond_broadcast(&board->changed);
    pthread_mutex_unlock(&board->mutex);
    return is_abandoned;
}

/* ---- for the others ----------------------------------------------------- */

static int add_pid(struct pid_list *pids, pid_t pid)
{
    if (pids->count == pids->capacity) {
        size_t capacity = pids->capacity ? 2 * pids->capacity : 64;
        pid_t *list = realloc(pids->list, capacity * sizeof(*list));

        if (!list)
            return -ENOMEM;
        pids->list = list;
        pids->capacity = capacity;
    }
    pids->list[pids->count++] = pid;
    return 0;
}

void gpu_board_tell(struct gpu_board *board, const struct members *members)
{
    pthread_mutex_lock(&board->mutex);
    if (board->state != GPU_NONE && board->changes != members->changes) {
        board->living.count = 0;
        for (size_t i = 0; i < members->count; i++)
            (void)add_pid(&board->living, members->list[i].pid); /* or found by the thread */
        board->changes = members->changes;
        board->has_news = true;
    }
    pthread_mutex_unlock(&board->mutex);
}

void gpu_board_tell_ended(struct gpu_board *board, pid_t pid)
{
    pthread_mutex_lock(&board->mutex);
    if (board->state != GPU_NONE && board->ended.count < GPU_KIN_ENDED_MAX) {
        (void)add_pid(&board->ended, pid); /* or its use is nobody's */
        board->has_news = true;
    }
    pthread_mutex_unlock(&board->mutex);
}

/* With the mutex held. */
static void copy_devices(struct gpu_board *board, struct gpu_view *view)
{
    if (!view->devices && board->unit_count > 0)
        view->devices = calloc(board->unit_count, sizeof(*view->devices));
    if (!view->devices)
        return;
    view->units = board->units;
    view->count = board->unit_count;
    view->sources = &board->sources;
    memcpy(view->devices, board->devices, board->unit_count * sizeof(*view->devices));
    for (size_t i = 0; i < board->unit_count; i++) {
        board->devices[i].value[GPU_MEMORY] = board->devices[i].memory_now_bytes;
        board->devices[i].value[GPU_JOB_MEMORY] = board->devices[i].job_memory_now_bytes;
    }
}

/* What the driver said since the last time is told; what is now, nobody knows. With the mutex
 * held. */
static void tell_silence(struct gpu_board *board, struct gpu_view *view)
{
    bool has_spoken = board->state == GPU_READY;

    view->state = has_spoken ? GPU_SILENT : GPU_PENDING;
    view->reason = has_spoken ? has_stopped : is_mute;
    gpu_totals_forget_counters(&view->totals);
    view->now = (struct gpu_levels)GPU_LEVELS_UNKNOWN;
    if (!board->has_untaken)
        gpu_totals_forget_levels(&view->totals);
    gpu_totals_forget_levels(&board->totals);
    for (size_t i = 0; view->devices && i < view->count; i++)
        gpu_device_view_explain(&view->devices[i], view->reason);
}

void gpu_board_take(struct gpu_board *board, uint64_t now_ns, struct gpu_view *view)
{
    pthread_mutex_lock(&board->mutex);
    copy_devices(board, view);
    view->state = board->state;
    view->reason = board->reason;
    view->totals = board->totals;
    view->now = board->latest.levels;
    board->totals = board->latest;
    if (taken_by_driver(board, now_ns) >= SILENT_AFTER_NS && !board->has_looked &&
        !is_starved(board)) {
        note_silence(board, now_ns);
        tell_silence(board, view);
    }
    board->has_untaken = false;
    pthread_mutex_unlock(&board->mutex);
}

/* With the mutex held. */
static void wake_thread(struct gpu_board *board)
{
    uint64_t one = 1;

    (void)!write(board->wake_fd, &one, sizeof(one)); /* a counter has room for it */
}

void gpu_board_tell_run(struct gpu_board *board, const struct gate *gate)
{
    pthread_mutex_lock(&board->mutex);
    gate_disarm(gate);
    board->has_run = true;
    wake_thread(board);
    pthread_mutex_unlock(&board->mutex);
}

void gpu_board_ask_last(struct gpu_board *board)
{
    pthread_mutex_lock(&board->mutex);
    board->must_end = true;
    wake_thread(board);
    pthread_mutex_unlock(&board->mutex);
}

/* Waits until it is so, or as long as a thread is worth waiting for that may hang in a driver.
 * With the mutex held. */
static void wait_for(struct gpu_board *board, const bool *what)
{
    uint64_t now_ns = clock_now().monotonic_ns;
    uint64_t last_ns = now_ns + STARVED_MOST_NS;
    bool is_stuck = taken_by_driver(board, now_ns) >= STUCK_AFTER_NS && !is_starved(board);
    uint64_t until_ns = now_ns + (is_stuck ? 0 : LAST_LOOK_MOST_NS);

    do {
        struct timespec until = clock_timespec(until_ns);
        int r = 0;

        while (!*what && r != ETIMEDOUT)
            r = pthread_cond_clockwait(&board->changed, &board->mutex, CLOCK_MONOTONIC, &until);
        until_ns += LAST_LOOK_MOST_NS;
    } while (!*what && until_ns <= last_ns && is_starved(board));
}

void gpu_board_wait_last(struct gpu_board *board)
{
    pthread_mutex_lock(&board->mutex);
    wait_for(board, &board->has_looked);
    pthread_mutex_unlock(&board->mutex);
}

void gpu_board_get_troubles(struct gpu_board *board, struct gpu_troubles *ret)
{
    pthread_mutex_lock(&board->mutex);
    *ret = board->troubles;
    pthread_mutex_unlock(&board->mutex);
}

bool gpu_board_leave(struct gpu_board *board)
{
    bool has_ended;

    pthread_mutex_lock(&board->mutex);
    wait_for(board, &board->has_ended);
    has_ended = board->has_ended;
    board->is_abandoned = !has_ended;
    pthread_mutex_unlock(&board->mutex);
    return has_ended;
}
