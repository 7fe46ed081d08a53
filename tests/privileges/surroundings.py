# SPDX-License-Identifier: Apache-2.0
"""The environments in which spoor is run, and the expected result in each: the sources of each quantity, the reason
for each unknown quantity, and doctor's row for each source that does not work.

The sources are in the order of docs/MEASURING.md. "wait4" with perf is exact unless perf counted over 2 % more,
which depends on the machine's other load: EITHER.
"""
import contextlib
import dataclasses
import os
import pathlib
import platform
import re
import subprocess
import time

NOBODY = 65534
CGROUPS = pathlib.Path("/sys/fs/cgroup")
EXACT, SAMPLED, EITHER = "exact", "sampled", "either"

# The quantities: their paths in the report, and their names in the table.
QUANTITIES = {
    "cpu.total_seconds": "CPU time",
    "cpu.user_seconds": "user and system",
    "cpu.page_faults.minor": "page faults",
    "cpu.context_switches.voluntary": "context switches",
    "cpu.main.mean_cores": "CPU time of main",
    "cpu.threads.combined": "threads",
    "memory.main.total_rss_bytes": "peak of main",
    "memory.combined.total_rss_bytes": "peak of the job",
    "memory.main.private_rss_bytes": "private memory",
    "memory.job_peak_bytes": "peak with page cache",
    "processes.started": "processes started",
    "io.written_chars": "I/O",
    "pressure.cpu_seconds": "pressure",
    "events.oom_kills": "OOM kills",
}


@dataclasses.dataclass(frozen=True)
class Found:
    source: str
    how: str = SAMPLED


@dataclasses.dataclass(frozen=True)
class Unknown:
    reason: str


# ---- what a run reports ------------------------------------------------------

def counted(how):
    """A figure known from the processes that were waited for; exact if no process can be
    missing."""
    return {"cpu.page_faults.minor": Found("wait4", how),
            "cpu.context_switches.voluntary": Found("wait4", how),
            "io.written_chars": Found("procfs.io", how)}


BEST = {
    "cpu.total_seconds": Found("cgroup.cpu.stat", EXACT),
    "cpu.user_seconds": Found("cgroup.cpu.stat", EXACT),
    **counted(EXACT),
    "cpu.main.mean_cores": Found("procfs.cpuclock", EXACT),
    "cpu.threads.combined": Found("cgroup.pids.peak", EXACT),
    "memory.main.total_rss_bytes": Found("wait4.ru_maxrss", EXACT),
    "memory.combined.total_rss_bytes": Found("procfs.smaps_rollup", EITHER),  # exact if the value equals its bound
    "memory.main.private_rss_bytes": Found("procfs.smaps_rollup", EITHER),  # likewise, after the child's exit
    "memory.job_peak_bytes": Found("cgroup.memory.max_usage_in_bytes", EXACT),
    "processes.started": Found("proc-connector", EXACT),
    "pressure.cpu_seconds": Found("cgroup.cpu.pressure", EXACT),
    "events.oom_kills": Found("cgroup.oom_kill", EXACT),
}


def without_cgroup(reason, how=EITHER):
    """The job has no cgroup. `how`: EXACT, SAMPLED or EITHER for figures of waited-for
    processes."""
    return {**BEST, **counted(how),
            "cpu.total_seconds": Found("wait4", how),
            "cpu.user_seconds": Found("wait4", how),
            "cpu.threads.combined": Found("procfs.stat"),
            "memory.job_peak_bytes": Unknown(reason),
            "pressure.cpu_seconds": Found("host.procfs.pressure", EXACT)}


OTHERS = "the cgroup belongs to another user"
INVISIBLE = "no cgroup is visible here"
READ_ONLY = "cgroups are read-only here, as in most containers"
UNCOUNTED = "the cgroup of the job has no controller for it"
SLURM = "the cgroups of a Slurm step are managed by Slurm"
NO_PROC = "/proc belongs to another PID namespace"
RING = {"cpu.threads.combined": Found("perf.fork-ring", EXACT),
        "processes.started": Found("perf.fork-ring", EXACT)}
PART_OF_THE_RINGS = {figure: Found(found.source) for figure, found in RING.items()}
SEEN = {"processes.started": Found("procfs.children")}
HIDDEN_CGROUPS = {"events.oom_kills": Unknown("no readable cgroup has a memory controller")}
USER = without_cgroup(OTHERS)
USER_WITHOUT_PERF = without_cgroup(OTHERS, SAMPLED)

# For a process that is already running, its earlier usage, and the usage that only its parent
# receives, are missing.
ATTACHED = {
    **BEST,
    "cpu.total_seconds": Found("procfs.cpuclock"),
    "cpu.user_seconds": Found("procfs.stat"),
    "cpu.page_faults.minor": Found("procfs.stat"),
    "cpu.context_switches.voluntary": Unknown("known only at the end of a command started by spoor"),
    "io.written_chars": Found("procfs.io"),
    "cpu.threads.combined": Found("procfs.stat"),
    "memory.main.total_rss_bytes": Found("procfs.status.VmHWM"),
    "memory.job_peak_bytes": Unknown("the job was already running: only a job started by spoor gets "
                                     "its own cgroup"),
    "processes.started": Found("proc-connector"),
    "pressure.cpu_seconds": Found("host.procfs.pressure", EXACT),
}

FORBIDDEN = Unknown("permission denied: a process of another user or user namespace, or of a set-uid or "
                    "unreadable program")
ATTACHED_FROM_NAMESPACE = {
    **ATTACHED, **SEEN, "memory.combined.total_rss_bytes": Found("procfs.statm"),
    "memory.main.private_rss_bytes": FORBIDDEN, "io.written_chars": FORBIDDEN,
}

# ---- the output of doctor -----------------------------------------------------

OF_CGROUP = [
    ("CPU time of a job", "cgroup.cpu.stat"),
    ("peak memory of a job, with page cache", "cgroup.memory.peak"),
    ("page cache read again", "cgroup.memory.stat"),
    ("processes of a job", "cgroup.procs"),
    ("peak number of threads", "cgroup.pids.peak"),
    ("pressure stalls of the job", "cgroup pressure"),
]
VERIFIED = ("CPU time of a job", "wait4, verified by perf")
CONNECTOR = ("number of processes started", "proc-connector")
RING_STARTED = ("number of processes started", "perf.fork-ring")
RING_THREADS = ("peak number of threads", "perf.fork-ring")
EXIT_RECORDS = ("peak memory of processes never waited for", "taskstats")
WAITING = ("waiting for a CPU", "taskstats")  # works whenever EXIT_RECORDS works
FOREIGN = ("I/O and memory of other users' processes", "procfs.io, procfs.smaps")

CONNECTOR_IS_USED = {RING_THREADS: ("proc-connector is used", "")}
DELEGATE = "delegate a cgroup and pass --cgroup DIRECTORY"
ALLOW = "in a container, allow perf_event_open"
SYSCTL = "sysctl kernel.perf_event_paranoid=2; " + ALLOW
OUTSIDE = "run outside containers, with CAP_NET_ADMIN"
DENIED = "permission denied"
UNSUPPORTED = "not supported by this kernel"
NAMESPACE = {CONNECTOR: ("not available in this namespace, or not supported by this kernel",
                         "run outside containers and user namespaces")}


def no_cgroup(reason, fix, but=()):
    return {row: (reason, fix) for row in OF_CGROUP if row[1] not in but}


def no_perf(reason, fix):
    return {VERIFIED: (reason, fix), RING_STARTED: (reason, fix)}


NOT_ROOT = {EXIT_RECORDS: (DENIED, "run as root"),
            FOREIGN: (DENIED, "run as root; in a container, also allow CAP_SYS_PTRACE")}
NOT_ROOT_OUTSIDE = {EXIT_RECORDS: (DENIED, OUTSIDE),
                    FOREIGN: (DENIED, "in a container, allow CAP_SYS_PTRACE")}
USER_CGROUP = no_cgroup(OTHERS, "run as root, or " + DELEGATE)
USER_DOCTOR = {**CONNECTOR_IS_USED, **USER_CGROUP, **NOT_ROOT}
MOUNT_PROC = (NO_PROC, "mount /proc in this PID namespace (unshare --mount-proc)")
NO_PROC_DOCTOR = {row: MOUNT_PROC for row in [
    ("CPU time of a process", "procfs.stat"), ("peak memory of a job", "procfs.statm, between samples"),
    ("private and shared memory", "procfs.smaps_rollup"), ("processes of a job", "procfs.children"),
    ("processes of a job", "scan of /proc"), ("number of processes started", "processes seen by samples"),
    ("peak number of threads", "procfs.stat"), ("disk I/O", "procfs.io"), ("waiting for a CPU", "procfs.schedstat"),
    ("network bytes of a job", "sock_diag"), FOREIGN]}

# ---- how to get there ---------------------------------------------------------

AS_USER = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
IN_USER_NAMESPACE = [*AS_USER, "unshare", "-U", "-r"]
HIDING = ["unshare", "-m", "-p", "-f", "--mount-proc", "sh", "-c",
          # sh remains PID 1, which belongs to root.
          'mount -o remount,hidepid=2 /proc || exit 125; "$@"; exit $?', "sh"]
READING_ONLY = 'for tree in /sys/fs/cgroup/*; do mount -o remount,ro,bind "$tree" || exit 125; done'
# The capabilities that root has in Docker.
DOCKER_CAPABILITIES = "-all," + ",".join("+" + name for name in (
    "chown dac_override fowner fsetid kill setgid setuid setpcap net_bind_service net_raw sys_chroot "
    "mknod audit_write setfcap").split())


def mounting(script, *command):
    """Runs a command after a script, in a new mount namespace."""
    return ["unshare", "-m", "sh", "-c", f'{script} || exit 125; exec "$@"', "sh", *command]


def denying(error, calls, *command):
    return [*command, "{programs}/deny", error, calls]


BOTH = "perf_event_open,pidfd_open,pidfd_send_signal"
COVERED = mounting("mount -t tmpfs none /sys/fs/cgroup")
MANY_CPUS = mounting("mount --bind {programs}/online /sys/devices/system/cpu/online")


@dataclasses.dataclass(frozen=True)
class Surrounding:
    name: str
    enter: list = None       # prefix of the command
    run: dict = None         # the quantities of `spoor run`
    doctor: dict = None      # sources that do not work: (reason, fix)
    attach: dict = None      # the quantities of `spoor attach`; None: not tried
    needs: tuple = ()        # see `missing`
    environment: dict = dataclasses.field(default_factory=dict)
    delegated: tuple = ()    # trees in which the tracker is in a cgroup that belongs to its user
    given: str = ""          # the tree of --cgroup DIRECTORY


NEEDS_V1 = ("v1",)
NEEDS_USER = ("connector of users", "perf of users")
NEEDS_USER_NAMESPACE = (*NEEDS_USER, "user namespaces")
HERE = [
    Surrounding("root", [], BEST, CONNECTOR_IS_USED, ATTACHED, NEEDS_V1),
    Surrounding("user", AS_USER, USER, USER_DOCTOR, ATTACHED, NEEDS_USER),
    Surrounding("user, delegated cgroups (v1)", AS_USER, BEST, {**CONNECTOR_IS_USED, **NOT_ROOT},
                needs=(*NEEDS_V1, *NEEDS_USER), delegated=("memory", "pids", "cpuacct", "unified")),
    Surrounding("user, --cgroup DIRECTORY (v1 memory)", AS_USER,
                {**USER, "memory.job_peak_bytes": BEST["memory.job_peak_bytes"]},
                {**CONNECTOR_IS_USED, **NOT_ROOT, **no_cgroup(UNCOUNTED, "", but=("cgroup.memory.peak", "cgroup.memory.stat"))},
                needs=(*NEEDS_V1, *NEEDS_USER), given="memory"),
    Surrounding("user, delegated cgroup (v2, no controllers)", AS_USER,
                {**USER, "cpu.total_seconds": BEST["cpu.total_seconds"],
                 "cpu.user_seconds": BEST["cpu.user_seconds"],
                 "pressure.cpu_seconds": BEST["pressure.cpu_seconds"]},
                {**CONNECTOR_IS_USED, **NOT_ROOT, **{row: (OTHERS, "run as root, or " + DELEGATE) for row in (
                    ("peak memory of a job, with page cache", "cgroup.memory.peak"),
                    ("page cache read again", "cgroup.memory.stat"),
                    ("peak number of threads", "cgroup.pids.peak"))}},
                needs=(*NEEDS_V1, *NEEDS_USER), delegated=("unified",)),
    Surrounding("user namespace", IN_USER_NAMESPACE, {**USER, **RING},
                {**no_cgroup(OTHERS, DELEGATE), **NOT_ROOT_OUTSIDE, **NAMESPACE},
                ATTACHED_FROM_NAMESPACE, NEEDS_USER_NAMESPACE),
    Surrounding("rootless container", [*IN_USER_NAMESPACE, "-p", "-f", "--mount-proc"], {**USER, **RING},
                {**no_cgroup(OTHERS, DELEGATE), **NOT_ROOT_OUTSIDE, **NAMESPACE},
                needs=NEEDS_USER_NAMESPACE),
    Surrounding("container without /sys/fs/cgroup", COVERED,
                {**without_cgroup(INVISIBLE), **HIDDEN_CGROUPS},
                {**CONNECTOR_IS_USED, **no_cgroup(INVISIBLE, DELEGATE)}),
    Surrounding("container as of Docker", mounting(
        READING_ONLY, "unshare", "-p", "-f", "--mount-proc", "setpriv",
        f"--bounding-set={DOCKER_CAPABILITIES}", "--inh-caps=-all",
        *denying("EPERM", "perf_event_open")),
        {**without_cgroup(READ_ONLY, SAMPLED), **SEEN},
        {**no_cgroup(READ_ONLY, DELEGATE), **no_perf(DENIED, ALLOW), **NOT_ROOT_OUTSIDE, **NAMESPACE,
         RING_THREADS: (DENIED, ALLOW),
         EXIT_RECORDS: ("needs proc-connector or perf.fork-ring, below", OUTSIDE)}, needs=NEEDS_V1),
    Surrounding("hidepid=2, user", [*HIDING, *AS_USER], {**USER, **RING},
                {**USER_CGROUP, **NOT_ROOT, **NAMESPACE,
                 FOREIGN: ("they are hidden: /proc is mounted with hidepid",
                           "mount /proc without hidepid, or run as root")}, needs=NEEDS_USER),
    Surrounding("hidepid=2, root", HIDING, {**BEST, **RING}, {**NAMESPACE, EXIT_RECORDS: (DENIED, OUTSIDE)},
                needs=NEEDS_V1),
    Surrounding("PID namespace without its /proc", ["unshare", "-p", "-f"],
                {**without_cgroup(INVISIBLE), **HIDDEN_CGROUPS, **RING,
                 **{path: Unknown(NO_PROC) for path in (
                     "memory.main.total_rss_bytes", "memory.main.private_rss_bytes", "io.written_chars")},
                 "memory.combined.total_rss_bytes": Found("wait4.ru_maxrss")},
                {**no_cgroup(INVISIBLE, DELEGATE), **NAMESPACE, **NO_PROC_DOCTOR,
                 EXIT_RECORDS: (DENIED, OUTSIDE)}),
    # With this setting, Debian's kernels refuse perf to users with EACCES. This filter does the
    # same, so that no sysctl of the machine is changed; other kernels do not support the value.
    Surrounding("perf_event_paranoid=3, user", denying("EACCES", "perf_event_open", *AS_USER),
                USER_WITHOUT_PERF, {**USER_DOCTOR, **no_perf(DENIED, SYSCTL)}, ATTACHED, NEEDS_USER),
    Surrounding("no perf, no pidfd (EPERM), root", denying("EPERM", BOTH), BEST,
                {**CONNECTOR_IS_USED, **no_perf(DENIED, ALLOW)}, ATTACHED, NEEDS_V1),
    Surrounding("no perf, no pidfd (EPERM), user", denying("EPERM", BOTH, *AS_USER), USER_WITHOUT_PERF,
                {**USER_DOCTOR, **no_perf(DENIED, SYSCTL)}, ATTACHED, NEEDS_USER),
    Surrounding("no perf, no pidfd (ENOSYS), user", denying("ENOSYS", BOTH, *AS_USER), USER_WITHOUT_PERF,
                {**USER_DOCTOR, **no_perf(UNSUPPORTED, SYSCTL)}, ATTACHED, NEEDS_USER),
    Surrounding("no perf, user namespace", denying("EPERM", BOTH, *IN_USER_NAMESPACE),
                {**USER_WITHOUT_PERF, **SEEN},
                {**no_cgroup(OTHERS, DELEGATE), **no_perf(DENIED, ALLOW), **NOT_ROOT_OUTSIDE, **NAMESPACE,
                 RING_THREADS: (DENIED, ALLOW),
                 EXIT_RECORDS: ("needs proc-connector or perf.fork-ring, below", OUTSIDE)},
                needs=NEEDS_USER_NAMESPACE),
    Surrounding("16 CPUs, user namespace",
                [*MANY_CPUS, *IN_USER_NAMESPACE, "env", "LD_PRELOAD={programs}/many_cpus.so"],
                {**USER, **SEEN},
                {**no_cgroup(OTHERS, DELEGATE), **NOT_ROOT_OUTSIDE, **NAMESPACE,
                 **{row: ("more than 8 CPUs", "bind the job to at most 8 CPUs (taskset)")
                    for row in (RING_STARTED, RING_THREADS)},
                 EXIT_RECORDS: ("needs proc-connector or perf.fork-ring, below", OUTSIDE)},
                needs=NEEDS_USER_NAMESPACE),
    Surrounding("16 CPUs, bound to those here", [*MANY_CPUS, *IN_USER_NAMESPACE],
                {**USER, **PART_OF_THE_RINGS},  # a job can bind itself to the other CPUs
                {**no_cgroup(OTHERS, DELEGATE), **NOT_ROOT_OUTSIDE, **NAMESPACE},
                needs=(*NEEDS_USER_NAMESPACE, "8 CPUs at most")),
    Surrounding("Slurm step", [], without_cgroup(SLURM), {**CONNECTOR_IS_USED, **no_cgroup(SLURM, DELEGATE)},
                environment={"SLURM_JOB_ID": "1"}),
    Surrounding("root, cgroup v2 with controllers", needs=("v2",)),
    Surrounding("user, delegated cgroup (v2 with controllers)", needs=("v2",)),
]


# ---- what the machine must have -----------------------------------------------

def version():
    return tuple(map(int, re.match(r"(\d+)\.(\d+)", platform.release()).groups()))


def has_v1_trees():
    mounts = pathlib.Path("/proc/self/mounts").read_text()
    return all(re.search(rf" {CGROUPS}/{tree} cgroup2? ", mounts)
               for tree in ("memory", "pids", "cpuacct", "unified"))


def may_make_user_namespaces():
    return subprocess.run([*IN_USER_NAMESPACE, "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0


MACHINE = {
    "v1": (has_v1_trees, "cgroup v1 trees, and a v2 tree without controllers"),
    "v2": (lambda: False, "make vm covers it"),
    "connector of users": (lambda: version() >= (6, 6), "Linux 6.6, with which users may have process events"),
    "perf of users": (lambda: int(pathlib.Path("/proc/sys/kernel/perf_event_paranoid").read_text()) <= 2,
                      "perf_event_paranoid of 2 or less"),
    "user namespaces": (may_make_user_namespaces, "user namespaces for users"),
    "8 CPUs at most": (lambda: len(os.sched_getaffinity(0)) <= 8, "8 CPUs at most"),
}


def missing(surrounding):
    """Returns the missing requirements of the machine, as text; "" if none is missing."""
    return next((text for need in surrounding.needs for has, text in [MACHINE[need]] if not has()), "")


def own_cgroup(tree):
    """Returns the folder of this process's cgroup in a tree."""
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        if tree in (names.split(",") if names else ["unified"]):
            return CGROUPS / tree / path.lstrip("/")
    raise LookupError(tree)


def joining(cgroups):
    """Returns the prefix of a command that runs in these cgroups."""
    return ["sh", "-c", 'while [ "$1" != -- ]; do echo $$ >"$1/cgroup.procs" || exit 125; shift; done; '
            'shift; exec "$@"', "sh", *map(str, cgroups), "--"] if cgroups else []


def remove(cgroup):
    """Removes a cgroup. Waits for exiting processes, but not for a cgroup that was left inside."""
    deadline = time.monotonic() + 10
    while (cgroup / "cgroup.procs").read_text() and time.monotonic() < deadline:
        time.sleep(0.005)
    cgroup.rmdir()


@contextlib.contextmanager
def cgroups_of_user(trees):
    """Creates a cgroup that belongs to the user in each tree; at the end, these must be empty."""
    folders = []
    try:
        for tree in trees:
            folder = own_cgroup(tree) / f"spoor-privileges-{os.getpid()}-{id(trees):x}"
            folder.mkdir()
            folders.append(folder)
            for path in (folder, *folder.glob("cgroup.*")):
                os.chown(path, NOBODY, NOBODY)
        yield folders
    finally:
        for folder in folders:
            remove(folder)
