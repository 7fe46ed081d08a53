/* SPDX-License-Identifier: Apache-2.0 */
#include "job/member.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/clock.h"
#include "job/agents.h"
#include "source/proc/children.h"
#include "source/proc/pid_files.h"

/* io and status are read at most this often while a process runs. */
#define SLOW_PERIOD_NS NS_PER_SECOND
#define HARDLY_NS (5 * NS_PER_MS)
/* Waiting times are read for at most this many threads of a process. */
enum { WAIT_THREADS_MAX = 256 };

static uint64_t ticks_to_ns(uint64_t ticks)
{
    return product_u64(ticks, clock_tick_ns());
}

static void check_borrowing(struct member *member, const struct root *root)
{
    if (member->reading.borrows_memory)
        member->reading.borrows_memory =
            same_memory(root, member->reading.memory_owner, member->id.pid);
}

static bool is_gone(int r)
{
    return r == -ESRCH || r == -ENOENT;
}

struct memory_search {
    const struct root *root;
    pid_t pid; /* the first thread, to be skipped */
    pid_t found;
};

static void find_memory(pid_t tid, void *data)
{
    struct memory_search *search = data;
    struct pid_statm statm;

    if (tid == search->pid || search->found != 0)
        return;
    if (pid_statm_read(NULL, search->root, tid, &statm) == 0 && statm.size_pages > 0)
        search->found = tid;
}

/* Selects another thread under whose ID memory is read, because the first thread has exited. */
static void follow_threads(struct member *member, const struct root *root)
{
    struct memory_search search = { root, member->id.pid, 0 };

    (void)proc_each_thread(root, member->id.pid, find_memory, &search);
    cached_file_close(&member->files.statm);
    member->reading.memory_tid = search.found;
}

static int read_memory(struct member *member, const struct root *root)
{
    struct pid_statm statm;
    int r;

    check_borrowing(member, root);
    r = pid_statm_read(&member->files.statm, root, member_memory_pid(member), &statm);
    if (member->reading.memory_tid != 0 && (r < 0 || statm.size_pages == 0)) {
        follow_threads(member, root);
        r = pid_statm_read(&member->files.statm, root, member_memory_pid(member), &statm);
    }
    if (r < 0)
        return r;
    if (statm.resident_pages > 0)
        member->reading.size_faults = member->reading.faults;
    member->reading.rss_bytes = product_u64(statm.resident_pages, root->page_bytes);
    member->reading.shared_bytes = product_u64(statm.shared_pages, root->page_bytes);
    if (!member->reading.borrows_memory)
        raise_to(&member->reading.rss_peak_bytes, member->reading.rss_bytes);
    return 0;
}

uint64_t member_space_bytes(struct member *member, const struct root *root)
{
    struct pid_statm statm;

    if (pid_statm_read(&member->files.statm, root, member_memory_pid(member), &statm) < 0)
        return 0;
    return product_u64(statm.size_pages, root->page_bytes);
}

static void note_cpu(struct member *member, uint64_t cpu_ns, uint64_t now_ns)
{
    member->notes.seen_cpu_ns = larger(member->notes.seen_cpu_ns, cpu_ns);
    member->notes.seen_ns = now_ns;
}

static void note_name(struct member *member, const struct pid_stat *stat)
{
    char name[PROCESS_NAME_SIZE] = { 0 };

    memcpy(name, stat->comm, sizeof(name) - 1); /* only names of kernel threads are longer */
    member->notes.command_is_due |=
        stat->has_exec != member->has_exec || memcmp(name, member->comm, sizeof(name)) != 0;
    memcpy(member->comm, name, sizeof(name));
    member->has_exec = stat->has_exec;
}

/* Reads the stat file: state, parent, threads, page faults, and the CPU time of children it
 * waited for, which the CPU clock excludes. */
static int read_stat(struct member *member, const struct look *look)
{
    const struct root *root = look->root;
    struct usage *usage = &member->account.usage;
    bool has_first_thread;
    struct pid_stat stat;
    int r = pid_stat_read(&member->files.stat, root, member->id.pid, &stat);

    if (r < 0)
        return r;
    if (look->is_main_only)
        stat.child_user_ticks = stat.child_system_ticks = stat.child_minor_faults =
            stat.child_major_faults = 0;
    if (member->id.start_ticks != UNKNOWN && stat.start_ticks != member->id.start_ticks)
        return -ESRCH; /* the PID was reused */
    member->id.start_ticks = stat.start_ticks;
    member->parent_pid = stat.parent_pid;
    note_name(member, &stat);
    has_first_thread = !pid_stat_is_zombie(&stat);
    /* The first thread stays in the count until the last one has exited. */
    member->reading.threads = stat.threads - (!has_first_thread && stat.threads > 1);
    member->reading.faults = stat.minor_faults + stat.major_faults;
    member->reading.child_faults = member->account.waited_faults =
        stat.child_minor_faults + stat.child_major_faults;
    if (member->reading.child_faults < FORK_FAULTS_MIN) /* vfork children: no own memory */
        member->reading.child_faults = 0;
    member->reading.is_zombie = !has_first_thread && stat.threads <= 1;
    if (!has_first_thread && !member->reading.is_zombie && member->reading.memory_tid == 0) {
        follow_threads(member, root);
        (void)read_memory(member, root); /* unchanged if the process has just exited */
    }
    member->reading.is_being_reaped = stat.state == 'X';
    member->reading.is_busy = stat.state == 'R' || stat.state == 'D';
    member->reading.cpu_ns = is_known(member->reading.clock_ns)
                                 ? member->reading.clock_ns
                                 : ticks_to_ns(stat.user_ticks + stat.system_ticks);
    note_cpu(member, member->reading.cpu_ns, look->now_ns);
    usage->counter[USAGE_CPU_NS] = sum_u64(
        member->reading.cpu_ns, ticks_to_ns(stat.child_user_ticks + stat.child_system_ticks));
    usage->counter[USAGE_USER_NS] = ticks_to_ns(stat.user_ticks + stat.child_user_ticks);
    usage->counter[USAGE_SYSTEM_NS] = ticks_to_ns(stat.system_ticks + stat.child_system_ticks);
    usage->counter[USAGE_MINOR_FAULTS] = stat.minor_faults + stat.child_minor_faults;
    usage->counter[USAGE_MAJOR_FAULTS] = stat.major_faults + stat.child_major_faults;
    return 0;
}

/* Whether a process is exiting. Once it has released its memory, its io file belongs to root,
 * even before it is a zombie: a denied open() then does not show a lack of permission. */
static bool is_ending(struct member *member, const struct root *root)
{
    struct pid_statm statm;

    return member->reading.is_zombie ||
           pid_statm_read(&member->files.statm, root, member_memory_pid(member), &statm) < 0 ||
           statm.size_pages == 0;
}

static void set_io(uint64_t *counter, const struct pid_io *io)
{
    counter[USAGE_READ_BYTES] = io->read_bytes;
    counter[USAGE_WRITTEN_BYTES] = io->written_bytes;
    counter[USAGE_READ_CHARS] = io->read_chars;
    counter[USAGE_WRITTEN_CHARS] = io->written_chars;
}

static void read_io(struct member *member, const struct root *root)
{
    struct pid_io io = { UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN };
    int r = pid_io_read(&member->files.io, root, member->id.pid, &io);
    bool is_denied = r == -EACCES || r == -EPERM;

    member->reading.io_is_stale = r < 0;
    if (r < 0 && (!is_denied || is_ending(member, root)))
        return;
    member->reading.io_is_denied = is_denied;
    set_io(member->account.usage.counter, &io);
}

struct thread_search {
    const struct root *root;
    pid_t pid;
    struct usage io;
};

static void add_thread_io(pid_t tid, void *data)
{
    struct thread_search *search = data;
    struct usage usage = { 0 };
    struct pid_io io;

    if (thread_io_read(search->root, search->pid, tid, &io) < 0)
        return;
    set_io(usage.counter, &io);
    usage_add(&search->io, &usage);
}

/* Reads the I/O of a process without its children. The kernel adds the I/O of exited threads
 * and of children that were waited for to the I/O of the process. If a child was waited for
 * since the last reading, as the page faults of children show, the increase is counted as the
 * children's. */
static void read_own_io(struct member *member, const struct root *root)
{
    struct thread_search search = { root, member->id.pid, { { 0 } } };
    uint64_t *counter = &member->account.usage.counter[USAGE_READ_BYTES], before;
    bool has_waited;

    before = member_waited_faults(member, root);
    read_io(member, root);
    if (member->reading.io_is_stale || member->reading.io_is_denied)
        return;
    (void)proc_each_thread(root, member->id.pid, add_thread_io, &search);
    has_waited = member_waited_faults(member, root) != member->account.io_faults;
    for (int i = 0; i < IO_COUNTERS; i++) {
        uint64_t inherited = sub_floor0(counter[i], search.io.counter[USAGE_READ_BYTES + i]);

        if (has_waited)
            member->account.children_io[i] +=
                sub_floor0(inherited, member->account.inherited_io[i]);
        member->account.inherited_io[i] = inherited;
        counter[i] = sub_floor0(counter[i], member->account.children_io[i]);
    }
    member->account.io_faults = before;
}

void member_read_status(struct member *member, const struct root *root)
{
    uint64_t now_ns = clock_now().monotonic_ns;
    struct pid_status status;

    if (member->reading.borrows_memory || member->reading.is_zombie ||
        pid_status_read(root, member_memory_pid(member), &status) < 0)
        return;
    if (is_known(status.rss_peak_bytes))
        member->reading.peak_read_ns = now_ns;
    raise_to(&member->reading.rss_peak_bytes, status.rss_peak_bytes);
    /* The lines are missing once a process has released its memory. */
    member->reading.swap_bytes = known_or_0(status.swap_bytes);
    member->reading.hugetlb_bytes = known_or_0(status.hugetlb_bytes);
}

/* Reads the CPU clock. Without a clock, the ticks of the stat file are used instead. */
static int read_clock(struct member *member, const struct look *look)
{
    bool is_timed = member->group == GROUP_MAIN && look->root->is_live;
    uint64_t ns, from_ns = is_timed ? clock_now().monotonic_ns : look->now_ns;
    int r = look->uses_clocks ? cpu_clock_read(look->root, member->id.pid, &ns) : -ENOTSUP;

    member->reading.clock_span =
        (struct clock_span){ from_ns, is_timed ? clock_now().monotonic_ns : look->now_ns };

    if (r == 0)
        member->reading.clock_ns = ns;
    else if (!is_gone(r))
        member->reading.clock_ns = UNKNOWN;
    return r;
}

struct wait_search {
    const struct root *root;
    uint64_t wait_ns, run_ns, threads;
};

static void add_thread_wait(pid_t tid, void *data)
{
    struct wait_search *search = data;
    struct schedstat times;

    if (search->threads++ >= WAIT_THREADS_MAX || schedstat_read(search->root, tid, &times) < 0)
        return;
    search->wait_ns += times.waited_ns;
    search->run_ns += times.run_ns;
}

/* Reads how long living threads waited for a CPU. Skips processes that have hardly run: reading
 * them is not worth the cost, and root gets the time from their exit records. */
static void read_wait(struct member *member, const struct root *root)
{
    struct wait_search search = { .root = root };
    uint64_t *wait_ns = &member->account.usage.counter[USAGE_CPU_WAIT_NS];

    if (member->reading.cpu_ns < HARDLY_NS)
        return;
    if (member->reading.threads > 1)
        (void)proc_each_thread(root, member->id.pid, add_thread_wait, &search);
    else
        add_thread_wait(member->id.pid, &search);
    if (search.run_ns > 0) /* otherwise the kernel does not count waiting times */
        raise_to(wait_ns, search.wait_ns);
}

static void read_slow(struct member *member, const struct look *look)
{
    read_wait(member, look->root);
    if (look->is_main_only)
        read_own_io(member, look->root);
    else
        read_io(member, look->root);
    member_read_status(member, look->root);
    member->reading.slow_clock_ns = member->reading.clock_ns;
    member->reading.slow_read_ns = look->now_ns;
}

static bool has_run(const struct member *member, uint64_t since_clock_ns)
{
    return !is_known(member->reading.clock_ns) || member->reading.clock_ns != since_clock_ns;
}

/* Whether io and status should be read. They dominate the cost of thousands of processes that
 * start and then sleep: if a process has barely run, they are read only when it exits. */
static bool has_slow_news(const struct member *member)
{
    bool has_hardly_run = !is_known(member->reading.slow_clock_ns) &&
                          is_known(member->reading.clock_ns) &&
                          member->reading.clock_ns < HARDLY_NS;

    return has_run(member, member->reading.slow_clock_ns) && !has_hardly_run;
}

bool member_has_run(const struct member *member)
{
    return has_run(member, member->reading.stat_clock_ns) || has_slow_news(member);
}

static bool is_slow_due(const struct member *member, const struct look *look, bool was_zombie)
{
    if (member->reading.is_zombie && !was_zombie)
        return true;
    if (look->is_thorough)
        return has_run(member, member->reading.slow_clock_ns);
    /* A process tracked alone may be reaped elsewhere: nothing else has its last I/O. */
    return has_slow_news(member) &&
           (look->is_main_only ||
            look->now_ns - member->reading.slow_read_ns >= SLOW_PERIOD_NS);
}

/* Reads only the CPU clock, not /proc: if the clock can be read, the process still exists. The
 * other values are read when the process is reaped. */
static void look_by_clock(struct member *member, const struct look *look)
{
    member->account.has_left = is_gone(read_clock(member, look));
    member->has_exec = true;
    if (!is_known(member->reading.clock_ns))
        return;
    member->reading.cpu_ns = member->account.usage.counter[USAGE_CPU_NS] =
        member->reading.clock_ns;
    note_cpu(member, member->reading.cpu_ns, look->now_ns);
}

void member_look(struct member *member, const struct look *look)
{
    bool was_zombie = member->reading.is_zombie;

    if (look->root->proc_fault) {
        look_by_clock(member, look);
        return;
    }
    if (read_clock(member, look) == 0 && look->passes_over && !member_has_run(member) &&
        member->reading.rss_bytes > 0 && !look->reads_status)
        return;
    /* Reading an open file fails once the process has exited. So a successful read shows that
     * the PID, and thus the clock, still belongs to the process. */
    if (is_gone(read_memory(member, look->root))) {
        member->account.has_left = true;
        return;
    }
    if (has_run(member, member->reading.stat_clock_ns) || member->reading.rss_bytes == 0) {
        if (is_gone(read_stat(member, look))) {
            member->account.has_left = true;
            return;
        }
        member->reading.stat_clock_ns = member->reading.clock_ns;
    }
    if (is_slow_due(member, look, was_zombie))
        read_slow(member, look);
    else if (look->reads_status)
        member_read_status(member, look->root);
    /* The kernel first adds the counts of a process to its parent and then removes the process.
     * Reading in between would count it twice. */
    member->account.has_left |= member->reading.is_being_reaped;
}

uint64_t member_read_faults(struct member *member, const struct root *root)
{
    struct pid_stat stat;

    if (pid_stat_read(&member->files.stat, root, member->id.pid, &stat) < 0)
        return member->reading.faults;
    member->reading.faults = stat.minor_faults + stat.major_faults;
    return member->reading.faults;
}

uint64_t member_waited_faults(struct member *member, const struct root *root)
{
    struct pid_stat stat;

    return pid_stat_read(&member->files.stat, root, member->id.pid, &stat) < 0
               ? member->account.waited_faults
               : stat.child_minor_faults + stat.child_major_faults;
}

struct usage member_usage(const struct member *member)
{
    struct usage usage = member->account.usage;

    for (int i = 0; i < USAGE_COUNT; i++)
        usage.counter[i] =
            sub_known(usage.counter[i], known_or_0(member->account.base.counter[i]));
    return usage;
}

void member_glance(struct member *member, const struct look *look)
{
    uint64_t ns;

    if (is_gone(read_memory(member, look->root)))
        member->reading.rss_bytes = 0; /* the exit is accounted for at the next look */
    else if (is_known(member->reading.clock_ns) &&
             cpu_clock_read(look->root, member->id.pid, &ns) == 0)
        note_cpu(member, ns, look->now_ns);
}

bool member_read_name(struct member *member, const struct root *root)
{
    struct pid_stat stat;

    if (pid_stat_read(&member->files.stat, root, member->id.pid, &stat) < 0)
        return false;
    note_name(member, &stat);
    return stat.start_ticks == member->id.start_ticks;
}

/* Reads each file needed now for the first time. The slow files wait for the next sample; a
 * process that exits before that leaves its counts to its parent. */
static int read_first(struct member *member, const struct look *look)
{
    int r;

    if (look->root->proc_fault) {
        look_by_clock(member, look);
        member->account.usage = (struct usage){ 0 }; /* the process has just been forked */
        return member->account.has_left ? -ESRCH : 0;
    }
    (void)read_clock(member, look); /* the next file shows whether the process has exited */
    r = read_stat(member, look);
    if (r < 0 || member->reading.is_being_reaped)
        return -ESRCH;
    member->reading.stat_clock_ns = member->reading.clock_ns;
    member->reading.memory_owner = member->parent_pid;
    member->reading.borrows_memory = member->reading.has_borrowed =
        !member->has_exec && same_memory(look->root, member->parent_pid, member->id.pid);
    if (is_gone(read_memory(member, look->root)))
        return -ESRCH;
    if (look->is_thorough || !look->was_born)
        read_slow(member, look);
    else if (geteuid() != 0)
        read_io(member, look->root); /* after the exit only root may open io */
    if (look->has_huge_pages)
        member_read_status(member, look->root);
    return 0;
}

int member_open(const struct look *look, pid_t pid, struct member *ret)
{
    struct member member = {
        .id.pid = pid,
        .id.start_ticks = UNKNOWN,
        .files = MEMBER_FILES_CLOSED,
        .reading.clock_ns = UNKNOWN,
        .reading.stat_clock_ns = UNKNOWN,
        .reading.slow_clock_ns = UNKNOWN,
        .reading.children_clock_ns = UNKNOWN,
        .notes.gpu_peak_bytes = UNKNOWN,
    };

    usage_clear(&member.account.usage);
    usage_clear(&member.account.base);
    if (read_first(&member, look) < 0) {
        member_close(&member);
        return -ESRCH;
    }
    member.survey.own_bytes = member.reading.rss_bytes;
    member.survey.faults = member.reading.before_faults = member.reading.faults;
    *ret = member;
    return 0;
}

void member_close(struct member *member)
{
    cached_file_close(&member->files.stat);
    cached_file_close(&member->files.statm);
    cached_file_close(&member->files.io);
    cached_file_close(&member->files.children);
    free(member->notes.command);
    member->notes.command = NULL;
}

/* ---- before and shortly after exec ---------------------------------------- */

/* Older processes have called exec. The kernel reports ages in hundredths of a second. */
#define YOUNG_TICKS 5
#define YOUNG_CPU_NS (50 * NS_PER_MS)

/* Whether a process may not have called exec yet. It may wait a long time for its first
 * millisecond of CPU time. */
static bool is_young(const struct member *member)
{
    return clock_boot_ticks() < member->id.start_ticks + YOUNG_TICKS ||
           (member->reading.is_busy && member->reading.cpu_ns < YOUNG_CPU_NS);
}

bool member_is_pre_exec(const struct root *root, const struct member *member)
{
    if (!root->is_live || member->reading.is_zombie || !is_young(member))
        return false;
    return member->has_exec ? agents_is_unclear(root, member) : member->reading.borrows_memory;
}
