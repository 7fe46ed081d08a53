/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spoor.h - measure what one job uses: CPU, memory, I/O, network, time.
 *
 * A session follows one job: a process and everything it starts. Open it,
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
 * Failure. Every function that can fail returns 0 or a negative errno value
 * and, where `err` is not NULL, explains the failure in it. The library never
 * prints, never exits and installs no signal handler.
 *
 * Values. A figure that could not be measured is NaN, with a reason; it is
 * never 0. Figures are in base units, which their names end with: seconds,
 * bytes, cores (seconds of CPU time per second).
 *
 * Threads. A started session owns one thread, with all signals blocked. Any
 * thread may call any function of a session, except that nothing may use a
 * session while or after it is closed.
 *
 * Strings and options are copied where they are given; a caller may free them.
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

/* The version of the library in use: "major.minor.patch". */
SPOOR_API const char *spoor_version(void);

struct spoor_error {
    int code;          /* errno value; 0 when nothing failed */
    char message[240]; /* one line, without a final newline */
};

enum spoor_format {
    SPOOR_TEXT, /* one screen for people */
    SPOOR_JSON, /* schema spoor/1 */
    SPOOR_CSV,  /* a header and one row */
};

/* The format of a name ("text", "json", "csv"), and the one that a file name ends with (".txt",
 * ".json", ".csv"). false: there is none, and *ret is untouched. */
SPOOR_API bool spoor_format_for_name(const char *name, enum spoor_format *ret);
SPOOR_API bool spoor_format_for_path(const char *path, enum spoor_format *ret);

/* When private and shared memory are read. They need a walk over the job's
 * page tables, about 6 ms per GiB, during which its memory calls wait. */
enum spoor_detail {
    SPOOR_DETAIL_AUTO,   /* when memory has moved, at most 1/300 of the time */
    SPOOR_DETAIL_ALWAYS, /* at every sample, whatever it costs */
    SPOOR_DETAIL_NEVER,
};

/* Whether the job gets a cgroup of its own, where the kernel keeps exact totals of it. */
enum spoor_cgroup {
    SPOOR_CGROUP_AUTO,    /* where that can be done without harm; else without */
    SPOOR_CGROUP_OFF,     /* never */
    SPOOR_CGROUP_REQUIRE, /* fail with ENOTSUP where its memory cannot be counted so */
};

/* Bits of spoor_options.flags. */
enum {
    /* The caller is the job's parent and child subreaper: it forked `pid`,
     * which has not called exec yet, adopts the job's orphans, has no other
     * children, and calls spoor_session_child_ended() before it reaps one. */
    SPOOR_CALLER_SPAWNED = 1u << 0,
    /* Add to the samples file instead of replacing it. */
    SPOOR_SAMPLES_APPEND = 1u << 1,
    /* Fail with EEXIST where the samples file exists. */
    SPOOR_SAMPLES_NO_CLOBBER = 1u << 2,
};

#define SPOOR_INTERVAL_MIN_NS 1000000ull       /* 1 ms */
#define SPOOR_INTERVAL_MAX_NS 3600000000000ull /* 1 h */

/* One sample, as it is taken. It and its values are valid during the call. */
struct spoor_sample {
    double elapsed_seconds; /* since the first sample */
    double unix_seconds;    /* since 1970, UTC */
    const double *values;   /* values[i] is metric i (spoor_metric_get), or NaN */
    size_t count;
};

/* Called after every sample, the first and the last included; calls never overlap. It runs in
 * the sampling thread (the first and last sample: in the thread that starts or stops the
 * session), which waits for it: be quick, and call no function of the session. */
typedef void spoor_sample_seen(const struct spoor_sample *sample, void *data);

/* Start from SPOOR_OPTIONS_INIT, so that fields added later keep their default. */
struct spoor_options {
    size_t size;          /* sizeof(struct spoor_options): lets the ABI grow */
    pid_t pid;            /* the job's first process */
    unsigned flags;       /* SPOOR_CALLER_SPAWNED, ... */
    uint64_t interval_ns; /* time between two samples; MIN to MAX above */
    enum spoor_detail detail;
    const char *name;           /* what the user calls this run, or NULL */
    const char *const *tags;    /* "KEY=VALUE", ended by NULL; or NULL */
    const char *const *command; /* arguments, ended by NULL; NULL: asked of the kernel */
    const char *samples_path;  /* a row per sample goes here: FILE.csv or FILE.jsonl; or NULL */
    const char *root;          /* folder that stands for "/"; NULL is "/" */
    enum spoor_cgroup cgroup;  /* with SPOOR_CALLER_SPAWNED */
    const char *cgroup_folder; /* a cgroup that was delegated to the user, or NULL */
    const char *gpus; /* which GPUs are the job's: "all", "none", or numbers ("0-3"; "0:1" is
                         a part), UUIDs and PCI addresses, commas between them; NULL: as its
                         environment says */
    spoor_sample_seen *sample_seen; /* NULL: none */
    void *sample_data;              /* handed to sample_seen */
};
#define SPOOR_OPTIONS_INIT                                                                \
    {                                                                                     \
        sizeof(struct spoor_options), 0, 0, 1000000000ull, SPOOR_DETAIL_AUTO, NULL, NULL, \
            NULL, NULL, NULL, SPOOR_CGROUP_AUTO, NULL, NULL, NULL, NULL                   \
    }

/* Could that be a list for options.gpus? Looks at its form alone: no driver is asked. */
SPOOR_API int spoor_check_gpus(const char *gpus, struct spoor_error *err);

typedef struct spoor_session spoor_session;

/* Opens a session on a process that exists. Nothing is measured yet. On success
 * the caller owns *ret and closes it. ESRCH: no such process; EINVAL: an option
 * is out of range, or `pid` is a thread. */
SPOOR_API int spoor_session_open(const struct spoor_options *options, spoor_session **ret,
                                 struct spoor_error *err);

/* Takes the first sample, then starts the thread that takes the others. */
SPOOR_API int spoor_session_start(spoor_session *session, struct spoor_error *err);

/* Takes a sample now, besides those the thread takes. */
SPOOR_API int spoor_session_sample(spoor_session *session, struct spoor_error *err);

/* A phase is a named part of the run, with a result of its own. Phases may nest
 * and overlap, and a name may come again: each is a phase of its own. stop ends
 * the newest open phase of that name (ENOENT: there is none). Both take a sample,
 * so that short phases have figures too. ENOSPC: more than 256 phases. */
SPOOR_API int spoor_phase_start(spoor_session *session, const char *name,
                                struct spoor_error *err);
SPOOR_API int spoor_phase_stop(spoor_session *session, const char *name,
                               struct spoor_error *err);

/* With SPOOR_CALLER_SPAWNED: `pid` has ended and is about to be reaped by the
 * caller. Reads the last figures of the zombie. To be called for every child. */
SPOOR_API void spoor_session_child_ended(spoor_session *session, pid_t pid);

/* How the job's first process ended, as wait(2) reports it. Not known otherwise. */
SPOOR_API void spoor_session_set_wait_status(spoor_session *session, int wait_status);

/* Adds a warning to the report. `code` is one word; both are copied. At most 64
 * are kept. */
SPOOR_API void spoor_session_warn(spoor_session *session, const char *code,
                                  const char *message);

/* Ends the thread, takes the last sample and closes the open phases. May be
 * called twice. What is left of the job goes on. */
SPOOR_API int spoor_session_stop(spoor_session *session, struct spoor_error *err);

/* Flags of spoor_session_write(). */
enum {
    SPOOR_COLOR = 1u << 0, /* text with terminal colours */
};

/* Writes the report on the run so far to a descriptor. Text is as wide as that terminal, 60 to
 * 160 columns, and 80 wide elsewhere. */
SPOOR_API int spoor_session_write(spoor_session *session, enum spoor_format format,
                                  unsigned flags, int fd, struct spoor_error *err);

/* How spoor_session_save() treats a file that exists. */
enum spoor_save {
    SPOOR_REPLACE,    /* written to a temporary file beside it, then renamed */
    SPOOR_APPEND,     /* added to; CSV gets no second header */
    SPOOR_NO_CLOBBER, /* fails with EEXIST */
};

/* Writes the report to a file. No symbolic link is followed. */
SPOOR_API int spoor_session_save(spoor_session *session, enum spoor_format format,
                                 const char *path, enum spoor_save how,
                                 struct spoor_error *err);

/* Closes a session and always returns NULL. Accepts NULL. */
SPOOR_API spoor_session *spoor_session_close(spoor_session *session);

/* ---- figures: what the report holds, one by one ------------------------- */

struct spoor_figure {
    double value;       /* NaN: not measured */
    double low, high;   /* bounds of a sampled peak; NaN where there are none */
    const char *source; /* where it came from; NULL where value is NaN */
    const char *reason; /* why it is not measured; NULL where value is known */
    bool is_exact;
};

/* One figure of the run so far, by its place in the JSON report, as
 * "memory.combined.total_rss_bytes". ENOENT: there is no such figure. */
SPOOR_API int spoor_session_figure(spoor_session *session, const char *path,
                                   struct spoor_figure *ret, struct spoor_error *err);

/* ---- metrics: what a sample holds --------------------------------------- */

enum spoor_metric_kind {
    SPOOR_GAUGE,   /* a level, as bytes in use */
    SPOOR_COUNTER, /* a total that only grows, as seconds of CPU time */
};

struct spoor_metric {
    const char *name; /* "job_rss_bytes" */
    const char *help; /* one sentence */
    const char *rate; /* name of the metric's rate, as "job_cpu_cores", or NULL */
    enum spoor_metric_kind kind;
};

/* The metrics of a sample, 0 to count - 1. Their order is not part of the ABI. */
SPOOR_API size_t spoor_metric_count(void);
SPOOR_API const struct spoor_metric *spoor_metric_get(size_t index);

/* Copies the latest sample: values[i] is metric i, or NaN. Returns how many
 * metrics there are, or -EAGAIN before the first sample. */
SPOOR_API ssize_t spoor_session_latest(spoor_session *session, double *values, size_t count);

/* ---- agents: a tracker beside the program that it tracks ---------------- */

/* The name of an agent's process, as in /proc/PID/comm. A living process of that name which
 * runs a file called spoor..., and a dead one, are of no job: no tracker counts another. */
#define SPOOR_AGENT_NAME "spoor-agent"

/* Starts a program, as that of `spoor agent --pid PID`, which is nobody's child: the caller gets no
 * SIGCHLD, and none of its calls of wait() finds it. None of the caller's memory is copied.
 * `path` is its file; the arguments begin with its name and are ended by NULL. Its standard
 * input and output are the two descriptors, its standard error is /dev/null. An agent ends when
 * its input does. */
SPOOR_API int spoor_agent_start(const char *path, char *const *arguments, int input_fd,
                                int output_fd, struct spoor_error *err);

/* ---- the machine -------------------------------------------------------- */

/* One rung of the measuring ladder: a source, and whether it serves here. */
struct spoor_rung {
    const char *quantity; /* "CPU of the job" */
    const char *source;   /* "perf task-clock" */
    bool is_available;
    const char *why_not; /* NULL where it is available */
    const char *remedy;  /* a command or step that would change it, or NULL */
};

/* Calls `each` for every rung, best source of a quantity first. The strings are
 * valid during the call. */
SPOOR_API int spoor_machine_check(const char *root,
                                  void (*each)(const struct spoor_rung *rung, void *data),
                                  void *data, struct spoor_error *err);

/* Writes what machine this is, and its GPUs: as SPOOR_TEXT or SPOOR_JSON. `gpus` as in the
 * options. Asks GPU drivers, for 2 s at most; where they do not answer it says that. */
SPOOR_API int spoor_machine_write(const char *root, const char *gpus, enum spoor_format format,
                                  int fd, struct spoor_error *err);

/* A GPU, or a part of one (MIG device), which follows it in the list. The strings are valid
 * during the call that gives them; they come from drivers and may hold any bytes. */
struct spoor_gpu {
    unsigned index;   /* its number in options.gpus; of a part: that of the GPU it belongs to */
    const char *uuid; /* or its PCI address, where it has none */
    const char *name; /* "NVIDIA H200" */
    const char *vendor;      /* "nvidia", "amd", "intel" */
    const char *pci_address; /* "0000:3b:00.0"; empty for a part */
    uint64_t memory_bytes;   /* UINT64_MAX: not known */
    bool is_part;
    bool is_selected; /* it is one of the job's */
    int part; /* which of the GPU's parts: options.gpus has it as "0:1"; -1: the whole */
};

/* May this machine have GPUs? Costs little: no driver is asked. */
SPOOR_API bool spoor_may_have_gpus(const char *root);

/* Calls `each` for every GPU of the machine; `selection` as options.gpus. Asks the drivers,
 * in a thread that is left behind where they do not answer within 2 s. ETIMEDOUT: so it was;
 * ENOENT: the selection names one that is not there; ENOTUNIQ: several start so; others: there is
 * a driver that cannot be used. */
SPOOR_API int spoor_gpu_list(const char *root, const char *selection,
                             void (*each)(const struct spoor_gpu *gpu, void *data), void *data,
                             struct spoor_error *err);

/* The same for a session, as of its latest sample, without asking. EAGAIN: the drivers have not
 * answered yet. */
SPOOR_API int spoor_session_gpus(spoor_session *session,
                                 void (*each)(const struct spoor_gpu *gpu, void *data),
                                 void *data, struct spoor_error *err);

#ifdef __cplusplus
}
#endif

#endif
