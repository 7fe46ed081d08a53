# SPDX-License-Identifier: Apache-2.0
"""The jobs of the truth suite, and the setups in which each is run: a user, the disabled sources, and
how tracking starts.

The first setups disable one more source each. Setups with a kind test one source with the cases that depend on it.
"""
import dataclasses

EVENTS = "cgroup,perf,ring,connector,taskstats"
EVERYTHING = EVENTS + ",clock,children,smaps"


@dataclasses.dataclass(frozen=True)
class Setup:
    name: str
    disable: str  # for SPOOR_DISABLE
    user: str     # root or user
    kind: str = ""  # run only cases of this kind; empty: all cases
    how: str = "run"  # run, attach, stopped, adopted or main only: see Runner
    quick: tuple = None  # the cases that `make test` runs; None: all
    options: tuple = ()  # options of spoor run


# Cases of these kinds run only in setups of their kind, and these setups run no other cases.
LONE_KINDS = ("stopped", "adopted", "main only")

SETUPS = [
    Setup("default", "", "root"),
    Setup("no cgroup", "cgroup", "root",
          quick=("spike 16 MB 5 ms", "200 not waited for", "sharing", "reaped writers", "2000 true")),
    Setup("no perf", "cgroup,perf", "root", quick=("200 short", "spike by read", "threads")),
    Setup("no events", EVENTS, "root", quick=("daemon", "copies on write", "orphan writes")),
    Setup("bare", EVERYTHING, "root", quick=("200 short", "spike 500 MB 100 ms", "reaped writers")),
    Setup("connector", "cgroup,ring", "root", kind="tree", quick=("200 short", "daemon")),
    Setup("children", "cgroup,ring,connector,taskstats", "root", kind="tree",
          quick=("child of a thread", "300 of 1 MB")),
    Setup("mappings", "cgroup", "root", kind="sharing",
          quick=("sharing", "parts of a file", "mapped twice"), options=("--detail", "always")),
    Setup("attach", "", "root", how="attach",
          quick=("daemon", "200 short", "mapped and written", "merged pages")),
    Setup("attach bare", EVERYTHING, "root", how="attach", quick=("threads", "spike by read")),
    Setup("stopped", "", "root", kind="stopped", how="stopped", quick=()),
    Setup("adopted", "", "root", kind="adopted", how="adopted", quick=()),
    Setup("main only", "", "root", kind="main only", how="main only", quick=()),
    Setup("default", "", "user"),
    Setup("no events", EVENTS, "user", quick=("huge pages", "200 short", "sharing")),
    Setup("stopped", "", "user", kind="stopped", how="stopped", quick=()),
    Setup("attach", "", "user", how="attach", quick=("threads", "sharing", "orphan writes")),
]


@dataclasses.dataclass(frozen=True)
class Case:
    """A program of programs/ with its arguments."""
    name: str
    command: str
    # What the case tests: memory (a short peak), tree (which processes belong to the job), sharing,
    # or the only kind of setup that it runs in: stopped, adopted, main only.
    kind: str = ""
    # {figure: maximum relative error}: required in the setups `must_setups`, at the default
    # interval.
    must: dict = dataclasses.field(default_factory=dict)
    options: tuple = ()      # options of spoor run
    must_setups: tuple = ("default",)  # setups in which `must` applies: names, or (name, user)
    launch: str = ""         # a shell command that ends in "$@", which starts spoor; $PROGRAMS: their folder
    warns: tuple = ()        # codes of warnings that are expected for this job
    can_attach: bool = True  # the figures are the same after an attach
    can_run: bool = True
    setups: tuple = ()        # (name, user); empty: all
    blind: tuple = ()        # names of setups whose sources cannot observe the job
    is_heavy: bool = False   # keeps more than one CPU busy
    is_quick: bool = True    # also runs in `make test`
    needs: str = ""          # hugetlb or ksm: a feature that root must enable first


PEAK = {"peak_rss_bytes": 0.03}
SPIKE = {"peak_rss_bytes": 0.03, "main_rss_bytes": 0.03}
SHARING = {"peak_rss_bytes": 0.05}
CPU = {"cpu_seconds": 0.02}
DAEMON = {"cpu_seconds": 0.02, "peak_rss_bytes": 0.03, "descendants_rss_bytes": 0.03}
TREE = {"cpu_seconds": 0.02, "processes": 0.02}
WRITTEN = {"written_chars": 0.02, "written_bytes": 0.02, "processes": 0.02}

NETWORK = {"loopback_received_bytes": 0.02, "loopback_sent_bytes": 0.02}

# Run once with and once without a cgroup: the case takes long and tests only that spoor copes with
# many process starts.
STORM_SETUPS = (("default", "root"), ("no cgroup", "root"))

# Bursts test peaks between samples: with and without a cgroup, as root and as a user, started by
# spoor.
BURST_SETUPS = (("default", "root"), ("no cgroup", "root"), ("default", "user"))
BEST = ("default", "no cgroup")
BURST = {"peak_rss_bytes": 0.05}
# The total size for each duration in ms, chosen so that the growth takes half of that time on two
# CPUs.
BURST_MB = {30: 40, 60: 40, 100: 80, 300: 160}


def burst(count, milliseconds, before, life="waiting", megabytes=None, is_quick=False):
    """Returns a case in which this many processes together hold the memory for this long."""
    size = megabytes or BURST_MB[milliseconds] // count
    after = {"rest": "after rest", "busy": "in busy work", "short": "amid short ones"}[before]
    lives = {"waiting": "", "new": ", new", "unwaited": ", unwaited"}[life]
    return Case(f"burst {count} x {size} MB {milliseconds} ms {after}{lives}",
                f"burst {count} {size} {milliseconds} {before} {life}", "memory",
                BURST if milliseconds >= 60 else {}, must_setups=BEST, setups=BURST_SETUPS,
                warns=("unwaited-children",) if life == "unwaited" else (), can_attach=False,
                is_heavy=True, is_quick=is_quick)


BURSTS = [burst(count, milliseconds, before)
          for count, milliseconds in [(1, 30), (1, 60), (2, 30), (2, 60), (2, 100), (4, 30), (4, 60),
                                      (4, 100), (4, 300), (8, 60), (8, 300)]
          for before in ("rest", "busy", "short")]
BURSTS += [burst(4, milliseconds, "rest", "new") for milliseconds in (30, 60, 100, 300)]
BURSTS += [burst(8, 2, "rest", "unwaited", 24)]

# A child that spoor inherits through exec. It is running when the job starts.
BESIDE = 'mkfifo f; "$PROGRAMS"/beside "$HOME"/report.json >f & read line <f; exec "$@"'
MANY_GROUPS = 'exec setpriv --groups "$(seq -s, 4000000001 4000000400)" "$@"'
ROOT_SETUPS = (("default", "root"), ("no cgroup", "root"), ("no events", "root"))
IGNORED = {"read_chars": 0.02, "processes": 0.02}
UNWAITED = ("unwaited-children",)
# As root, an exit record contains the usage of each process, even if no process waits for it.
EXIT_RECORDS = (("default", "root"), ("no cgroup", "root"))

# These cases failed when they were added: they are not run by `make test` until the bugs are fixed.
FAULTS = [
    Case("phases that read", "phases", "", {"read_chars": 0.02}, can_attach=False),
    Case("25 unwaited read", "unwaited 25 read 30", "tree", IGNORED, must_setups=EXIT_RECORDS,
         warns=UNWAITED, can_attach=False),
    Case("one unwaited writes", "unwaited 1 write 64", "tree", {"written_chars": 0.02},
         must_setups=EXIT_RECORDS, warns=UNWAITED, can_attach=False),
    Case("SIGCHLD ignored later", "then_ignore", "tree", TREE, must_setups=BEST, warns=UNWAITED,
         can_attach=False, is_quick=False),
    Case("affinity widened", "widen 24", "tree", {"processes": 0}, setups=BURST_SETUPS,
         launch='exec taskset -c 0 "$@"', can_attach=False, is_quick=False),
    Case("beside", "steady 50 1500", "tree", {**CPU, **SPIKE, "processes": 0}, launch=BESIDE,
         options=("--wait", "all"), can_attach=False, is_quick=False),
    Case("400 groups", "burst 1 40 5 rest waiting 300", "", PEAK, must_setups=BEST,
         launch=MANY_GROUPS, setups=ROOT_SETUPS, can_attach=False, is_quick=False),
    Case("10000 threads joined", "joined_threads 10000", "", CPU, is_quick=False),
    Case("3000 sleepers", "crowd 3000 16", "tree", SHARING, must_setups=("default", "no cgroup"),
         setups=(*BURST_SETUPS, ("no events", "user")), is_heavy=True, is_quick=False),
    Case("3000 sleepers of 8 MB", "crowd 3000 16 8", "tree", SHARING, must_setups=("default", "no cgroup"),
         setups=BURST_SETUPS, is_heavy=True, is_quick=False),
    Case("nothing", "nothing", "", is_quick=False),
    Case("20 in turn", "in_turn 20 30", "sharing", SHARING),
    Case("Python pool, fork", "pool.py fork", "sharing", can_attach=False, is_quick=False),
    Case("Python pool, forkserver", "pool.py forkserver", "sharing", can_attach=False,
         is_quick=False),
    *[Case(f"150 MB rewritten {milliseconds} ms", f"cow_break 150 300 {milliseconds}", "sharing",
           {"peak_rss_bytes": 0.05, "descendants_rss_bytes": 0.05}, must_setups=BEST, is_quick=False)
      for milliseconds in (20, 60, 100)],
    Case("zombie from before", "zombie 6", "tree", can_run=False, is_quick=False),
    Case("stopped tracker", "steady 50 500", "stopped", {**CPU, **SPIKE}, is_quick=False),
    Case("moved into a cgroup", "moved", "adopted", is_quick=False),
    Case("main only", "families", "main only", is_quick=False),
]

# Random trees: since the true process count is unknown, only the general rules apply, and no
# accuracy is required.
GENERATED_SETUPS = (*BURST_SETUPS, ("no events", "root"), ("no events", "user"))
SEEDS, QUICK_SEED = 12, 11
GENERATED = [Case(f"generated {seed}", f"generated {seed}", setups=GENERATED_SETUPS, warns=UNWAITED,
                  can_attach=False, is_heavy=True, is_quick=seed == QUICK_SEED)
             for seed in range(1, SEEDS + 1)]

CASES = [
    Case("spike 500 MB 100 ms", "spike 500 100 write", "memory", SPIKE),
    Case("spike 16 MB 5 ms", "spike 16 5 write", "memory", SPIKE),
    Case("spike by read", "spike 500 100 read", "memory", SPIKE),
    Case("small spike by read", "spike 16 5 read", "memory", SPIKE),
    Case("twins together", "twins together", "memory"),
    Case("twins apart", "twins apart", "memory"),
    Case("200 short", "many 200 20 wait", "tree", TREE, is_heavy=True),
    Case("200 not waited for", "many 200 20 ignore", "tree", TREE, warns=UNWAITED, is_heavy=True),
    # Without events, spoor cannot find a process that leaves the tree between two looks, nor its
    # usage.
    Case("daemon", "daemon 300 1000 stay", "tree", DAEMON, blind=("attach bare",)),
    Case("daemon left behind", "daemon 300 1000 leave", "tree", DAEMON, ("--wait", "all"),
         can_attach=False),
    Case("child of a thread", "thread_child", "tree", TREE),
    Case("exec chain", "chain", "memory", {**CPU, **SPIKE}, can_attach=False),
    Case("odd name", "rename", "tree", TREE),
    Case("sharing", "sharing", "sharing", SHARING),
    Case("copies on write", "cow_break 100 600 600", "sharing", SHARING),
    Case("page cache", "cache 1000", "", SPIKE),
    Case("mapped file", "mapped once", "sharing", PEAK),
    Case("mapped and written", "mapped written", "sharing", PEAK),
    Case("mapped twice", "mapped twice", "sharing"),
    Case("parts of a file", "mapped parts", "sharing", SHARING),
    Case("shared objects", "mapped shm", "sharing", SHARING),
    Case("orphan writes", "orphan_writer 64", "tree", WRITTEN, blind=("attach bare",)),
    Case("reaped writers", "writers 16", "tree", WRITTEN),
    Case("300 of 1 MB", "crowd 300 1000", "tree", {**SHARING, "processes": 0.02}, is_heavy=True),
    Case("300 sharing 8 MB", "crowd 300 16 8", "tree", is_heavy=True),
    Case("brief", "brief", "memory", SPIKE),
    Case("huge pages", "huge transparent", "sharing", SHARING),
    Case("hugetlb", "huge reserved", "", PEAK, needs="hugetlb"),
    Case("2000 true", "storm 2000", "", TREE, setups=STORM_SETUPS, can_attach=False, is_heavy=True),
    Case("20000 true", "storm 20000", "", TREE, setups=STORM_SETUPS, can_attach=False, is_heavy=True,
         is_quick=False),
    Case("threads", "threads", "", CPU),
    Case("waiting", "waiting", "", CPU),
    Case("vfork", "vfork_wait", "sharing", PEAK),
    Case("churn", "churn 1000", "sharing"),
    # The pages are merged before the first look; a tracker that starts earlier would have seen them
    # unmerged.
    Case("merged pages", "merged", "sharing", can_run=False, needs="ksm"),
    Case("1000 connections", "tcp 1000 100000 0", "", is_heavy=True),
    Case("10000 connections", "tcp 10000 1000 0", "", is_heavy=True, is_quick=False),
    Case("held connections", "tcp 5 5000000 100", "", NETWORK),
    Case("held connections, IPv6", "tcp 5 5000000 100 6", "", NETWORK, is_quick=False),
    *BURSTS,
    *FAULTS,
    *GENERATED,
]


def is_quick(case, setup):
    return case.is_quick and (setup.quick is None or case.name in setup.quick)


def fits(case, setup):
    if case.kind in LONE_KINDS or setup.kind in LONE_KINDS:
        return case.kind == setup.kind
    return setup.kind in ("", case.kind) and (case.can_attach if setup.how == "attach" else case.can_run)


def plan(users, is_full=True):
    """Returns every (case, setup) for these users. `make test` runs each case in the best setup
    for every user, and each other setup with only the cases that need its remaining sources."""
    return [(case, setup) for case in CASES for setup in SETUPS
            if setup.user in users and fits(case, setup)
            and setup.name not in case.blind
            and (is_full or is_quick(case, setup))
            and (not case.setups or (setup.name, setup.user) in case.setups)]


def must_of(case, setup):
    """Returns the required accuracy of a case in a setup."""
    return case.must if {setup.name, (setup.name, setup.user)} & set(case.must_setups) else {}
