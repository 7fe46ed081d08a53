/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spoor.h - measure what a job uses: CPU, memory, GPUs, I/O, processes, time.
 *
 * A session tracks one job: a process and everything it starts. Open it,
 * start it, stop it, write a report, close it:
 *
 *     struct spoor_options options = SPOOR_OPTIONS_INIT;
 *     struct spoor_error err;
 *     spoor_session *session;
 *
 *     options.pid = pid;
 *     if (spoor_session_open(&options, &session, &err) < 0)
 *         die("%s", err.message);
 *     spoor_session_start(session, &err);
 *     ...
 *     spoor_session_stop(session, &err);
 *     spoor_session_write(session, SPOOR_JSON, 0, STDOUT_FILENO, &err);
 *     session = spoor_session_close(session);
 *
 * Errors. Every function that can fail returns 0 (or a count) on success and a
 * negative errno value on failure. If `err` is not NULL, it then describes the
 * failure. The library never prints, never exits and never installs a signal
 * handler.
 *
 * Values. A figure that could not be measured is NaN and comes with a reason; it
 * is never 0. Figures are in base units, named by their suffix: seconds, bytes,
 * cores (seconds of CPU time per second).
 *
 * Threads. A running session owns a sampling thread and, if the machine may have
 * GPUs, a thread that queries their drivers; short-lived threads read disk space.
 * All block all signals. Each stream is written by a process of its own, which wait()
 * does not return, so that a disk or a reader that does not respond delays nothing
 * else. Session functions may be called from any thread, but not during or after
 * spoor_session_close(). None waits for the sampling thread for more than 10 s.
 *
 * Ownership. Options and strings passed in are copied; the caller may free them.
 */
#ifndef SPOOR_SPOOR_H
#define SPOOR_SPOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SPOOR_API __attribute__((visibility("default")))

#define SPOOR_VERSION "0.1.0"

/* Returns the version of the library at run time: "major.minor.patch". */
SPOOR_API const char *spoor_version(void);

struct spoor_error {
    int code;          /* positive errno value; 0: no error */
    char message[240]; /* one line, without a trailing newline */
};

enum spoor_format {
    SPOOR_TEXT,        /* one screen for people */
    SPOOR_JSON,        /* schema spoor/1 */
    SPOOR_CSV,         /* a header and one row */
    SPOOR_HTML,        /* a page with charts, if this build has it: ENOSYS otherwise */
    SPOOR_MARKDOWN,    /* a table of the key figures */
    SPOOR_ROW,         /* one line of flat JSON, as in the history */
    SPOOR_OPENMETRICS, /* OpenMetrics 1.0, for Prometheus and others */
    SPOOR_RANK,        /* one line of JSON, as in the folder of a group */
    SPOOR_SNAKEMAKE,   /* the benchmark table of Snakemake 7 and 8 */
    SPOOR_SNAKEMAKE_9, /* the benchmark table of Snakemake 9.13.5 and later */
    SPOOR_NEXTFLOW,    /* .command.trace of Nextflow */
    SPOOR_SEFF,        /* the text of Slurm's seff */
    SPOOR_JOBSTATS,    /* the AdminComment that jobstats and reportseff read */
    SPOOR_TRACE,       /* Chrome trace events, for Perfetto */
};

/* Finds a format by its name ("text", "json", "csv", "html"), or by the suffix of a file name
 * (".txt", ".json", ".csv", ".html"). false: unknown; *ret is untouched. */
SPOOR_API bool spoor_format_for_name(const char *name, enum spoor_format *ret);
SPOOR_API bool spoor_format_for_path(const char *path, enum spoor_format *ret);

/* When to read private and shared memory. The kernel then walks the job's page tables,
 * about 6 ms per GiB, and blocks the job's memory system calls meanwhile. */
enum spoor_detail {
    SPOOR_DETAIL_AUTO,   /* when memory has changed, as the budget allows */
    SPOOR_DETAIL_ALWAYS, /* at every sample, with the mappings of all processes */
    SPOOR_DETAIL_NEVER,
};

/* Whether to create a cgroup for the job, in which the kernel keeps exact totals. */
enum spoor_cgroup {
    SPOOR_CGROUP_AUTO,    /* if that is possible without side effects */
    SPOOR_CGROUP_OFF,     /* never */
    SPOOR_CGROUP_REQUIRE, /* fail with ENOTSUP if a cgroup cannot count the job's memory */
};

/* Bits of spoor_options.flags. */
enum {
    /* The caller is the parent and the child subreaper of the job. It forked
     * `pid`, which has not called exec yet; it adopts the job's orphans, has no
     * other children, and calls spoor_session_child_ended() before it reaps one. */
    SPOOR_CALLER_SPAWNED = 1u << 0,
    /* Append to the files of streams instead of replacing them. */
    SPOOR_SAMPLES_APPEND = 1u << 1,
    /* Fail with EEXIST if the file of a stream exists. */
    SPOOR_SAMPLES_NO_CLOBBER = 1u << 2,
    /* Leave existing files of streams alone and do not call sample_seen until
     * spoor_session_release_samples() is called: the job may fail to start. */
    SPOOR_HOLD_SAMPLES = 1u << 3,
    /* Track `pid` alone, not its descendants. Cannot be combined with SPOOR_CALLER_SPAWNED. */
    SPOOR_MAIN_ONLY = 1u << 4,
    /* Track every process in the existing cgroup `cgroup_folder` and below it; `pid` is 0. The
     * cgroup is only read. There is no main process. */
    SPOOR_TRACK_CGROUP = 1u << 5,
    /* Open GPU drivers at once. With SPOOR_CALLER_SPAWNED they are otherwise opened when the job has
     * run for 100 ms: GPU figures of a shorter job are unknown and cost nothing. */
    SPOOR_OPEN_GPUS = 1u << 6,
    /* The process ends soon after the session: leave the GPU drivers open for the kernel to close.
     * NVIDIA's library needs 8 ms of CPU time and 13 MB to shut down. */
    SPOOR_LEAVE_DRIVERS = 1u << 7,
    /* Sample more often at first: every 10 ms or so while the job is active, then less and less
     * often, until `interval_ns` is reached after 16 intervals. The budget limits the extra
     * samples. */
    SPOOR_FINE_AT_FIRST = 1u << 8,
    /* List the processes of the job in every sample that sample_seen gets. */
    SPOOR_LIST_PROCESSES = 1u << 9,
    /* Do not read the performance counters of GPUs (NVIDIA's GPM): sm_active and the members
     * after it in struct spoor_gpu_sample are then unknown. */
    SPOOR_NO_GPM = 1u << 10,
    /* Count cycles, instructions, cache and branch misses of the job in user space. Only with
     * SPOOR_CALLER_SPAWNED. It slows down context switches of the job. */
    SPOOR_COUNTERS = 1u << 11,
};

#define SPOOR_INTERVAL_MIN_NS 1000000ull       /* 1 ms */
#define SPOOR_INTERVAL_MAX_NS 3600000000000ull /* 1 h */

/* A GPU at the moment of a sample. NaN: unknown. */
struct spoor_gpu_sample {
    unsigned index; /* as in struct spoor_gpu */
    int part;
    double utilization, job_utilization; /* 0 to 1, over about the last second */
    double memory_bytes, job_memory_bytes;
    double memory_total_bytes; /* capacity of the GPU */
    double encoder_utilization, decoder_utilization;
    double power_watts, temperature_celsius, clock_hertz;
    double energy_joules; /* since the start of the run */
    const char *uuid;     /* the PCI address if the GPU has no UUID */
    /* Active share of each kind of unit, for any process: 0 to 1, over about the last 10 s. */
    double sm_active, sm_occupancy, tensor_active, fp64_active, fp32_active, fp16_active,
        dram_active;
    /* Bytes transferred while the job used the GPU. */
    double pcie_sent_bytes, pcie_received_bytes, nvlink_sent_bytes, nvlink_received_bytes;
};

/* A running process of the job at the moment of a sample. */
struct spoor_process_sample {
    pid_t pid, parent_pid;
    char name[16];       /* as in /proc/PID/comm; any bytes */
    const char *command; /* as in struct spoor_process; NULL: unknown */
    double cpu_seconds;  /* so far, without its children */
    double rss_bytes;
};

/* One sample, passed to the callback below. Valid only during the call. */
struct spoor_sample {
    double elapsed_seconds; /* since the first sample */
    double unix_seconds;    /* since 1970, UTC */
    const double *values;   /* values[i] is metric i (spoor_metric_get()), or NaN; memory and
                               GPU levels are the highest since the previous sample */
    size_t count;
    const double *moments;               /* the same metrics, with all levels at this moment */
    const struct spoor_gpu_sample *gpus; /* GPUs of the job, at most 256 */
    size_t gpu_count;                    /* 0: none, or no driver has responded yet */
    /* With SPOOR_LIST_PROCESSES. The order stays the same; new processes are last. */
    const struct spoor_process_sample *processes;
    size_t process_count;
    double cpu_limit, memory_limit_bytes; /* of the job; NaN: none, or unknown */
};

/* Called after every sample, including the first and the last; calls never overlap. Runs in the
 * sampling thread; for the first sample, in the thread that starts the session. No sample is
 * taken meanwhile: return quickly, and do not call session functions. No call begins after
 * spoor_session_close(). */
typedef void spoor_sample_seen(const struct spoor_sample *sample, void *data);

/* A stream: one row per sample, written as soon as the sample is taken. If the file does not respond
 * or the reader of a pipe stalls, rows are dropped and the report counts them; no sample waits.
 * At the end, a file gets all rows, and the reader of a pipe or a terminal has 200 ms to read the rest.
 * If the reader closes the pipe, only the stream ends. */
struct spoor_stream {
    const char *path;    /* file, named pipe or descriptor: "-", /dev/stderr, /dev/fd/N */
    const char *dialect; /* the columns: NULL or "spoor"; "resource-tracker",
                            "resource-tracker-0.3", "resource-tracker-0.1": the process table of
                            that program or, without a job, its system table; or one of its tables
                            as in "resource-tracker:combined"; "resource-tracker-rs" */
    const char *format;  /* "csv", "jsonl", or "f64": a little-endian double per cell (dialects
                            only); NULL: by the suffix of the path, csv for a pipe */
};
#define SPOOR_STREAMS_MAX 4

/* Initialize with SPOOR_OPTIONS_INIT, so that fields added later have their defaults. */
struct spoor_options {
    size_t size;          /* sizeof(struct spoor_options): lets the ABI grow */
    pid_t pid;            /* the main process of the job; 0: no job, only the host and its
                             GPUs are measured */
    unsigned flags;       /* SPOOR_CALLER_SPAWNED, ... */
    uint64_t interval_ns; /* between samples: SPOOR_INTERVAL_MIN_NS to _MAX_NS */
    enum spoor_detail detail;
    const char *name;           /* label for this run, or NULL */
    const char *const *tags;    /* NULL-terminated "KEY=VALUE" strings, or NULL */
    const char *const *command; /* NULL-terminated arguments; NULL: read from /proc */
    const char *root;           /* directory to use instead of "/", or NULL */
    enum spoor_cgroup cgroup;   /* used with SPOOR_CALLER_SPAWNED only */
    const char *cgroup_folder;  /* a cgroup delegated to the user, or NULL; with
                                   SPOOR_TRACK_CGROUP: the cgroup to track */
    const char *gpus; /* the GPUs assigned to the job: "all", "none", or a comma-separated
                         list of numbers ("0-3"; "0:1" is a MIG device), UUIDs and PCI
                         addresses; NULL: taken from the job's environment; all if there
                         is no job */
    spoor_sample_seen *sample_seen;     /* NULL: none */
    void *sample_data;                  /* passed to sample_seen */
    const struct spoor_stream *streams; /* SPOOR_STREAMS_MAX at most */
    size_t stream_count;
    uint64_t second_sample_ns;  /* when to take the second sample, on CLOCK_MONOTONIC; 0: an
                                  interval after the first */
    uint64_t budget_millionths; /* limit of the tracker, as a share of the job's CPU
                                   time; UINT64_MAX: no limit; 0: the default */
    const char *id;             /* ID of the run: 32 hexadecimal digits; NULL: random */
    double co2e_grams_per_kwh;  /* carbon intensity times PUE; 0: unknown */
};
#define SPOOR_OPTIONS_INIT                                                                \
    {                                                                                     \
        sizeof(struct spoor_options), 0, 0, 1000000000ull, SPOOR_DETAIL_AUTO, NULL, NULL, \
            NULL, NULL, SPOOR_CGROUP_AUTO, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, NULL, 0 \
    }

/* Checks the syntax of a list for options.gpus. Does not query any driver. */
SPOOR_API int spoor_check_gpus(const char *gpus, struct spoor_error *err);

typedef struct spoor_session spoor_session;

/* Opens a session for an existing process, or for the host alone. Nothing is measured yet. On
 * success the caller owns *ret and must close it. ESRCH: no such process, or no process in the
 * cgroup; ENOENT: no such cgroup; EINVAL: an option is out of range, or `pid` is a thread. */
SPOOR_API int spoor_session_open(const struct spoor_options *options, spoor_session **ret,
                                 struct spoor_error *err);

/* Takes the first sample, then starts the sampling thread. */
SPOOR_API int spoor_session_start(spoor_session *session, struct spoor_error *err);

/* With SPOOR_HOLD_SAMPLES: call this when the job has started. The sampling thread then
 * replaces the files of streams and delivers the latest sample and all later ones. */
SPOOR_API void spoor_session_release_samples(spoor_session *session);

/* Makes the sampling thread take an extra sample now, and waits for it. EINVAL: the session is
 * not running; ETIMEDOUT: the thread hangs. */
SPOOR_API int spoor_session_sample(spoor_session *session, struct spoor_error *err);

/* A phase is a named part of the run with its own figures. Phases may nest and
 * overlap. A name may be used again; each use is a separate phase. stop ends the
 * most recently started open phase of that name (ENOENT: none is open). Both
 * functions take a sample, so short phases have figures too. After the first 255
 * phases, further ones are added to the last phase of the same name, or to one named
 * "(others)", and the report has a warning. */
SPOOR_API int spoor_phase_start(spoor_session *session, const char *name,
                                struct spoor_error *err);
SPOOR_API int spoor_phase_stop(spoor_session *session, const char *name,
                               struct spoor_error *err);

/* With SPOOR_CALLER_SPAWNED: call this for every child that has exited, before
 * reaping it. Reads the final figures of the zombie `pid`. -EAGAIN: a sample is being
 * taken, which may take long; do not reap the child yet, and call again. If the sampling
 * thread hangs (for 10 s), returns 0 without the figures. */
SPOOR_API int spoor_session_child_ended(spoor_session *session, pid_t pid);

/* Call this with true before the caller stops its own process, for example by SIGSTOP, and with
 * false after the process is continued. Samples missed meanwhile are not counted as late. */
SPOOR_API void spoor_session_note_stop(spoor_session *session, bool is_stopping);

/* Call this when the job has ended: the run ends now, even if the last sample is taken
 * later. */
SPOOR_API void spoor_session_note_end(spoor_session *session);

/* Sets the wait(2) status of the main process. Without this call the report has
 * neither exit code nor signal. */
SPOOR_API void spoor_session_set_wait_status(spoor_session *session, int wait_status);

/* Adds a warning to the report. `code` is one word. At most 64 warnings are kept. */
SPOOR_API void spoor_session_warn(spoor_session *session, const char *code,
                                  const char *message);

/* Returns the message of the warning with this code, or NULL if there is none. The code is
 * "samples-lost" if rows could not be written; that warning is added when the session stops.
 * The message is valid until the session is closed. */
SPOOR_API const char *spoor_session_warning(spoor_session *session, const char *code);

/* Ends a stream with a last row, for which a sample is taken now; the session and its other
 * streams go on. Streams are numbered from 0 as in options.streams. EINVAL: there is no such stream,
 * or the session is not running. */
SPOOR_API int spoor_session_end_stream(spoor_session *session, size_t stream,
                                       struct spoor_error *err);

/* Returns how many rows of a stream could not be written; 0 until the session has stopped. Rows
 * after the reader of a pipe closed its end do not count. If rows were lost, *reason is set to
 * the cause. */
SPOOR_API uint64_t spoor_session_lost_rows(spoor_session *session, size_t stream,
                                           const char **reason);

/* Takes the last sample, ends open phases and the sampling thread. Does not touch the
 * job: its remaining processes keep running. May be called more than once. ETIMEDOUT: the
 * thread hangs, in a read of /proc or in the callback, for 10 s or `timeout_ns`. A report can
 * still be written, without the last sample; a later call waits again. */
SPOOR_API int spoor_session_stop(spoor_session *session, struct spoor_error *err);
SPOOR_API int spoor_session_stop_within(spoor_session *session, uint64_t timeout_ns,
                                        struct spoor_error *err);

/* Bits of the flags of spoor_session_write(). */
enum {
    SPOOR_COLOR = 1u << 0, /* text with terminal colors */
};

/* Writes a report of the run so far to a descriptor. Text is as wide as the terminal, from 60
 * to 160 columns, or 80 columns wide if the descriptor is not a terminal. */
SPOOR_API int spoor_session_write(spoor_session *session, enum spoor_format format,
                                  unsigned flags, int fd, struct spoor_error *err);

struct spoor_cloud;

/* Sets the cloud that the machine belongs to, for `host.cloud` of the report. The library does
 * not detect it. The struct and its texts must stay valid until the session is closed; NULL:
 * unknown. */
SPOOR_API void spoor_session_set_cloud(spoor_session *session, const struct spoor_cloud *cloud);

/* Sets how many processes a text report lists, those with the most CPU time first (default: 0;
 * SIZE_MAX: three, if there are several). */
SPOOR_API void spoor_session_show_processes(spoor_session *session, size_t count);

/* How spoor_session_save() treats an existing file. */
enum spoor_save {
    SPOOR_REPLACE,    /* replace it atomically, by renaming a temporary file; its mode stays */
    SPOOR_APPEND,     /* append to it, without a second CSV header; EINVAL: the file has other
                     columns, or the format is a single document, such as HTML */
    SPOOR_NO_CLOBBER, /* fail with EEXIST */
};

/* Writes the report to a file, or to the descriptor, device or named pipe that `path` names
 * (/dev/stderr, /dev/fd/N). Does not follow symbolic links to files. */
SPOOR_API int spoor_session_save(spoor_session *session, enum spoor_format format,
                                 const char *path, enum spoor_save how,
                                 struct spoor_error *err);

/* Closes a session. Accepts NULL; always returns NULL. */
SPOOR_API spoor_session *spoor_session_close(spoor_session *session);

/* ---- figures: the values of a report ------------------------------------ */

struct spoor_figure {
    double value;       /* NaN: not measured */
    double low, high;   /* bounds of a sampled peak; NaN: none */
    const char *source; /* where the value was read; NULL if value is NaN */
    const char *reason; /* why it was not measured; NULL if value is known */
    bool is_exact;
};

/* Gets one figure of the run so far by its path in the JSON report, for example
 * "memory.combined.total_rss_bytes". ENOENT: unknown figure. */
SPOOR_API int spoor_session_figure(spoor_session *session, const char *path,
                                   struct spoor_figure *ret, struct spoor_error *err);

/* ---- processes: each process of the job and its usage --------------------- */

/* Times are in seconds since the start of the run. NaN: unknown. */
struct spoor_process {
    pid_t pid;
    pid_t parent_pid;  /* 0: unknown */
    char name[64];     /* as in /proc/PID/comm; any bytes; empty: unknown */
    char command[264]; /* one line, quoted for a shell; a truncated one ends in "..."; empty:
                          unknown */
    double started_seconds; /* negative: the process ran before the session was opened */
    double ended_seconds;   /* NaN: the process was still running */
    double cpu_seconds;     /* without its children */
    double peak_rss_bytes;
    double read_bytes, written_bytes; /* on disks */
    double gpu_memory_bytes;          /* highest value seen, over all GPUs together */
    int exit_code;                    /* 128 + N if signal N killed it; -1: unknown */
    char signal[24];                  /* "SIGKILL"; empty: no signal killed it */
};

/* Copies at most `capacity` of the largest processes, in the order in which they started: the hundred
 * with the most CPU time and the hundred with the most memory. Returns how many there are, at most
 * 200, or -ENOMEM; -EAGAIN: the sampling thread hangs. The JSON report also has the sum of all
 * others. */
SPOOR_API ssize_t spoor_session_processes(spoor_session *session, struct spoor_process *list,
                                          size_t capacity);

/* ---- metrics: the values of a sample ------------------------------------ */

enum spoor_metric_kind {
    SPOOR_GAUGE,   /* a level, such as bytes in use */
    SPOOR_COUNTER, /* a total that never decreases, such as seconds of CPU time */
};

struct spoor_metric {
    const char *name; /* "job_rss_bytes" */
    const char *help; /* one sentence */
    const char *rate; /* name of its rate, for example "job_cpu_cores", or NULL */
    enum spoor_metric_kind kind;
};

/* A sample has spoor_metric_count() metrics, numbered from 0. Their order is not part of the
 * ABI. */
SPOOR_API size_t spoor_metric_count(void);
SPOOR_API const struct spoor_metric *spoor_metric_get(size_t index);

/* Copies at most `count` values of the latest sample: values[i] is metric i, or
 * NaN. Returns the number of metrics, or -EAGAIN before the first sample. */
SPOOR_API ssize_t spoor_session_latest(spoor_session *session, double *values, size_t count);

/* Calls `each` for every GPU assigned to the job, as of the latest sample. The UUID is valid
 * only during the call. */
SPOOR_API void spoor_session_latest_gpus(spoor_session *session,
                                         void (*each)(const struct spoor_gpu_sample *gpu,
                                                      void *data),
                                         void *data);

/* Returns when the latest sample was taken, in seconds since the first one; NaN: none was
 * taken. */
SPOOR_API double spoor_session_latest_seconds(spoor_session *session);

/* ---- agents: a tracker in a separate process ---------------------------- */

/* The name of an agent process, as in /proc/PID/comm. Trackers do not count agents: a live
 * process of this name whose executable is called spoor..., or a dead process of this name,
 * belongs to no job. */
#define SPOOR_AGENT_NAME "spoor-agent"

/* Starts an agent, for example `spoor agent --pid PID`. It does not become a child of the
 * caller: the caller gets no SIGCHLD for it, and wait() does not find it. The caller's memory
 * is not copied. `path` is the executable; `arguments` starts with the program name and ends
 * with NULL. The two descriptors, both above 2, become its standard input and output; its
 * standard error is /dev/null. An agent exits when its input is closed.
 *
 * Returns the PID of the agent. A caller that adopts orphans (a subreaper, or PID 1 of a
 * container without an init) becomes the parent of the agent: it can reap the agent by
 * waitpid() for this PID. For all other callers waitpid() fails with ECHILD. */
SPOOR_API int spoor_agent_start(const char *path, char *const *arguments, int input_fd,
                                int output_fd, struct spoor_error *err);

/* ---- the machine -------------------------------------------------------- */

/* One source of a quantity, and whether it is available on this machine. */
struct spoor_source {
    const char *quantity; /* "CPU time of a job" */
    const char *source;   /* "cgroup.cpu.stat" */
    bool is_available;
    const char *why_not; /* NULL if it is available */
    const char *remedy;  /* a command or step that would make it available, or NULL */
};

/* Calls `each` for every source, the best source of a quantity first. A run with these
 * options uses the first that is available. `options` may be NULL; its `pid` is
 * ignored. The strings are valid only during the call. */
SPOOR_API int spoor_machine_check(const struct spoor_options *options,
                                  void (*each)(const struct spoor_source *source, void *data),
                                  void *data, struct spoor_error *err);

/* The place of the machine in its cloud. The library does not look it up, since that takes a
 * request over the network. NULL: unknown. */
struct spoor_cloud {
    size_t size;        /* sizeof(struct spoor_cloud) */
    const char *vendor; /* "aws"; NULL: the machine is not known to belong to a cloud */
    const char *region, *zone;
    const char *instance_type; /* "g4dn.xlarge" */
    const char *account;
    const char *reason; /* why some members are unknown; NULL: none given */
};

/* Writes a description of the machine and its GPUs as SPOOR_TEXT or SPOOR_JSON. `gpus` is as in
 * struct spoor_options; `cloud` may be NULL; `flags` is as in spoor_session_write(). Waits at
 * most 2 s for GPU drivers; the description mentions drivers that did not respond. */
SPOOR_API int spoor_machine_write(const char *root, const char *gpus,
                                  const struct spoor_cloud *cloud, enum spoor_format format,
                                  unsigned flags, int fd, struct spoor_error *err);

/* A GPU or a part of one (a MIG device). Parts follow their GPU in the list. The strings are
 * valid only during the call; they come from drivers and may contain any bytes. */
struct spoor_gpu {
    unsigned index;          /* number in options.gpus; for a part, the number of its GPU */
    const char *uuid;        /* the PCI address if the GPU has no UUID */
    const char *name;        /* "NVIDIA H200" */
    const char *vendor;      /* "nvidia", "amd", "intel" */
    const char *pci_address; /* "0000:3b:00.0"; empty for a part */
    uint64_t memory_bytes;   /* UINT64_MAX: unknown */
    bool is_part;
    bool is_selected; /* assigned to the job */
    int part;         /* number of the part, 1 in "0:1"; -1: a whole GPU */
};

/* Whether this machine may have GPUs. Cheap: does not query any driver. */
SPOOR_API bool spoor_may_have_gpus(const char *root);

/* Calls `each` for every GPU of the machine; `selection` is like options.gpus. Queries the
 * drivers in a thread that is abandoned if they do not respond within 2 s (ETIMEDOUT). A
 * machine without GPUs is not an error. ENOENT: the selection names a GPU that does not exist;
 * ENOTUNIQ: a name matches several GPUs. Any other error: a driver cannot be used. */
SPOOR_API int spoor_gpu_list(const char *root, const char *selection,
                             void (*each)(const struct spoor_gpu *gpu, void *data), void *data,
                             struct spoor_error *err);

/* Calls `each` for every GPU of a session, as of its latest sample. Does not query the drivers.
 * EAGAIN: the drivers have not responded yet. */
SPOOR_API int spoor_session_gpus(spoor_session *session,
                                 void (*each)(const struct spoor_gpu *gpu, void *data),
                                 void *data, struct spoor_error *err);

#ifdef __cplusplus
}
#endif

#endif
