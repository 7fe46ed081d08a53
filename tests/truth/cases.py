# SPDX-License-Identifier: Apache-2.0
"""The jobs of the truth suite, and the rungs on which each is run.

The first rungs take the sources away one after the other; those with a kind look at one source more
closely, with the cases that it matters to.
"""
import dataclasses

EVENTS = "cgroup,perf,ring,connector,taskstats"
EVERYTHING = EVENTS + ",clock,children,smaps"


@dataclasses.dataclass(frozen=True)
class Rung:
    name: str
    disable: str  # for SPOOR_DISABLE
    user: str     # root or user
    is_attach: bool = False
    kind: str = ""  # only cases of this kind; empty: all
    quick: tuple = None  # the cases of `make test`, where the ladder is not run in full; None: all
    options: tuple = ()  # of spoor run


RUNGS = [
    Rung("default", "", "root"),
    Rung("no cgroup", "cgroup", "root",
         quick=("spike 16 MB 5 ms", "200 not waited for", "sharing", "reaped writers", "2000 true")),
    Rung("no perf", "cgroup,perf", "root", quick=("200 short", "spike by read", "threads")),
    Rung("no events", EVENTS, "root", quick=("daemon", "copies on write", "orphan writes")),
    Rung("bare", EVERYTHING, "root", quick=("200 short", "spike 500 MB 100 ms", "reaped writers")),
    Rung("connector", "cgroup,ring", "root", kind="tree", quick=("200 short", "daemon")),
    Rung("children", "cgroup,ring,connector,taskstats", "root", kind="tree",
         quick=("child of a thread", "300 of 1 MB")),
    Rung("mappings", "cgroup", "root", kind="sharing",
         quick=("sharing", "parts of a file", "mapped twice"), options=("--detail", "always")),
    Rung("attach", "", "root", is_attach=True,
         quick=("daemon", "200 short", "mapped and written", "merged pages")),
    Rung("attach bare", EVERYTHING, "root", is_attach=True, quick=("threads", "spike by read")),
    Rung("default", "", "user"),
    Rung("no events", EVENTS, "user", quick=("huge pages", "200 short", "sharing")),
    Rung("attach", "", "user", is_attach=True, quick=("threads", "sharing", "orphan writes")),
]


@dataclasses.dataclass(frozen=True)
class Case:
    """A program of programs/ with its arguments."""
    name: str
    command: str
    # What it is about: memory (a peak that is over soon), tree (who belongs to the job) or sharing.
    kind: str = ""
    # {figure: relative error at most} on the best rung of `spoor run`, at the default interval.
    must: dict = dataclasses.field(default_factory=dict)
    options: tuple = ()      # of spoor run
    can_attach: bool = True  # its figures mean the same when it is attached to
    can_run: bool = True
    rungs: tuple = ()        # (name, user); empty: all
    blind: tuple = ()        # names of rungs on which nobody could know
    is_heavy: bool = False   # it keeps more than one CPU busy
    is_quick: bool = True    # it runs in `make test`, too
    needs: str = ""          # hugetlb or ksm: what root has to switch on for it


PEAK = {"peak_rss_bytes": 0.03}
SPIKE = {"peak_rss_bytes": 0.03, "main_rss_bytes": 0.03}
SHARING = {"peak_rss_bytes": 0.05}
CPU = {"cpu_seconds": 0.02}
DAEMON = {"cpu_seconds": 0.02, "peak_rss_bytes": 0.03, "descendants_rss_bytes": 0.03}
TREE = {"cpu_seconds": 0.02, "processes": 0.02}
WRITTEN = {"written_chars": 0.02, "written_bytes": 0.02, "processes": 0.02}

# Once with and once without a cgroup: it is long, and about nothing but how fast processes start.
STORM_RUNGS = (("default", "root"), ("no cgroup", "root"))

CASES = [
    Case("spike 500 MB 100 ms", "spike 500 100 write", "memory", SPIKE),
    Case("spike 16 MB 5 ms", "spike 16 5 write", "memory", SPIKE),
    Case("spike by read", "spike 500 100 read", "memory", SPIKE),
    Case("small spike by read", "spike 16 5 read", "memory", SPIKE),
    Case("twins together", "twins together", "memory"),
    Case("twins apart", "twins apart", "memory"),
    Case("200 short", "many 200 20 wait", "tree", TREE, is_heavy=True),
    Case("200 not waited for", "many 200 20 ignore", "tree", TREE, is_heavy=True),
    # A process that leaves the tree between two looks is out of reach where there are no events, and
    # so is what it uses.
    Case("daemon", "daemon 300 1000 stay", "tree", DAEMON, blind=("attach bare",)),
    Case("daemon left behind", "daemon 300 1000 leave", "tree", DAEMON, ("--wait", "all"),
         can_attach=False),
    Case("child of a thread", "thread_child", "tree", TREE),
    Case("exec chain", "chain", "memory", {**CPU, **SPIKE}, can_attach=False),
    Case("odd name", "rename", "tree", TREE),
    Case("sharing", "sharing", "sharing", SHARING),
    Case("copies on write", "cow_break", "sharing", SHARING),
    Case("page cache", "cache 1000", "", SPIKE),
    Case("mapped file", "mapped once", "sharing", PEAK),
    Case("mapped and written", "mapped written", "sharing", PEAK),
    Case("mapped twice", "mapped twice", "sharing"),
    Case("parts of a file", "mapped parts", "sharing", SHARING),
    Case("shared objects", "mapped shm", "sharing", SHARING),
    Case("orphan writes", "orphan_writer 64", "tree", WRITTEN, blind=("attach bare",)),
    Case("reaped writers", "writers 16", "tree", WRITTEN),
    Case("300 of 1 MB", "crowd 300", "tree", {**SHARING, "processes": 0.02}, is_heavy=True),
    Case("brief", "brief", "memory", SPIKE),
    Case("huge pages", "huge transparent", "sharing", SHARING),
    Case("hugetlb", "huge reserved", "", PEAK, needs="hugetlb"),
    Case("2000 true", "storm 2000", "", TREE, rungs=STORM_RUNGS, can_attach=False, is_heavy=True),
    Case("20000 true", "storm 20000", "", TREE, rungs=STORM_RUNGS, can_attach=False, is_heavy=True,
         is_quick=False),
    Case("threads", "threads", "", CPU),
    Case("vfork", "vfork_wait", "sharing", PEAK),
    Case("churn", "churn 1000", "sharing"),
    # Its pages are merged before anybody looks: to a tracker from its start they were not.
    Case("merged pages", "merged", "sharing", can_run=False, needs="ksm"),
]


def is_quick(case, rung):
    return case.is_quick and (rung.quick is None or case.name in rung.quick)


def plan(users, is_full=True):
    """Every (case, rung) there is for these users, or those of `make test`: each case on the best
    rung, as every user, and each other rung with cases that need what is left to it."""
    return [(case, rung) for case in CASES for rung in RUNGS
            if rung.user in users and rung.kind in ("", case.kind)
            and (case.can_attach if rung.is_attach else case.can_run)
            and rung.name not in case.blind
            and (is_full or is_quick(case, rung))
            and (not case.rungs or (rung.name, rung.user) in case.rungs)]


def must_of(case, rung):
    """What a case must show: only on the best rung of `spoor run`."""
    return case.must if rung.name == "default" else {}
