/* SPDX-License-Identifier: Apache-2.0 */
/* settings.h - the settings of spoor, and the table of options that set them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "front/arguments.h"
#include "front/program.h"
#include "spoor/spoor.h"

/* ---- settings ----------------------------------------------------------- */

#define SETTINGS_TAGS_MAX 64
#define SETTINGS_OUTPUTS_MAX 16

/* The commands that have an option: bits of option.flags. */
enum {
    SCOPE_RUN = 1u << 0,
    SCOPE_ATTACH = 1u << 1,
    SCOPE_AGENT = 1u << 2,
    SCOPE_DOCTOR = 1u << 3,
    SCOPE_INFO = 1u << 4,
    SCOPE_PHASE = 1u << 5,
    SCOPE_REPORT = 1u << 6,
    SCOPE_SYSTEM = 1u << 7,
    SCOPE_RECOMMEND = 1u << 8,
    SCOPE_WATCH = 1u << 9,
    SCOPE_BENCH = 1u << 10,
    SCOPE_COMPARE = 1u << 11,
    SCOPE_CHECK = 1u << 12,
    SCOPE_HISTORY = 1u << 13,
    SCOPE_MERGE = 1u << 14,
};

/* In the order of the words in the option table. */
enum color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };
enum wait_for { WAIT_FOR_MAIN, WAIT_FOR_ALL };

/* The settings own their texts; NULL: not given. */
struct settings {
    struct text_list outputs; /* files of the report; "-": stdout */
    char *report_path;        /* path of the HTML report */
    char *print;              /* a template: outputs.h */
    struct text_list samples; /* files of rows; "-": stdout */
    char *samples_format;
    char *dialect;
    bool is_report_dialect; /* the dialect is a version of the report's format */
    /* Made from samples, samples_format and dialect, whose texts are borrowed. */
    struct spoor_stream streams[SPOOR_STREAMS_MAX];
    size_t stream_count;
    bool has_no_job; /* the host is measured: spoor system */
    /* Exporters: outputs.h. */
    char *listen, *metrics_path, *push;
    char *otlp;                  /* a URL, or "env": taken from variables */
    uint64_t export_interval_ns; /* 0: not given */
    struct text_list labels;     /* "NAME=VALUE", or the key of a tag */
    char *config_path;
    char *name;
    char run_id[33]; /* empty: a random ID */
    char *phase_file;
    char *cgroup;            /* auto, off, require or a folder */
    char *request;           /* a scheduler: recommend/needs.h */
    double margin;           /* safety margin of a recommendation */
    double quantile;         /* share of the runs that must fit */
    char *figures;           /* figures to compare or check, separated by commas */
    char *by;                /* the property that divides runs into sets */
    struct text_list limits; /* "FIGURE=VALUE" */
    char *on_exit;           /* a command of a shell, to run after the report is written */
    char *baseline;          /* earlier runs to check against */
    double tolerance;        /* how far a figure may exceed the median: 0.1 is 10 % */
    bool wants_servers;      /* recommend servers too */
    char *catalog_path;      /* file that lists servers; NULL: query the keeper */
    char *architecture;
    struct text_list vendors;
    size_t server_count;
    char *history;        /* yes, no or a folder */
    char *group;          /* directory of the ranks of a job; "off": none */
    bool saves_run;       /* keep the run in the history */
    bool wants_last;      /* use the last run of the history */
    char *columns;        /* columns of a list of runs */
    size_t run_limit;     /* maximum length of a list of runs; 0: not given */
    size_t kept_runs;     /* runs to keep of each name; 0: not given */
    uint64_t older_ns;    /* runs older than this are removed; 0: not given */
    double max_bytes;     /* maximum size of the history; 0: not given */
    bool creates_tables;  /* create the tables of the database */
    size_t process_count; /* processes in a text report; SIZE_MAX: the default */
    char *gpus;
    enum setting_source gpus_source;
    struct text_list tags; /* "KEY=VALUE" */
    /* Settings of bench. */
    char *runs_path; /* file to which every run is added */
    char *prepare;   /* a command line for a shell */
    struct text_list names;
    struct text_list parameters; /* "NAME=a,b,c" */
    size_t run_count, warmup_count;
    uint64_t cooldown_ns;
    bool shows_output;
    bool ignores_failure;
    bool has_format; /* a format was given */
    /* The format was given by an option, not by a variable or config file. */
    bool is_format_option;
    enum spoor_format format;
    enum spoor_detail detail;
    enum { GPM_AUTO, GPM_OFF } gpm;
    uint64_t budget_millionths; /* share of the job's CPU time; 0: the default */
    bool has_counters;
    double carbon_intensity; /* grams of CO2 equivalent per kWh; 0: unknown */
    double pue;              /* power usage effectiveness; 0: 1 */
    enum color color;
    enum wait_for wait_for;
    bool wants_charts; /* draw text charts */
    bool is_brief;     /* text of requested and used resources only */
    bool opens_page;
    bool names_page; /* the name of the page is a default */
    bool is_quiet;
    bool is_live;      /* show a live view */
    bool is_live_line; /* a live view of one line */
    bool is_append;
    bool is_no_clobber;
    pid_t pid; /* 0: not given */
    /* Name of the process or run to track, instead of a PID; borrowed. */
    const char *process_name;
    uint64_t interval_ns;
    bool has_interval;    /* interval_ns was given */
    uint64_t duration_ns; /* 0: no end */
};

/* Every option of every command. */
extern const struct option_table settings_table;

void settings_init(struct settings *settings);
void settings_done(struct settings *settings);

/* Reads all settings of a command; argv[0] is its name. `arguments` has the program, the
 * command and the settings. If its action is not ACTION_WORK, nothing else is read. -EINVAL
 * and others: the message suggests a fix. */
int settings_load(struct arguments *arguments, int argc, char **argv, struct spoor_error *err);

/* Like settings_load(), for a command that a person runs: then calls its work(), unless the
 * help or the version was requested or an argument was rejected. Returns the exit code. */
int settings_main(const struct command *command, int argc, char **argv);

/* Lists the runs that a command line selects: its operands, and runs of the history by --name
 * and --last. */
int settings_select(const struct settings *settings, char **operands, int count,
                    struct text_list *ret, struct spoor_error *err);

/* Returns whether to keep the run of these settings in the history. */
bool settings_saves_run(const struct settings *settings);

/* ---- GPUs --------------------------------------------------------------- */

/* If the settings list single GPUs, queries the drivers for at most 2 s. -EINVAL: one of
 * them does not exist. If there is no GPU or a driver does not respond, nothing is rejected:
 * the report has a warning. */
int gpus_check(const struct settings *settings, struct spoor_error *err);

/* Adds the origin of --gpus to a message of the library: option, variable or file. */
void gpus_name_source(const struct settings *settings, struct spoor_error *err);

/* ---- options of sessions ------------------------------------------------ */

/* The texts are borrowed from the settings. */
static inline struct spoor_options session_options(const struct settings *settings)
{
    struct spoor_options options = SPOOR_OPTIONS_INIT;

    options.interval_ns = settings->interval_ns;
    options.detail = settings->detail;
    options.budget_millionths = settings->budget_millionths;
    options.co2e_grams_per_kwh =
        settings->carbon_intensity * (settings->pue > 0 ? settings->pue : 1);
    if (settings->cgroup && strchr(settings->cgroup, '/')) {
        options.cgroup = SPOOR_CGROUP_REQUIRE;
        options.cgroup_folder = settings->cgroup;
    } else if (settings->cgroup) {
        options.cgroup = strcmp(settings->cgroup, "off") == 0       ? SPOOR_CGROUP_OFF
                         : strcmp(settings->cgroup, "require") == 0 ? SPOOR_CGROUP_REQUIRE
                                                                    : SPOOR_CGROUP_AUTO;
    }
    options.gpus = settings->gpus;
    options.name = settings->name;
    options.id = settings->run_id[0] ? settings->run_id : NULL;
    options.tags = (const char *const *)settings->tags.items;
    options.streams = settings->streams;
    options.stream_count = settings->stream_count;
    if (!settings->has_interval)
        options.flags |= SPOOR_FINE_AT_FIRST;
    if (settings->gpm == GPM_OFF)
        options.flags |= SPOOR_NO_GPM;
    if (settings->has_counters)
        options.flags |= SPOOR_COUNTERS;
    if (settings->is_append)
        options.flags |= SPOOR_SAMPLES_APPEND;
    if (settings->is_no_clobber)
        options.flags |= SPOOR_SAMPLES_NO_CLOBBER;
    return options;
}

/* ---- the program and its commands ------------------------------------------ */

extern const struct program spoor_program;

/* Writes "spoor: ..." to stderr. Returns EXIT_OWN_FAILURE. */
#define complain(...) program_complain(&spoor_program, __VA_ARGS__)
void spoor_warn(const char *message);

/* Finds the process of a run of this user by its --name, or a process by its own name.
 * -ESRCH: there is none; -ENOTUNIQ: there are several. */
int watch_find(const char *name, pid_t *ret, struct spoor_error *err);

int command_agent(const struct command *command, int argc, char **argv);
int command_phase(const struct command *command, int argc, char **argv);
int command_help(const struct command *command, int argc, char **argv);

/* The other commands do their work with the settings that settings_main() has read. */
typedef int command_work(struct settings *settings, char **operands, int count);
command_work command_run;
command_work command_attach;
command_work command_bench;
command_work command_check;
command_work command_compare;
command_work command_doctor;
command_work command_info;
command_work command_merge;
command_work command_recommend;
command_work command_report;
command_work command_watch;
command_work command_system;
command_work command_history;
command_work command_history_show;
command_work command_history_stats;
command_work command_history_prune;
command_work command_history_import;
command_work command_history_push;
