/* SPDX-License-Identifier: Apache-2.0 */

#include "front/spoor/settings.h"

#define PRECEDENCE                                                                            \
    "Options can also be set with environment variables (SPOOR_INTERVAL=0.5) or in a config " \
    "file (--config). An option overrides a variable, and a variable overrides the config "   \
    "file."

#define SETTINGS(scope_) .options = &settings_table, .scope = (scope_)

/* The subcommands have the options of history; settings_load() rejects options of other
 * subcommands. */
static const struct command history_commands[] = {
    {
        .name = "show",
        SETTINGS(SCOPE_HISTORY),
        .operands = "ID|FILTER",
        .max_operands = OPERANDS_MANY,
        .summary = "show the report of a run",
        .work = command_history_show,
    },
    {
        .name = "stats",
        SETTINGS(SCOPE_HISTORY),
        .operands = "[FILTER...]",
        .max_operands = OPERANDS_MANY,
        .summary = "show time, memory and failures by name, and what to request",
        .work = command_history_stats,
    },
    {
        .name = "prune",
        SETTINGS(SCOPE_HISTORY),
        .summary = "remove old runs: --older, --keep, --max-size",
        .work = command_history_prune,
    },
    {
        .name = "import",
        SETTINGS(SCOPE_HISTORY),
        .operands = "FILE...",
        .max_operands = OPERANDS_MANY,
        .complete = COMPLETE_FILES,
        .summary = "add stored runs, including those of con/duct, Snakemake and Nextflow",
        .work = command_history_import,
    },
    {
        .name = "push",
        SETTINGS(SCOPE_HISTORY),
        .operands = "URL [FILTER...]",
        .max_operands = OPERANDS_MANY,
        .summary = "copy runs to a PostgreSQL database that a team shares",
        .work = command_history_push,
    },
    { 0 },
};

static const struct command commands[] = {
    {
        .name = "run",
        SETTINGS(SCOPE_RUN),
        .operands = "[--] COMMAND [ARGUMENT...]",
        .max_operands = OPERANDS_REST,
        .complete = COMPLETE_COMMANDS,
        .summary = "run a command and report what it used",
        .about =
            "Run a command and report what it and all its descendants use. The command "
            "keeps its own input, output, terminal, signals and exit code. Exit code: the "
            "command's; 1 if the command succeeded but exceeded a limit of --max; 127 if it "
            "was not found; 126 if it could not be executed; 125 if spoor failed before "
            "starting it. If signal N kills the command, the same signal ends spoor: $? is "
            "128+N in a shell.",
        .notes = PRECEDENCE,
        .example = "spoor run -o report.json -- make -j8",
        .work = command_run,
    },
    {
        .name = "attach",
        SETTINGS(SCOPE_ATTACH),
        .operands = "PID | NAME | --cgroup DIRECTORY",
        .max_operands = 1,
        .complete = COMPLETE_PIDS,
        .summary = "track a process or a cgroup that is already running",
        .about =
            "Track a running process and all its descendants until it exits, --duration has "
            "passed, or you press Ctrl-C, which stops the tracking but not the process. NAME "
            "is the --name of a 'spoor run', or the name of one of your processes; the name "
            "must be unique, not counting descendants of the process. With --cgroup, track "
            "every process in a cgroup until it is empty, or until only spoor itself is left "
            "in it. On a terminal, show the current figures; q or Ctrl-C stops tracking and "
            "prints the report. Exit code: 0, or 125 if there was nothing to track.",
        .notes = PRECEDENCE,
        .example = "spoor attach --duration 1m 4242",
        .work = command_attach,
    },
    {
        .name = "agent",
        SETTINGS(SCOPE_AGENT),
        .summary = "track a process, controlled by another program",
        .about =
            "Track a process as attach does, controlled by the program that started the "
            "agent. That program writes requests to the agent's standard input and reads the "
            "responses from its standard output, one JSON object per line; see "
            "spoor-agent(1). The agent exits at the end of its input. Exit code: 0, or 125 "
            "if there was nothing to track.",
        .is_hidden = true,
        .ignores_variables = true,
        .main = command_agent,
    },
    {
        .name = "system",
        SETTINGS(SCOPE_SYSTEM),
        .summary = "show the usage of the machine",
        .about =
            "Measure this machine for one interval, or for --duration, and print its CPU, "
            "memory, disk, network and GPU usage and its pressure (PSI). Rates are "
            "averages over that time; other values, such as memory in use, are read at its "
            "end. On a terminal, show the current figures until q or Ctrl-C is pressed, and "
            "then the report. Exit code: 0, or 125 if the report could not be written.",
        .example = "spoor system -i 5 -f json",
        .ignores_variables = true, /* SPOOR_* variables apply to runs only */
        .work = command_system,
    },
    {
        .name = "watch",
        SETTINGS(SCOPE_WATCH),
        .summary = "show the runs of this user that are in progress",
        .about =
            "List every 'spoor run' of this user on this machine with its time, CPU, memory "
            "and, if it uses GPUs, GPU memory. Jobs tracked by 'spoor attach', gpu-tracker, "
            "resource-tracker or Python are not listed. On a terminal, refresh the list "
            "every second until q or Ctrl-C is pressed; otherwise, or with -f or -o, list "
            "once. The figures come from the latest sample of each run; watch measures "
            "nothing itself. Exit code: 0, even if there are no runs.",
        .example = "spoor watch -f json",
        .ignores_variables = true, /* the variables are for runs */
        .work = command_watch,
    },
    {
        .name = "bench",
        SETTINGS(SCOPE_BENCH),
        .operands = "[--] COMMAND [ARGUMENT...] [--vs COMMAND [ARGUMENT...]]...",
        .max_operands = OPERANDS_REST,
        .complete = COMPLETE_COMMANDS,
        .summary = "run commands several times and compare what they used",
        .about =
            "Run each command several times, as 'spoor run' does, and show for each figure "
            "the median with its 95 % confidence interval, the minimum and the maximum; then "
            "name the fastest command and the one that uses the least memory, with the "
            "ratios. The commands take turns. Their input is empty and their output is "
            "discarded. Ctrl-C "
            "stops and shows the results so far. Exit code: 0; 1 if a run failed, unless "
            "--ignore-failure is given; 127 or 126 if a command could not be run; 125 if "
            "spoor failed.",
        .example = "spoor bench -n 20 -- gzip -kf data --vs zstd -qf data",
        .work = command_bench,
    },
    {
        .name = "report",
        SETTINGS(SCOPE_REPORT),
        .operands = "[FILE...]",
        .max_operands = OPERANDS_MANY,
        .complete = COMPLETE_FILES,
        .summary = "show stored runs as a page with charts, or in another format",
        .about =
            "Read stored runs and write them to one page with charts, or show them in "
            "another format. A FILE is a report stored as JSON (- for stdin), a --samples "
            "file, even of an interrupted run, a directory of rank reports, a tracking file of "
            "gpu-tracker, or a run of the history: @FILTER or an ID, see 'spoor help "
            "history'. If a report and the "
            "samples of the same run are given, the page has both. Exit code: 0, or 125 if a "
            "file could not be read or written.",
        .example = "spoor report --open report.json",
        .ignores_variables = true, /* the variables are for runs */
        .work = command_report,
    },
    {
        .name = "merge",
        SETTINGS(SCOPE_MERGE),
        .operands = "DIRECTORY",
        .max_operands = 1,
        .complete = COMPLETE_FILES,
        .summary = "merge the ranks of a job into one report",
        .about =
            "Merge the rank reports that 'spoor run --group' wrote to DIRECTORY. This works "
            "at any time, even while ranks are running or after some were killed. CPU time, "
            "I/O and energy are summed; memory is the memory of the node that used the most, "
            "since limits apply per node; figures of the machine count once per node, each "
            "GPU once. Ranks that did not finish are listed. If a rank ran more than once, "
            "its last attempt counts. 'spoor report DIRECTORY' shows the same figures. Exit "
            "code: 0, or 125 if there is nothing to merge.",
        .example = "spoor merge spoor-1234.0",
        .ignores_variables = true, /* the variables are for runs */
        .work = command_merge,
    },
    {
        .name = "recommend",
        SETTINGS(SCOPE_RECOMMEND),
        .operands = "[FILE...]",
        .max_operands = OPERANDS_MANY,
        .complete = COMPLETE_FILES,
        .summary = "recommend what to request for the next run",
        .about =
            "Read reports stored as JSON (- for stdin) and recommend CPUs, memory, GPUs and "
            "time for the next run, with the reason for each. Runs in the history are given "
            "as @FILTER or ID; see 'spoor help history'. With several reports, the largest "
            "value of each resource is used. Exit code: 0, or 125 if a report could not be "
            "read or no servers could be looked up.",
        .example = "spoor recommend --for sbatch report.json",
        .ignores_variables = true, /* the variables are for runs */
        .work = command_recommend,
    },
    {
        .name = "compare",
        SETTINGS(SCOPE_COMPARE),
        .operands = "RUNS [RUNS...]",
        .max_operands = OPERANDS_MANY,
        .complete = COMPLETE_FILES,
        .summary = "compare runs, and show which figures differ",
        .about =
            "Compare sets of runs with the first set. RUNS is a file of reports (JSON, one "
            "or several), a file of --samples, a tracking file of gpu-tracker, a directory "
            "of reports, or runs of the history: @FILTER or an ID, see 'spoor help history'. "
            "If only one set is given, --by splits it into sets. If two single runs are "
            "compared, a figure differs if its bounds (the range of its possible true "
            "values) do not overlap and it changes by more than 0.5 %. If a single run is "
            "compared with six or more, a figure differs if it is outside their usual range. "
            "If two sets of runs are compared, a figure differs if a rank test "
            "(Mann-Whitney) finds a difference at the 5 % level; the change is the "
            "Hodges-Lehmann estimate with its 95 % confidence interval. Exit code: 0, even "
            "if they differ, or 125 if a file could not be read.",
        .example = "spoor compare before.json after.json",
        .ignores_variables = true, /* the variables are for runs */
        .work = command_compare,
    },
    {
        .name = "check",
        SETTINGS(SCOPE_CHECK),
        .operands = "RUNS...",
        .max_operands = OPERANDS_MANY,
        .complete = COMPLETE_FILES,
        .summary = "check runs against limits, or against earlier runs",
        .about =
            "Check that runs stay within the limits of --max, and use no more than the runs "
            "of --baseline. Each run is compared with the last 20 of these that started "
            "before it and succeeded on the same kind of machine; a figure is too high if it "
            "exceeds their median by more than four times their spread (1.4826 times the "
            "median absolute deviation, at least 0.5 % of the median) and by more than "
            "--tolerance. Print "
            "one line for each limit that is exceeded. Exit code: 0; 1 if a limit is "
            "exceeded, or could not be checked because the figure is unknown; 125 if a file "
            "could not be read or there are too few earlier runs.",
        .example = "spoor check --max memory=2GiB --max time=10m report.json",
        .ignores_variables = true, /* the variables are for runs */
        .work = command_check,
    },
    {
        .name = "history",
        SETTINGS(SCOPE_HISTORY),
        .operands =
            "[FILTER...] | show ID | stats [FILTER...] | prune | import FILE... | push URL",
        .max_operands = OPERANDS_MANY,
        .complete = COMPLETE_FILES,
        .summary = "list saved runs and what they used",
        .about =
            "List the runs that 'spoor run --save' saved, newest last. A FILTER is a list of "
            "conditions that must all hold, separated by commas: name=train, tag.KEY=VALUE, "
            "host=, user=, id=, exit!=0, command~TEXT (contains), since=30d, "
            "until=2026-11-01, and last, previous or last=N. Other commands take such runs "
            "as @FILTER, for example 'spoor report @last', or by their ID. The history is "
            "kept only if --save, SPOOR_HISTORY or the config file turns it on: command "
            "lines can hold secrets. Exit code: 0, or 125 if the history could not be read "
            "or written.",
        .example = "spoor history name=train,since=30d",
        .subcommands = history_commands,
        .ignores_variables = true, /* the variables are for runs */
        .work = command_history,
    },
    {
        .name = "doctor",
        SETTINGS(SCOPE_DOCTOR),
        .summary = "show what can be measured on this machine",
        .about =
            "For each quantity, list the sources that can measure it, best first. For each "
            "source, show whether it works on this machine, and if not, why and how to fix "
            "it. To check the sources of a run, give its --detail and --cgroup.",
        .work = command_doctor,
    },
    {
        .name = "info",
        SETTINGS(SCOPE_INFO),
        .summary = "describe this machine, its GPUs and its cloud instance",
        .about =
            "Describe this machine, the limits that apply to a job on it, and its GPUs, with "
            "the numbers and UUIDs that --gpus accepts. If the firmware identifies a cloud "
            "provider, query its metadata service, for one second at most, and cache the "
            "response until reboot.",
        .work = command_info,
    },
    {
        .name = "phase",
        SETTINGS(SCOPE_PHASE),
        .operands = "start|stop NAME",
        .max_operands = 2,
        .complete = "start stop",
        .summary = "mark the start or end of a phase of the calling job",
        .about =
            "Mark the start or end of a phase. In a 'spoor run', the report lists the phase "
            "with its own figures. With --file, append a row to FILE: the calling process, "
            "the name of the phase, start or stop, and the time; 'gpu-tracker sub-track "
            "analyze' reports what each phase used. Outside a run and without --file, print "
            "a warning and append the row to PID-START.csv in the working directory, named "
            "after the PID and start time of the calling process. Exit code: 0, even if a "
            "warning was printed; 125 if the row could not be written.",
        .example = "spoor phase start load; ./load.sh; spoor phase stop load",
        .main = command_phase,
    },
    {
        .name = "help",
        .operands = "[COMMAND]",
        .summary = "show help for a command",
        .about = "Show help for a command, or the list of commands.",
        .main = command_help,
    },
    { 0 },
};

const struct program spoor_program = {
    .name = "spoor",
    .description = "Measure what a job uses: memory, CPU, GPUs, I/O and time.",
    .commands = commands,
    .main = settings_main,
    .version_prefix = "spoor ",
    .environment_prefix = "SPOOR_",
    .config_file = "spoor/config.json",
    .error_prefix = "spoor: ",
    .warning_prefix = "spoor: ",
    .failure_code = EXIT_OWN_FAILURE,
    .flags_take_values = true,
};

void spoor_warn(const char *message)
{
    complain("%s", message);
}
