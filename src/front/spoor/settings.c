/* SPDX-License-Identifier: Apache-2.0 */
#include "front/spoor/settings.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <strings.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/parse.h"
#include "front/spoor/outputs.h"
#include "history/store.h"
#include "output/format.h"
#include "output/stream.h"
#include "recommend/needs.h"
#include "record/run_figure.h"
#include "runs/bench.h"
#include "runs/compare.h"
#include "services/metrics_server.h"
#include "text/number.h"

/* ---- settings ----------------------------------------------------------- */

enum { SERVERS_SHOWN = 5, BENCH_RUNS = 10 };

void settings_init(struct settings *settings)
{
    const struct spoor_options defaults = SPOOR_OPTIONS_INIT;

    *settings = (struct settings){
        .interval_ns = defaults.interval_ns,
        .detail = defaults.detail,
        .server_count = SERVERS_SHOWN,
        .margin = NEEDS_MARGIN,
        .quantile = 1,
        .process_count = SIZE_MAX,
        .run_count = BENCH_RUNS,
    };
}

void settings_done(struct settings *settings)
{
    option_free(&settings_table, settings);
    settings_init(settings);
}

/* ---- checks and values of single options ----------------------------------- */

static int check_page(const char *value, struct spoor_error *err)
{
    enum spoor_format format;

    if (!spoor_format_for_path(value, &format) || format != SPOOR_HTML)
        return error_set(err, EINVAL, "'%s' must end in .html", value);
    return 0;
}

static int check_version(const char *value, struct spoor_error *err)
{
    enum spoor_format format;

    if (!format_for_version(value, &format))
        return error_set(err, EINVAL,
                         "invalid value '%s': expected snakemake-7, snakemake-8 or snakemake-9",
                         value);
    return 0;
}

static int check_dialect(const char *value, struct spoor_error *err)
{
    struct stream stream;

    return check_version(value, err) == 0 ? 0
                                          : stream_find("-", value, NULL, true, &stream, err);
}

static int check_samples_format(const char *value, struct spoor_error *err)
{
    struct stream stream;

    return stream_find("-", NULL, value, true, &stream, err);
}

static int check_limit(const char *value, struct spoor_error *err)
{
    struct run_limit limit;

    return run_limit_parse(value, &limit, err);
}

static int apply_tolerance(void *target, UNUSED const struct option *option, const char *value,
                           struct spoor_error *err)
{
    struct settings *settings = target;
    double percent;

    if (number_read(&value, &percent) < 0 || strcmp(value, *value == '%' ? "%" : "") != 0 ||
        !(percent >= 0))
        return error_set(err, EINVAL, "invalid percentage: expected a number such as 5");
    settings->tolerance = percent / 100;
    return 0;
}

static int check_request(const char *value, struct spoor_error *err)
{
    if (!request_find(value))
        return error_set(err, EINVAL,
                         "invalid value '%s': expected sbatch, kubernetes, metaflow, nextflow, "
                         "snakemake, docker, pbs, lsf, sge or htcondor",
                         value);
    return 0;
}

static int check_architecture(const char *value, struct spoor_error *err)
{
    if (strcmp(value, "x86_64") != 0 && strcmp(value, "arm64") != 0)
        return error_set(err, EINVAL, "invalid value '%s': expected x86_64 or arm64", value);
    return 0;
}

/* Accepts yes, no, or a directory, which must contain a slash. */
static int apply_history(void *target, const struct option *option, const char *value,
                         struct spoor_error *err)
{
    const struct option flag = { 0 };
    bool is_on;

    if (!value)
        value = "yes";
    if (!history_is_folder(value) && option_flag(&is_on, &flag, value, err) < 0)
        return error_set(
            err, EINVAL,
            "invalid value '%s': expected yes, no or a directory with a '/' in its "
            "name",
            value);
    return option_text(target, option, value, err);
}

static int apply_max_size(void *target, UNUSED const struct option *option, const char *value,
                          struct spoor_error *err)
{
    static const struct run_figure size = { .name = "the size", .unit = RUN_BYTES };
    struct settings *settings = target;

    return run_figure_parse(&size, value, &settings->max_bytes, err);
}

/* Accepts one of the words, or a directory, which must contain a slash. */
static int check_cgroup(const char *value, struct spoor_error *err)
{
    if (strcmp(value, "auto") != 0 && strcmp(value, "off") != 0 &&
        strcmp(value, "require") != 0 && !strchr(value, '/'))
        return error_set(
            err, EINVAL,
            "invalid value '%s': expected auto, off, require or a directory with a "
            "'/' in its name",
            value);
    return 0;
}

static int apply_format(void *target, const struct option *option, const char *value,
                        struct spoor_error *err)
{
    struct settings *settings = target;
    int choice = option_find_choice(option, value, err);

    if (choice < 0)
        return choice;
    settings->has_format = spoor_format_for_name(value, &settings->format);
    return 0;
}

/* Accepts a percentage of the job's CPU time, or "none". */
static int apply_budget(void *target, UNUSED const struct option *option, const char *value,
                        struct spoor_error *err)
{
    struct settings *settings = target;
    char *end;
    double percent;

    if (strcmp(value, "none") == 0) {
        settings->budget_millionths = UINT64_MAX;
        return 0;
    }
    percent = strtod(value, &end);
    if (end == value || strcmp(end, *end == '%' ? "%" : "") != 0 || !(percent > 0) ||
        percent > 100)
        return error_set(err, EINVAL, "invalid budget '%s': use a percentage above 0, or none",
                         value);
    settings->budget_millionths = percent < 1e-4 ? 1 : (uint64_t)(percent * 1e4);
    return 0;
}

/* Applies --live: a flag that also accepts the value "line". */
static int apply_live(void *target, const struct option *option, const char *value,
                      struct spoor_error *err)
{
    struct settings *settings = target;

    settings->is_live_line = value && strcmp(value, option->value) == 0;
    if (option_flag(target, option, settings->is_live_line ? NULL : value, err) < 0)
        return error_set(err, EINVAL, "invalid value '%s': expected yes, no or line", value);
    return 0;
}

static int apply_pid(void *target, UNUSED const struct option *option, const char *value,
                     struct spoor_error *err)
{
    struct settings *settings = target;

    return option_parse_pid(value, &settings->pid, err);
}

/* ---- the table --------------------------------------------------------------- */

#define RUN SCOPE_RUN
#define ATTACH SCOPE_ATTACH
#define BOTH (SCOPE_RUN | SCOPE_ATTACH)
#define TRACK (SCOPE_RUN | SCOPE_ATTACH | SCOPE_AGENT)
#define REPORT SCOPE_REPORT
#define SYSTEM SCOPE_SYSTEM
#define BENCH SCOPE_BENCH
#define EVERY                                                                              \
    (TRACK | SCOPE_DOCTOR | SCOPE_INFO | SCOPE_PHASE | REPORT | SYSTEM | SCOPE_RECOMMEND | \
     SCOPE_WATCH | SCOPE_COMPARE | SCOPE_CHECK | BENCH | HISTORY | SCOPE_MERGE)
#define HISTORY SCOPE_HISTORY
#define OTHERS (SCOPE_INFO | SCOPE_DOCTOR | SCOPE_RECOMMEND | SCOPE_WATCH | SCOPE_CHECK)
#define LINE_ONLY (OPTION_NO_VARIABLE | OPTION_NO_FILE)
/* The groups of options in help and manual pages. */
#define OUTPUT "Output"
#define SAMPLING "Sampling"
#define EXTENT "Scope"
#define SOURCES "Sources"
#define GENERAL "General"
#define RUNS "Runs"
#define METRICS "Metrics"
#define TEXT(member) OPTION_TEXT(struct settings, member)
#define FLAG(member) OPTION_FLAG(struct settings, member)
#define LIST(member) OPTION_LIST(struct settings, member)
#define CHOICE(member) OPTION_CHOICE(struct settings, member)
#define RANGE(least_, most_, expected_) \
    .least = (least_), .most = (most_), .expected = (expected_)
#define COUNT(member, ...) OPTION_COUNT(struct settings, member), RANGE(__VA_ARGS__)
#define NUMBER(member, ...) OPTION_NUMBER(struct settings, member), RANGE(__VA_ARGS__)
#define TIME(member, ...) OPTION_TIME(struct settings, member), RANGE(__VA_ARGS__)
#define INTERVAL TIME(interval_ns, 1e-3, 3600, "1ms to 1h")
#define YEAR (366 * 86400.0)
#define REPORT_FORMATS \
    "text|json|csv|html|markdown|openmetrics|snakemake|nextflow|seff|jobstats|trace"
#define FORMAT_NAMES                                                                         \
    "text, json, csv, html, markdown, openmetrics, or a format of another tool: snakemake, " \
    "nextflow, seff, jobstats or trace"
_Static_assert(SPOOR_INTERVAL_MIN_NS == NS_PER_MS, "as in INTERVAL");
_Static_assert(SPOOR_INTERVAL_MAX_NS == 3600 * NS_PER_SECOND, "as in INTERVAL");
_Static_assert(BENCH_RUNS_MAX == 4096, "as in the messages");
#define LIVE .apply = apply_live, .offset = offsetof(struct settings, is_live)

/* Most used first; help lists the groups in the order of their first rows. */
/* clang-format off */
static const struct option rows[] = {
{ 'n',  "runs",       "N",                 "run each command N times (default: 10); the commands take turns", BENCH | LINE_ONLY, COUNT(run_count, 1, BENCH_RUNS_MAX, "number: 1 to 4096") },
{ '\0', "warmup",     "N",                 "first run each command N times without counting these runs (default: 0)", BENCH | LINE_ONLY, COUNT(warmup_count, 0, BENCH_RUNS_MAX, "number: 0 to 4096") },
{ '\0', "prepare",    "COMMAND",           "run COMMAND with sh before each run, without measuring it; stop if it fails", BENCH | LINE_ONLY, TEXT(prepare) },
{ '\0', "cooldown",   "TIME",              "wait for TIME between runs, such as 500ms or 2s", BENCH | LINE_ONLY, TIME(cooldown_ns, 0, YEAR, "0 to 366d") },
{ 'L',  "parameter",  "NAME=VALUE,VALUE...", "replace {NAME} in the command with each VALUE; with several -L, run every combination", BENCH | LINE_ONLY | OPTION_REPEATABLE, LIST(parameters), .check = bench_check_parameter },
{ '\0', "show-output", NULL,               "show the output of the commands, which is discarded otherwise", BENCH | LINE_ONLY, FLAG(shows_output) },
{ '\0', "ignore-failure", NULL,            "treat failed runs like successful ones", BENCH | LINE_ONLY, FLAG(ignores_failure) },
{ '\0', "for",        "sbatch|kubernetes|metaflow|nextflow|snakemake|docker|pbs|lsf|sge|htcondor", "write a request in the syntax of this tool; slurm and k8s are aliases for the first two", SCOPE_RECOMMEND, TEXT(request), .check = check_request },
{ '\0', "margin",     "X",                 "multiply memory and time by X, from 1 to 10 (default: 1.2)", SCOPE_RECOMMEND, NUMBER(margin, 1, 10, "number: 1 to 10") },
{ '\0', "quantile",   "Q",                 "with several runs: recommend enough for this share of them, such as 0.95 (default: 1, all), and count the runs that would have failed", SCOPE_RECOMMEND, NUMBER(quantile, DBL_MIN, 1, "number: more than 0, at most 1") },
{ '\0', "server",     NULL,                "also list the cheapest cloud servers that fit, with the cost of a run; queries the Spare Cores keeper (https://keeper.sparecores.net), unless --catalog is given", SCOPE_RECOMMEND, FLAG(wants_servers) },
{ '\0', "catalog",    "FILE",              "with --server: search FILE (CSV or JSON) instead of querying the keeper", SCOPE_RECOMMEND, TEXT(catalog_path), .complete = COMPLETE_FILES },
{ '\0', "count",      "N",                 "with --server: list at most N servers (default: 5)", SCOPE_RECOMMEND, COUNT(server_count, 1, 1000, "number: 1 to 1000") },
{ '\0', "vendor",     "ID",                "with --server: only servers of this vendor, such as aws, gcp, azure or hcloud; may be repeated", SCOPE_RECOMMEND | OPTION_REPEATABLE, LIST(vendors) },
{ '\0', "arch",       "x86_64|arm64",      "with --server: only servers of this architecture", SCOPE_RECOMMEND, TEXT(architecture), .check = check_architecture },
{ 'o',  "output",     "FILE",              "write the report to FILE (- for stdout; .json, .csv, .html, .md, .prom or .txt), in addition to the summary on stderr; may be repeated; {name}, {host}, {pid}, {date}, {time}, {id}, {rank}, {node}, {job}, {step} and {tag.KEY} in FILE are replaced with the values of the run, also in --samples and --report", TRACK | OPTION_REPEATABLE, OUTPUT, LIST(outputs), .complete = COMPLETE_FILES },
{ 'o',  "output",     "FILE",              "write to FILE (- for stdout; .html, .json, .csv, .md, .prom or .txt); may be repeated (default: a page named after the first file, with the suffix .html; stdout if --format, --text or --brief is given)", REPORT | LINE_ONLY | OPTION_REPEATABLE, OUTPUT, LIST(outputs), .complete = COMPLETE_FILES },
{ 'o',  "output",     "FILE",              "write the report to FILE (- for stdout; .html, .json, .csv, .md, .prom or .txt); may be repeated (default: merged.json and merged.html in DIRECTORY, and text on stdout)", SCOPE_MERGE | LINE_ONLY | OPTION_REPEATABLE, OUTPUT, LIST(outputs), .complete = COMPLETE_FILES },
{ 'o',  "output",     "FILE",              "write the report to FILE instead of stdout; may be repeated", SYSTEM | LINE_ONLY | OPTION_REPEATABLE, OUTPUT, LIST(outputs), .complete = COMPLETE_FILES },
{ '\0', "figures",    "LIST",              "the figures to use, separated by commas: time, cpu, memory, read, written, gpu_memory, energy, or paths of the JSON report (default: those that are known)", SCOPE_COMPARE | SCOPE_CHECK, TEXT(figures) },
{ '\0', "by",         "PROPERTY",          "compare runs that differ in this property: name (or the command of a run without one), command, host, machine or tag.KEY", SCOPE_COMPARE, TEXT(by) },
{ '\0', "max",        "FIGURE=VALUE",      "a limit: the figure must not be more than VALUE, such as memory=2GiB, time=10m, cpu=3h or gpu_memory=20G; may be repeated", SCOPE_CHECK | OPTION_REPEATABLE, LIST(limits), .check = check_limit },
{ '\0', "baseline",   "RUNS",              "earlier runs to check against: a file, a directory, or runs of the history (@name=train)", SCOPE_CHECK, TEXT(baseline), .complete = COMPLETE_FILES },
{ '\0', "tolerance",  "PERCENT",           "with --baseline: how much a figure may exceed the median by (default: 0; the usual range of earlier runs is always allowed)", SCOPE_CHECK, .apply = apply_tolerance },
{ 'o',  "output",     "FILE",              "write to FILE instead of stdout; may be repeated", SCOPE_COMPARE | OTHERS | LINE_ONLY | OPTION_REPEATABLE, OUTPUT, LIST(outputs), .complete = COMPLETE_FILES },
{ 'o',  "output",     "FILE",              "keep every run in FILE (.jsonl): reports as JSON lines, for 'spoor report', 'recommend' and others", BENCH | LINE_ONLY, OUTPUT, TEXT(runs_path), .complete = COMPLETE_FILES },
{ 'f',  "format",     "text|markdown|csv|json", "format of the summary on stdout (default: text)", BENCH | LINE_ONLY, OUTPUT, .apply = apply_format },
{ '\0', "report",     "FILE",              "also write a page with all runs and box plots to FILE (.html)", BENCH | LINE_ONLY, OUTPUT, TEXT(report_path), .check = check_page, .complete = COMPLETE_FILES },
{ 'q',  "quiet",      NULL,                "do not show progress", BENCH | LINE_ONLY, OUTPUT, FLAG(is_quiet) },
{ '\0', "name",       "NAME",              "a label for the command; repeat the option for each command after --vs; parameters of -L are replaced as in the command", BENCH | LINE_ONLY | OPTION_REPEATABLE, OUTPUT, LIST(names) },
{ 'f',  "format",     "FORMAT",            "format of the report: " FORMAT_NAMES " (default: from the suffix of the -o file, otherwise text); with several -o files, only for those without a known suffix; without -o, the report replaces the summary on stderr, even with -q", TRACK, OUTPUT, .apply = apply_format, .complete = REPORT_FORMATS },
{ 'f',  "format",     "FORMAT",            "output format: " FORMAT_NAMES " (default: from the suffix of the -o file, otherwise text; without -o, html)", REPORT | LINE_ONLY, OUTPUT, .apply = apply_format, .complete = REPORT_FORMATS },
{ 'f',  "format",     "FORMAT",            "output format: " FORMAT_NAMES " (default: from the suffix of the -o file, otherwise text)", SYSTEM | SCOPE_MERGE | LINE_ONLY, OUTPUT, .apply = apply_format, .complete = REPORT_FORMATS },
{ 'f',  "format",     "text|markdown|json|csv|html", "output format; html: a page with the runs side by side (default: from the suffix of the -o file, otherwise text)", SCOPE_COMPARE | LINE_ONLY, OUTPUT, .apply = apply_format },
{ 'f',  "format",     "text|json",         "output format (default: from the suffix of the -o file, otherwise text)", OTHERS | LINE_ONLY, OUTPUT, .apply = apply_format },
{ 'o',  "output",     "FILE",              "write to FILE instead of stdout; may be repeated", HISTORY | LINE_ONLY | OPTION_REPEATABLE, OUTPUT, LIST(outputs), .complete = COMPLETE_FILES },
{ 'f',  "format",     "text|json|csv|markdown", "output format (default: from the suffix of the -o file, otherwise text)", HISTORY | LINE_ONLY, OUTPUT, .apply = apply_format },
{ '\0', "columns",    "LIST",              "the columns of a list: id, started, name, command, host, user, exit, job, rank, time, cpu, memory, read, written, gpu_memory, energy, tag.KEY, or a path of the JSON report", HISTORY | LINE_ONLY, OUTPUT, TEXT(columns) },
{ '\0', "limit",      "N",                 "list the N newest runs (default: 30 on a terminal, otherwise all)", HISTORY | LINE_ONLY, RUNS, COUNT(run_limit, 1, INT32_MAX, "number: 1 or more") },
{ '\0', "older",      "TIME",              "with prune: remove runs that started more than TIME ago, such as 90d", HISTORY | LINE_ONLY, RUNS, TIME(older_ns, 1e-9, HUGE_VAL, "a time") },
{ '\0', "keep",       "N",                 "with prune: keep the N newest runs of each name", HISTORY | LINE_ONLY, RUNS, COUNT(kept_runs, 1, INT32_MAX, "number: 1 or more") },
{ '\0', "max-size",   "SIZE",              "with prune: remove the oldest runs until the history is smaller than SIZE, such as 500M", HISTORY | LINE_ONLY, RUNS, .apply = apply_max_size },
{ '\0', "create",     NULL,                "with push: create the tables if the database has none", HISTORY | LINE_ONLY, RUNS, FLAG(creates_tables) },
{ '\0', "name",       "NAME",              "use the runs of the history with this name", REPORT | SCOPE_RECOMMEND | HISTORY | LINE_ONLY, RUNS, TEXT(name) },
{ '\0', "last",       NULL,                "use the last run of the history; with --name, the last run of that name", REPORT | SCOPE_RECOMMEND | HISTORY | LINE_ONLY, RUNS, FLAG(wants_last) },
{ '\0', "history",    "yes|no|DIRECTORY",  "read the history in DIRECTORY, a path with a slash (default: $SPOOR_HISTORY if it is a directory, otherwise $XDG_STATE_HOME/spoor or ~/.local/state/spoor); yes and no, as for 'spoor run', select the default directory", REPORT | SCOPE_RECOMMEND | SCOPE_COMPARE | SCOPE_CHECK | HISTORY | OPTION_COMMON | OPTION_OPTIONAL, RUNS, .apply = apply_history, .offset = offsetof(struct settings, history), .complete = COMPLETE_FILES },
{ '\0', "save",       NULL,                "keep this run in the history, which 'spoor history' lists", BOTH, OUTPUT, FLAG(saves_run) },
{ '\0', "history",    "yes|no|DIRECTORY",  "keep the run in the history, as --save does (yes), or in DIRECTORY, a path with a slash; meant for the config file or $SPOOR_HISTORY (default: no)", BOTH | OPTION_COMMON | OPTION_OPTIONAL, OUTPUT, .apply = apply_history, .offset = offsetof(struct settings, history), .complete = "yes no" },
{ '\0', "group",      "DIRECTORY|off",     "use DIRECTORY, which all ranks share: add a start record and the report of this rank to the file of its node; the last rank to finish writes merged.json and merged.html; off: no group (default: spoor-JOB.STEP in the directory the job was submitted from, if a launcher started several ranks and there is no -o)", RUN, OUTPUT, TEXT(group), .complete = COMPLETE_FILES },
{ '\0', "report",     "FILE",              "also write a page with charts to FILE (.html), to open in a browser", BOTH | SYSTEM, OUTPUT, TEXT(report_path), .check = check_page, .complete = COMPLETE_FILES },
{ '\0', "print",      "TEMPLATE",          "print figures for scripts instead of the text report: {NAME} is a path in the JSON report, such as {elapsed_seconds}, {exit_code}, {cpu.total_seconds}, {cpu.max_cores}, {memory.combined.total_rss_bytes} or {gpu.memory.combined_bytes}; spoor(1) lists more; an unknown figure is printed as null; the output goes to the -o file if that is a text file, otherwise to stderr", BOTH, OUTPUT, TEXT(print), .check = print_check },
{ '\0', "print",      "TEMPLATE",          "print figures for scripts, one line for each run: {NAME} is a path in the JSON report, such as {elapsed_seconds}, {exit_code}, {cpu.total_seconds}, {cpu.max_cores}, {memory.combined.total_rss_bytes} or {gpu.memory.combined_bytes}; spoor(1) lists more", REPORT, OUTPUT, TEXT(print), .check = print_check },
{ 'q',  "quiet",      NULL,                "do not print the summary", BOTH, OUTPUT, FLAG(is_quiet) },
{ 'q',  "quiet",      NULL,                "show no live view and, with --samples, no summary", SYSTEM, OUTPUT, FLAG(is_quiet) },
{ 'q',  "quiet",      NULL,                "do not print the name of the page", REPORT | LINE_ONLY, OUTPUT, FLAG(is_quiet) },
{ 'q',  "quiet",      NULL,                "do not print warnings", SCOPE_PHASE | LINE_ONLY, OUTPUT, FLAG(is_quiet) },
{ '\0', "text",       NULL,                "draw the curves on the terminal", REPORT, OUTPUT, FLAG(wants_charts) },
{ '\0', "brief",      NULL,                "show usage against limits in six lines: job, state, time, cores, memory and GPUs", REPORT | LINE_ONLY, OUTPUT, FLAG(is_brief) },
{ '\0', "open",       NULL,                "open the page in a browser (xdg-open)", REPORT, OUTPUT, FLAG(opens_page) },
{ '\0', "live",       "line",              "show the current figures on the terminal while the command runs; needs stderr on a terminal, and stdout redirected, so that the output of the command does not mix with the view; line: only the last line of the terminal, below the output of the command, which need not be redirected", RUN | OPTION_OPTIONAL, OUTPUT, LIVE },
{ '\0', "live",       "line",              "show the current figures while tracking, if stderr is a terminal (default: yes; no with -q); line: in the last line of the terminal", ATTACH | OPTION_OPTIONAL, OUTPUT, LIVE },
{ '\0', "live",       "line",              "on a terminal, show the current figures until q is pressed, and then the report (default: yes, unless -o, -f or -q is given); line: in the last line of the terminal", SYSTEM | OPTION_OPTIONAL, OUTPUT, LIVE },
{ '\0', "processes",  "N",                 "list the N processes with the most CPU time in a text report; 0 to 200 (default: 3, or none if the job had only one process)", BOTH | REPORT, OUTPUT, COUNT(process_count, 0, 200, "number: 0 to 200") },
{ '\0', "name",       "NAME",              "a label for this run", TRACK | SYSTEM, OUTPUT, TEXT(name) },
{ '\0', "tag",        "KEY=VALUE",         "add a tag to the report; may be repeated", TRACK | SYSTEM | BENCH | OPTION_REPEATABLE, OUTPUT, LIST(tags), .check = option_check_tag },
{ '\0', "append",     NULL,                "append to existing files instead of replacing them; pages are always replaced", TRACK | REPORT | SYSTEM | BENCH, OUTPUT, FLAG(is_append) },
{ '\0', "no-clobber", NULL,                "refuse to start if an output file exists", TRACK | REPORT | SYSTEM | BENCH, OUTPUT, FLAG(is_no_clobber) },
{ '\0', "on-exit",    "COMMAND",           "after the report is written, run COMMAND with sh -c; SPOOR_RUN_REPORT is the path of the report, and SPOOR_RUN_ID, _NAME, _COMMAND, _EXIT_CODE, _SIGNAL, _TIME (seconds), _CPU, _MEMORY (bytes) and others describe the run; the output of COMMAND goes to stderr, and its exit code is ignored", BOTH, OUTPUT, TEXT(on_exit) },
{ '\0', "color",      "auto|always|never", "use color: on a terminal, unless NO_COLOR is set (auto, the default), always, or never", BOTH | REPORT | SYSTEM | BENCH | SCOPE_COMPARE | SCOPE_MERGE | OTHERS | HISTORY | OPTION_COMMON, OUTPUT, CHOICE(color) },
{ 'i',  "interval",   "TIME",              "time between samples, such as 0.5, 500ms or 2m; 1ms to 1h (default: 1s, with shorter intervals during the first 16 s)", TRACK | BENCH, SAMPLING, INTERVAL },
{ 'i',  "interval",   "TIME",              "time to measure for, such as 0.5, 500ms or 2m; with --duration or --samples, time between samples; 1ms to 1h (default: 1s)", SYSTEM, SAMPLING, INTERVAL },
{ '\0', "samples",    "FILE",              "write one row per sample to FILE (- for stdout; .csv or .jsonl) as soon as it is taken; may be repeated", TRACK | SYSTEM | OPTION_REPEATABLE, SAMPLING, LIST(samples), .complete = COMPLETE_FILES },
{ '\0', "stream",     "FILE",              "old name of --samples", RUN | OPTION_REPEATABLE | OPTION_HIDDEN, SAMPLING, LIST(samples), .complete = COMPLETE_FILES },
{ '\0', "stream",     "FILE",              "old name of --samples; stdout if no FILE is given", ATTACH | SYSTEM | OPTION_REPEATABLE | OPTION_OPTIONAL | OPTION_HIDDEN, SAMPLING, LIST(samples), .complete = COMPLETE_FILES },
{ '\0', "samples-format", "csv|jsonl",     "format of --samples (default: from the suffix of FILE, csv for stdout)", BOTH | SYSTEM, SAMPLING, TEXT(samples_format), .check = check_samples_format },
{ '\0', "stream-format", "csv|jsonl",      "old name of --samples-format", BOTH | SYSTEM | OPTION_HIDDEN, SAMPLING, TEXT(samples_format), .check = check_samples_format },
{ '\0', "dialect",    "NAME",              "columns of the --samples files: those of spoor (the default), resource-tracker, resource-tracker-0.3, resource-tracker-0.1 or resource-tracker-rs; NAME:TABLE selects a table, such as resource-tracker:combined (process, system or combined); for -f snakemake: snakemake-7 (the default), snakemake-8 or snakemake-9", BOTH | SYSTEM, SAMPLING, TEXT(dialect), .check = check_dialect, .complete = "spoor resource-tracker resource-tracker-0.3 resource-tracker-0.1 resource-tracker-rs snakemake-7 snakemake-8 snakemake-9" },
{ '\0', "dialect",    "NAME",              "version of -f snakemake: snakemake-7 (the default), snakemake-8 or snakemake-9", REPORT | LINE_ONLY, OUTPUT, TEXT(dialect), .check = check_version, .complete = "snakemake-7 snakemake-8 snakemake-9" },
{ '\0', "budget",     "PERCENT|none",      "limit the tracker to PERCENT of the job's CPU time (default: 0.3); beyond it, extra readings of memory and GPUs between samples are skipped, but samples are still taken; none: no limit", TRACK | BENCH, SAMPLING, .apply = apply_budget, .complete = "none" },
{ '\0', "counters",   NULL,                "count cycles, instructions, cache misses and branch misses of the job in user space with hardware counters; slows down its context switches", RUN, SAMPLING, FLAG(has_counters) },
{ '\0', "carbon-intensity", "G_PER_KWH",    "grams of CO2 equivalent per kilowatt-hour of electricity; adds energy.co2e_grams to the report", TRACK, SAMPLING, NUMBER(carbon_intensity, 1e-3, 1e5, "value: grams of CO2e per kWh, such as 380") },
{ '\0', "pue",        "FACTOR",            "with --carbon-intensity: power usage effectiveness of the data center: its total energy divided by the energy of its machines (default: 1)", TRACK, SAMPLING, NUMBER(pue, 1, 100, "value: a factor of at least 1, such as 1.4") },
{ '\0', "listen",     "[ADDRESS:]PORT",    "serve the latest sample to Prometheus at http://ADDRESS:PORT/metrics while the run lasts (default address: 127.0.0.1; port 0: a free one, which is printed)", BOTH | SYSTEM, METRICS, TEXT(listen), .check = metrics_server_check },
{ '\0', "metrics",    "FILE",              "replace FILE (.prom) at each interval with the latest sample in the text format of Prometheus, for the textfile collector of node_exporter", BOTH | SYSTEM, METRICS, TEXT(metrics_path), .complete = COMPLETE_FILES },
{ '\0', "push",       "URL",               "push samples to a Pushgateway (http://HOST:9091, or a URL with /metrics/job/...) or to VictoriaMetrics (http://HOST:8428/api/v1/import/prometheus); if the server is down, samples are kept on disk and sent later, by this run or the next", BOTH | SYSTEM, METRICS, TEXT(push), .check = export_check_push },
{ '\0', "otlp",       "URL|env",           "push samples to an OpenTelemetry collector at URL, such as http://HOST:4318, using OTLP over HTTP in JSON; env: take the URL from OTEL_EXPORTER_OTLP_METRICS_ENDPOINT or OTEL_EXPORTER_OTLP_ENDPOINT", BOTH | SYSTEM, METRICS, TEXT(otlp), .complete = "env", .check = export_check_otlp },
{ '\0', "export-interval", "TIME",         "time between two pushes of --push and --otlp (default: 10s, or OTEL_METRIC_EXPORT_INTERVAL)", BOTH | SYSTEM, METRICS, TIME(export_interval_ns, 0.1, YEAR, "100ms to 366d") },
{ '\0', "label",      "NAME=VALUE|TAG",    "add a label to all exported metrics: NAME=VALUE, or the key of a --tag; may be repeated", BOTH | SYSTEM | OPTION_REPEATABLE, METRICS, LIST(labels), .check = export_check_label },
{ 'p',  "pid",        "PID",               "the process to track", SCOPE_AGENT | OPTION_NO_FILE, EXTENT, .apply = apply_pid },
{ 'p',  "pid",        "PID",               "the process to track; may also be given as an argument", ATTACH | OPTION_NO_FILE, EXTENT, .apply = apply_pid, .complete = COMPLETE_PIDS },
{ '\0', "duration",   "TIME",              "measure for TIME (default: one interval; with --samples, until you press Ctrl-C)", SYSTEM, EXTENT, TIME(duration_ns, 1e-3, YEAR, "1ms to 366d") },
{ '\0', "duration",   "TIME",              "stop tracking after TIME; the process keeps running", ATTACH, EXTENT, TIME(duration_ns, 1e-3, YEAR, "1ms to 366d") },
{ '\0', "wait",       "main|all",          "stop when the command exits (main, the default), or when all its descendants have exited (all)", RUN | BENCH, EXTENT, CHOICE(wait_for) },
{ '\0', "max",        "FIGURE=VALUE",      "a limit, such as memory=2GiB, time=10m, cpu=3h or gpu_memory=20G: if the figure exceeds VALUE at the end, print a line and, unless the command failed, exit with 1; may be repeated", RUN | OPTION_REPEATABLE, EXTENT, LIST(limits), .check = check_limit },
{ '\0', "cgroup",     "DIRECTORY",         "track every process in this cgroup and below it instead of a single process, for example all processes of a container; the cgroup is not modified", ATTACH | LINE_ONLY, EXTENT, TEXT(cgroup), .complete = COMPLETE_FILES },
{ '\0', "gpus",       "LIST",              "the GPUs of the job: all, none, or a list of numbers, UUIDs and PCI addresses, such as 0,2-3, or 0:1 for a MIG device; 'spoor info' lists them (default: those selected by CUDA_VISIBLE_DEVICES and similar variables, otherwise all)", TRACK | BENCH, EXTENT, TEXT(gpus), .check = spoor_check_gpus },
{ '\0', "gpus",       "LIST",              "the GPUs to show: all, none, or a list of numbers, UUIDs and PCI addresses, such as 0,2-3 (default: those selected by CUDA_VISIBLE_DEVICES and similar variables, otherwise all)", SCOPE_INFO, EXTENT, TEXT(gpus), .check = spoor_check_gpus },
{ '\0', "gpus",       "LIST",              "the GPUs to show: all (the default), none, or a list of numbers, UUIDs and PCI addresses, such as 0,2-3; 'spoor info' lists them", SYSTEM, EXTENT, TEXT(gpus), .check = spoor_check_gpus },
{ '\0', "gpm",        "auto|off",          "read the performance counters of the GPUs (GPM): while the job uses a GPU that has these counters and no profiler or DCGM holds them (auto, the default), or never (off); only one program at a time can use the counters", TRACK | BENCH, SOURCES, CHOICE(gpm) },
{ '\0', "detail",     "auto|always|never", "when to measure private and shared memory, which slows the job down: when memory has changed and as --budget allows (auto, the default), at every sample, or never", TRACK | BENCH | SCOPE_DOCTOR, SOURCES, CHOICE(detail) },
{ '\0', "cgroup",     "auto|off|require|DIRECTORY", "run the command in its own cgroup, for exact values: if possible (auto, the default), never (off), or refuse to run without one (require); DIRECTORY: create it below this cgroup, which must be delegated to you", RUN | BENCH | SCOPE_DOCTOR, SOURCES, TEXT(cgroup), .check = check_cgroup, .complete = "auto off require" },
{ '\0', "file",       "FILE",              "also append to FILE (.csv or .sqlite; default: $SPOOR_PHASE_FILE)", SCOPE_PHASE | LINE_ONLY, OUTPUT, TEXT(phase_file), .complete = COMPLETE_FILES },
{ '\0', "config",     "FILE",              "read settings from a JSON file whose keys are long option names (default: ~/.config/spoor/config.json, if it exists; none: no file)", BOTH | REPORT | SYSTEM | BENCH | SCOPE_COMPARE | OTHERS | HISTORY | OPTION_NO_FILE | OPTION_CONFIG_FILE | OPTION_COMMON, GENERAL, TEXT(config_path), .complete = COMPLETE_FILES },
{ 'h',  "help",       NULL,                "show this help and exit", EVERY | LINE_ONLY, GENERAL, .action = ACTION_HELP },
{ 'V',  "version",    NULL,                "show the version and exit", EVERY | LINE_ONLY, GENERAL, .action = ACTION_VERSION },
};

/* clang-format on */

_Static_assert(ARRAY_SIZE(rows) <= OPTIONS_MAX, "struct arguments has room for all");
const struct option_table settings_table = { rows, ARRAY_SIZE(rows) };

/* ---- all settings --------------------------------------------------------------- */

static int finish_streams(const struct arguments *arguments, struct settings *settings,
                          struct spoor_error *err)
{
    settings->has_no_job = arguments->command->scope == SCOPE_SYSTEM;
    settings->stream_count = settings->samples.count;
    if (settings->stream_count > SPOOR_STREAMS_MAX)
        return error_set(err, EINVAL, "--samples: at most %d files are allowed",
                         SPOOR_STREAMS_MAX);
    for (size_t i = 0; i < settings->stream_count; i++) {
        const char *path = settings->samples.items[i];
        bool has_suffix = path_has_suffix(path, ".csv") || path_has_suffix(path, ".jsonl");

        settings->streams[i] = (struct spoor_stream){
            .path = path,
            .dialect = settings->is_report_dialect ? NULL : settings->dialect,
            .format =
                settings->stream_count > 1 && has_suffix ? NULL : settings->samples_format,
        };
    }
    if (settings->stream_count > 0)
        return 0;
    if (arguments_source(arguments, "dialect") == SET_BY_OPTION && !settings->is_report_dialect)
        return error_set(err, EINVAL, "--dialect requires --samples");
    if (settings->samples_format &&
        (arguments_source(arguments, "samples-format") == SET_BY_OPTION ||
         arguments_source(arguments, "stream-format") == SET_BY_OPTION))
        return error_set(err, EINVAL, "--samples-format requires --samples");
    return 0;
}

static int finish_servers(const struct arguments *arguments, const struct settings *settings,
                          struct spoor_error *err)
{
    static const char *const names[] = { "catalog", "count", "vendor", "arch" };

    if (settings->wants_servers && settings->request)
        return error_set(err, EINVAL, "--for and --server cannot be combined");
    for (size_t i = 0; i < ARRAY_SIZE(names) && !settings->wants_servers; i++)
        if (arguments_source(arguments, names[i]) == SET_BY_OPTION)
            return error_set(err, EINVAL, "--%s requires --server", names[i]);
    return 0;
}

/* --dialect selects the columns of the samples, or a version of the report's format. */
static int finish_dialect(const struct arguments *arguments, struct settings *settings,
                          struct spoor_error *err)
{
    enum spoor_format version;

    settings->is_report_dialect =
        settings->dialect && format_for_version(settings->dialect, &version);
    if (!settings->is_report_dialect)
        return 0;
    if (settings->has_format && settings->format == SPOOR_SNAKEMAKE)
        settings->format = version;
    else if (arguments_source(arguments, "dialect") == SET_BY_OPTION)
        return error_set(err, EINVAL, "--dialect %s requires -f snakemake", settings->dialect);
    return 0;
}

static int finish_outputs(const struct arguments *arguments, struct settings *settings,
                          struct spoor_error *err)
{
    if (settings->is_append && settings->is_no_clobber)
        return error_set(err, EINVAL, "--append and --no-clobber cannot be combined");
    if (settings->request && settings->has_format)
        return error_set(err, EINVAL, "--for and --format cannot be combined");
    if (settings->print && arguments_source(arguments, "format") == SET_BY_OPTION)
        return error_set(err, EINVAL, "--print and --format cannot be combined");
    settings->has_format &= !settings->print; /* ignore a format of the config file */
    if (settings->outputs.count > SETTINGS_OUTPUTS_MAX)
        return error_set(err, EINVAL, "--output: at most %d files are allowed",
                         SETTINGS_OUTPUTS_MAX);
    settings->is_format_option = arguments_source(arguments, "format") == SET_BY_OPTION;
    return 0;
}

/* Sets the process, name or cgroup to attach to. */
static int finish_attach(const struct arguments *arguments, struct settings *settings,
                         struct spoor_error *err)
{
    if (arguments->operand_count > 0) {
        if (arguments_source(arguments, "pid") == SET_BY_OPTION)
            return error_set(err, EINVAL, "only one PID may be given");
        if (arguments->operands[0][strspn(arguments->operands[0], "0123456789")] != '\0')
            settings->process_name = arguments->operands[0];
        else if (apply_pid(settings, NULL, arguments->operands[0], err) < 0)
            return -EINVAL;
    }
    if (settings->cgroup && (settings->pid != 0 || settings->process_name))
        return error_set(err, EINVAL, "a PID and --cgroup cannot be combined");
    return 0;
}

/* All subcommands of history share one table of options: rejects options of another
 * subcommand. */
static int finish_history(const struct arguments *arguments, struct spoor_error *err)
{
    static const struct {
        const char *option, *command;
    } owners[] = {
        { "older", "prune" },     { "keep", "prune" },    { "max-size", "prune" },
        { "columns", "history" }, { "limit", "history" }, { "create", "push" },
    };
    const char *command = arguments->command->name;
    bool is_list = strcmp(command, "history") == 0;

    for (size_t i = 0; i < ARRAY_SIZE(owners); i++) {
        if (arguments_source(arguments, owners[i].option) != SET_BY_NOTHING &&
            strcmp(owners[i].command, command) != 0)
            return error_set(err, EINVAL, "--%s cannot be used with 'spoor history%s%s'",
                             owners[i].option, is_list ? "" : " ", is_list ? "" : command);
    }
    return 0;
}

/* Checks that need all settings. */
static int finish(struct arguments *arguments, struct spoor_error *err)
{
    struct settings *settings = arguments->target;

    settings->gpus_source = arguments_source(arguments, "gpus");
    settings->has_interval = arguments_source(arguments, "interval") != SET_BY_NOTHING;
    history_choose(settings->history);
    if (arguments->command->scope & (SCOPE_ATTACH | SCOPE_SYSTEM) &&
        arguments_source(arguments, "live") == SET_BY_NOTHING)
        settings->is_live = true;
    settings->is_live &= !settings->is_quiet;
    if (arguments->command->scope == SCOPE_ATTACH &&
        finish_attach(arguments, settings, err) < 0)
        return -EINVAL;
    if (settings->tags.count > SETTINGS_TAGS_MAX)
        return error_set(err, EINVAL, "--tag: at most %d tags are allowed", SETTINGS_TAGS_MAX);
    if (arguments->command->scope & (TRACK | SYSTEM) && file_names_fill_in(settings, err) < 0)
        return -EINVAL;
    if (finish_outputs(arguments, settings, err) < 0 ||
        finish_dialect(arguments, settings, err) < 0 ||
        (arguments->command->scope == SCOPE_HISTORY && finish_history(arguments, err) < 0))
        return -EINVAL;
    return finish_streams(arguments, settings, err);
}

int settings_load(struct arguments *arguments, int argc, char **argv, struct spoor_error *err)
{
    int r = arguments_parse(arguments, argc, argv, err);

    if (r < 0 || arguments->action != ACTION_WORK)
        return r;
    r = arguments_complete(arguments, err);
    if (r == 0)
        r = finish_servers(arguments, arguments->target, err);
    return r < 0 ? r : finish(arguments, err);
}

int settings_main(const struct command *command, int argc, char **argv)
{
    CLEANUP(settings_done) struct settings settings;
    struct arguments arguments = ARGUMENTS_INIT(&spoor_program, command, &settings);
    struct spoor_error err;

    settings_init(&settings);
    if (settings_load(&arguments, argc, argv, &err) < 0)
        return complain("%s", err.message);
    if (arguments.action != ACTION_WORK)
        return program_show(&arguments);
    return arguments.command->work(&settings, arguments.operands, arguments.operand_count);
}

bool settings_saves_run(const struct settings *settings)
{
    const struct option flag = { 0 };
    bool is_on = false;

    return settings->saves_run || history_is_folder(settings->history) ||
           (settings->history && option_flag(&is_on, &flag, settings->history, NULL) == 0 &&
            is_on);
}

/* Escapes a text for a filter, in which an unescaped comma ends a condition. */
static void add_filter_text(struct buffer *out, const char *text)
{
    for (; *text; text++) {
        if (*text == ',' || *text == '\\')
            buffer_add(out, "\\", 1);
        buffer_add(out, text, 1);
    }
}

int settings_select(const struct settings *settings, char **operands, int count,
                    struct text_list *ret, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer selector = { 0 };
    int r = 0;

    for (int i = 0; r == 0 && i < count; i++)
        r = text_list_add(ret, operands[i], err);
    if (r < 0 || (!settings->name && !settings->wants_last))
        return r;
    buffer_add_text(&selector, settings->name ? "@name=" : "@");
    if (settings->name)
        add_filter_text(&selector, settings->name);
    if (settings->wants_last)
        buffer_add_text(&selector, settings->name ? ",last" : "last");
    if (buffer_error(&selector) < 0)
        return error_set(err, ENOMEM, "out of memory");
    return text_list_add(ret, selector.text, err);
}

/* ---- GPUs --------------------------------------------------------------- */

#define LIBRARY_PREFIX "--gpus: "

void gpus_name_source(const struct settings *settings, struct spoor_error *err)
{
    size_t skipped = strlen(LIBRARY_PREFIX);

    if (settings->gpus_source == SET_BY_OPTION ||
        strncmp(err->message, LIBRARY_PREFIX, skipped) != 0)
        return;
    memmove(err->message, err->message + skipped, strlen(err->message + skipped) + 1);
    if (settings->gpus_source == SET_BY_VARIABLE)
        (void)error_prefix(err, err->code, "SPOOR_GPUS");
    else
        (void)error_prefix(err, err->code, "%s: gpus", settings->config_path);
}

static void pass_over(UNUSED const struct spoor_gpu *gpu, UNUSED void *data)
{
}

int gpus_check(const struct settings *settings, struct spoor_error *err)
{
    const char *gpus = settings->gpus;
    int r;

    if (!gpus || strcasecmp(gpus, "all") == 0 || strcasecmp(gpus, "none") == 0)
        return 0;
    r = spoor_gpu_list(NULL, gpus, pass_over, NULL, err);
    if (r != -ENOENT && r != -ENOTUNIQ)
        return 0;
    gpus_name_source(settings, err);
    return -EINVAL;
}
