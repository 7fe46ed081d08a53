/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "front/spoor/outputs.h"
#include "front/spoor/settings.h"
#include "output/format.h"
#include "output/output_file.h"
#include "output/save.h"
#include "output/text_layout.h"
#include "run/signals.h"
#include "runs/bench.h"

/* Each run is a child process that tracks its command as 'spoor run' does, so that loaded
 * drivers, blocked signals and other state of one run do not affect the next. The child writes
 * its report to a memfd. */

struct bench {
    struct settings *settings;
    struct bench_plan plan;
    struct run_set set; /* the runs that are counted */
    int runs_fd;        /* descriptor of the -o file; -1: none */
    sigset_t mask;      /* signal mask of the caller */
    int signal;         /* the signal that ended the bench; 0: none */
    bool shows_progress;
    uint64_t started_ns;
};

static void bench_done(struct bench *bench)
{
    bench_plan_done(&bench->plan);
    run_set_done(&bench->set);
    cleanup_close(&bench->runs_fd);
}

/* ---- child processes ---------------------------------------------------- */

static void wanted_signals(sigset_t *ret)
{
    forward_end_signals(ret);
    (void)sigaddset(ret, SIGCHLD);
}

/* Signals that end the bench are handled between runs, or passed on to the current run. */
static void block_signals(struct bench *bench)
{
    static const struct sigaction standard = { .sa_handler = SIG_DFL };
    sigset_t signals;

    wanted_signals(&signals);
    (void)sigprocmask(SIG_BLOCK, &signals, &bench->mask);
    /* SIGCHLD is not delivered while it is ignored. */
    (void)sigaction(SIGCHLD, &standard, NULL);
}

static void wait_for_signal(struct bench *bench, uint64_t duration_ns)
{
    struct timespec time = clock_timespec(duration_ns);
    sigset_t signals;
    int number;

    forward_end_signals(&signals);
    number = sigtimedwait(&signals, NULL, &time);
    if (number > 0)
        bench->signal = number;
}

/* Waits for a child. A signal from the terminal reaches the child, too; others are passed on. */
static int wait_for(struct bench *bench, pid_t pid)
{
    sigset_t signals;
    int status;

    wanted_signals(&signals);
    while (waitpid(pid, &status, WNOHANG) != pid) {
        siginfo_t info;

        if (sigwaitinfo(&signals, &info) < 0 || info.si_signo == SIGCHLD)
            continue;
        bench->signal = info.si_signo;
        if (forward_is_sent(&info))
            (void)kill(pid, info.si_signo);
    }
    wait_for_signal(bench, 0); /* consumes a signal that also ended the child */
    return status;
}

/* Redirects the descriptors of the child. Called in the child. */
static void redirect(const struct bench *bench, bool keeps_errors)
{
    AUTO_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    (void)dup2(null, STDIN_FILENO);
    if (bench->settings->shows_output)
        return;
    (void)dup2(null, STDOUT_FILENO);
    if (!keeps_errors)
        (void)dup2(null, STDERR_FILENO);
}

/* Called after the command was forked and before it calls exec; the command has its own stderr
 * already. */
static int restore_stderr(void *data, UNUSED pid_t pid, UNUSED struct spoor_error *err)
{
    (void)dup2(*(const int *)data, STDERR_FILENO);
    return 0;
}

static void write_record(const struct tracked *tracked, void *data)
{
    struct spoor_error err = { 0 };

    if (spoor_session_write(tracked->session, SPOOR_JSON, 0, *(const int *)data, &err) < 0)
        complain("%s", err.message);
}

/* Returns all tags of a run; the caller frees the array, but not the texts. */
static const char **join_tags(const struct text_list *given, const struct text_list *of_command)
{
    size_t count = given->count, all = count + of_command->count;
    const char **tags = calloc(all + 1, sizeof(*tags));

    for (size_t i = 0; tags && i < all; i++)
        tags[i] = i < count ? given->items[i] : of_command->items[i - count];
    return tags;
}

/* Tracks the command in the child process. Returns the exit code of the child. */
static int track_command(const struct bench *bench, const struct bench_command *command,
                         int report_fd)
{
    AUTO_CLOSE int errors = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    AUTO_FREE const char **tags = join_tags(&bench->settings->tags, &command->tags);
    struct track_options options = {
        .command = command->words.items,
        .session = session_options(bench->settings),
        .supervision.waits_for_all = bench->settings->wait_for == WAIT_FOR_ALL,
        .takes_phases = true,
        .warn = spoor_warn,
        .prepare = restore_stderr,
        .prepare_data = &errors,
    };

    if (!tags)
        return complain("out of memory");
    options.session.name = command->name;
    options.session.tags = tags;
    (void)sigprocmask(SIG_SETMASK, &bench->mask, NULL);
    redirect(bench, false);
    return program_run(&spoor_program, &options, write_record, &report_fd);
}

/* Tracks one run in a child process. Returns the exit code of the child. */
static int run_child(struct bench *bench, const struct bench_command *command, int report_fd)
{
    pid_t pid = fork();
    int status;

    if (pid < 0)
        return complain("cannot fork: %s", strerror(errno));
    if (pid == 0) /* not _exit(): see run_interruptible() */
        (void)syscall(SYS_exit_group, track_command(bench, command, report_fd));
    status = wait_for(bench, pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

/* Runs the command line of --prepare. Returns 0 or the exit code. */
static int prepare(struct bench *bench, const struct bench_command *command)
{
    pid_t pid;
    int status;

    if (!command->prepare)
        return 0;
    pid = fork();
    if (pid < 0)
        return complain("cannot fork: %s", strerror(errno));
    if (pid == 0) {
        (void)sigprocmask(SIG_SETMASK, &bench->mask, NULL);
        redirect(bench, true);
        (void)execlp("sh", "sh", "-c", command->prepare, (char *)NULL);
        _exit(127);
    }
    status = wait_for(bench, pid);
    if (status == 0 || bench->signal)
        return 0;
    return complain("--prepare failed (exit code %d): %s", supervise_exit_code(status),
                    command->prepare);
}

/* ---- runs --------------------------------------------------------------- */

/* Appends the latest run to the file of -o. */
static int keep_run(const struct bench *bench, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer line = { 0 };
    struct json_writer json = { .out = &line, .style = &json_compact };
    int r;

    if (bench->runs_fd < 0)
        return 0;
    json_add_report(&json, &bench->set.runs[bench->set.count - 1], CURVE_JSON_POINTS,
                    JSON_FOR_FILE);
    buffer_add_text(&line, "\n");
    r = buffer_error(&line);
    if (r == 0)
        r = buffer_write(&line, bench->runs_fd);
    return r < 0 ? error_sys(err, r, "--output '%s'", bench->settings->runs_path) : 0;
}

static int add_run(struct bench *bench, int report_fd, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer path = { 0 };
    int r;

    buffer_format(&path, "/proc/self/fd/%d", report_fd);
    if (buffer_error(&path) < 0)
        return error_set(err, ENOMEM, "out of memory");
    r = run_set_load(&bench->set, &path.text, 1, err);
    return r < 0 ? r : keep_run(bench, err);
}

/* Runs a command once. Returns 0 or the exit code. */
static int run_once(struct bench *bench, const struct bench_command *command, bool counts)
{
    AUTO_CLOSE int report_fd = memfd_create("report", MFD_CLOEXEC);
    struct spoor_error err = { 0 };
    int code;

    if (report_fd < 0)
        return complain("cannot keep a report: %s", strerror(errno));
    code = prepare(bench, command);
    if (code != 0 || bench->signal)
        return code;
    code = run_child(bench, command, report_fd);
    if (bench->signal)
        return 0;
    if (lseek(report_fd, 0, SEEK_END) == 0) /* the child reported why */
        return code == 126 || code == 127 ? code : EXIT_OWN_FAILURE;
    return counts && add_run(bench, report_fd, &err) < 0 ? complain("%s", err.message) : 0;
}

/* ---- all runs ----------------------------------------------------------- */

static void erase_progress(const struct bench *bench)
{
    static const char erase[] = "\r\033[K";

    if (bench->shows_progress)
        (void)!write(STDERR_FILENO, erase, strlen(erase));
}

/* Writes "run 3 of 20: gzip -kf data (about 12 s left)". */
static void show_progress(const struct bench *bench, size_t run, size_t total)
{
    struct format_style style = format_style_for(STDERR_FILENO, false);
    struct page page = { .has_unicode = style.has_unicode };
    CLEANUP(buffer_done) struct buffer text = { 0 }, line = { 0 };
    double elapsed = (double)(clock_now().monotonic_ns - bench->started_ns) / 1e9;

    if (!bench->shows_progress)
        return;
    buffer_format(&text, "run %zu of %zu", run + 1, total);
    if (run > 0)
        buffer_format(&text, " (about %s left)",
                      number_time_step(elapsed / (double)run * (double)(total - run)).text);
    buffer_add_text(&text, ": ");
    page_escape_command(&page, bench_turn(&bench->plan, run)->label, &text);
    buffer_add_text(&line, "\r\033[K");
    if (buffer_error(&text) == 0)
        page_cut(text.text, style.columns - 1, &line);
    (void)buffer_write(&line, STDERR_FILENO); /* a failure cannot be reported anywhere */
}

/* Runs all commands, taking turns. Returns 0 or the exit code. */
static int run_all(struct bench *bench)
{
    const struct settings *settings = bench->settings;
    size_t warmups = settings->warmup_count * bench->plan.count;
    size_t total = warmups + settings->run_count * bench->plan.count;
    int code = 0;

    bench->started_ns = clock_now().monotonic_ns;
    for (size_t run = 0; run < total && code == 0 && !bench->signal; run++) {
        if (run > 0)
            wait_for_signal(bench, settings->cooldown_ns);
        if (bench->signal)
            break;
        show_progress(bench, run, total);
        code = run_once(bench, bench_turn(&bench->plan, run), run >= warmups);
        erase_progress(bench);
    }
    return code;
}

/* ---- the results -------------------------------------------------------- */

static int write_page(const struct bench *bench, const struct bench_summary *summary,
                      struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer json = { 0 }, page = { 0 };
    const char *path = bench->settings->report_path;
    int r;

    if (!path)
        return 0;
    bench_write(summary, SPOOR_JSON, NULL, &json);
    html_write_bench(bench->set.runs, bench->set.count, &json, &page);
    r = buffer_error(&json) < 0 ? buffer_error(&json) : buffer_error(&page);
    if (r < 0)
        return error_sys(err, r, "--report '%s'", path);
    return save_text(&page, -1, path,
                     bench->settings->is_no_clobber ? SPOOR_NO_CLOBBER : SPOOR_REPLACE, err);
}

/* Writes the summary. Returns the exit code. */
static int write_results(const struct bench *bench)
{
    const struct settings *settings = bench->settings;
    struct format_style style =
        format_style_for(STDOUT_FILENO, outputs_has_color(settings->color, STDOUT_FILENO));
    CLEANUP(bench_summary_done) struct bench_summary summary = { 0 };
    CLEANUP(buffer_done) struct buffer text = { 0 };
    struct spoor_error err = { 0 };

    if (bench_summarize(&bench->set, settings->ignores_failure, &summary, &err) < 0)
        return complain("%s", err.message);
    bench_write(&summary, settings->has_format ? settings->format : SPOOR_TEXT, &style, &text);
    if (save_text(&text, STDOUT_FILENO, "standard output", SPOOR_REPLACE, &err) < 0 ||
        write_page(bench, &summary, &err) < 0)
        return complain("%s", err.message);
    return summary.failed_count > 0 && !settings->ignores_failure;
}

/* ---- the command -------------------------------------------------------- */

static int open_runs_file(struct bench *bench, struct spoor_error *err)
{
    const struct settings *settings = bench->settings;
    const char *path = settings->runs_path;
    enum output_mode mode = settings->is_append       ? OUTPUT_APPEND
                            : settings->is_no_clobber ? OUTPUT_NO_CLOBBER
                                                      : OUTPUT_TRUNCATE;
    int flags = O_CREAT | (mode == OUTPUT_TRUNCATE ? O_TRUNC : 0) |
                (mode == OUTPUT_NO_CLOBBER ? O_EXCL : 0);
    int r;

    if (!path)
        return 0;
    if (!path_has_suffix(path, ".json") && !path_has_suffix(path, ".jsonl"))
        return error_set(err, EINVAL,
                         "--output '%s': the runs are written as JSON lines: name a .jsonl "
                         "file (--format is the format of the summary on standard output)",
                         path);
    r = output_file_check(path, mode, err);
    if (r < 0)
        return error_prefix(err, r, "--output '%s'", path);
    bench->runs_fd = save_open_to_append(path, flags);
    if (bench->runs_fd < 0)
        return error_sys(err, bench->runs_fd, "--output '%s'", path);
    return save_end_torn_line(bench->runs_fd);
}

static int check_page(const struct settings *settings, struct spoor_error *err)
{
    int r = settings->report_path
                ? save_check(settings->report_path, SPOOR_HTML,
                             settings->is_no_clobber ? SPOOR_NO_CLOBBER : SPOOR_REPLACE, err)
                : 0;

    return r < 0 ? error_prefix(err, r, "--report '%s'", settings->report_path) : 0;
}

static int begin(struct bench *bench, char **words, struct spoor_error *err)
{
    const struct settings *settings = bench->settings;
    const struct bench_request request = {
        .words = words,
        .names = settings->names.items,
        .parameters = settings->parameters.items,
        .prepare = settings->prepare,
    };
    int r = bench_plan_make(&request, &bench->plan, err);

    if (r == 0 && bench->plan.count * settings->run_count > BENCH_RUNS_MAX)
        r = error_set(err, EINVAL, "more than %d runs: use a smaller -n", BENCH_RUNS_MAX);
    if (r == 0)
        r = gpus_check(settings, err);
    if (r == 0)
        r = check_page(settings, err);
    return r < 0 ? r : open_runs_file(bench, err);
}

int command_bench(struct settings *settings, char **words, int count)
{
    CLEANUP(bench_done) struct bench bench = { .settings = settings, .runs_fd = -1 };
    struct spoor_error err = { 0 };
    int code;

    if (count == 0)
        return complain("missing command: spoor bench [OPTIONS] -- COMMAND [ARGUMENT...]");
    if (begin(&bench, words, &err) < 0)
        return complain("%s", err.message);
    bench.shows_progress =
        !settings->is_quiet && !settings->shows_output && isatty(STDERR_FILENO);
    block_signals(&bench);
    code = run_all(&bench);
    (void)sigprocmask(SIG_SETMASK, &bench.mask, NULL);
    if (bench.set.count > 0) {
        int written = write_results(&bench);

        code = code != 0 ? code : written;
    }
    if (bench.signal) {
        reraise(bench.signal);
        code = 128 + bench.signal;
    }
    return code;
}
