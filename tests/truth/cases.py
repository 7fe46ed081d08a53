# SPDX-License-Identifier: Apache-2.0
"""The jobs of the truth suite, and the rungs on which each is run."""
import dataclasses

EVENTS = "cgroup,perf,gate,ring,connector,taskstats"
EVERYTHING = EVENTS + ",clock,children,smaps,scan"


@dataclasses.dataclass(frozen=True)
class Rung:
    name: str
    disable: str  # for SPOOR_DISABLE
    user: str     # root or user
    is_attach: bool = False


RUNGS = [
    Rung("default", "", "root"),
    Rung("no cgroup", "cgroup", "root"),
    Rung("no perf", "cgroup,perf", "root"),
    Rung("no events", EVENTS, "root"),
    Rung("bare", EVERYTHING, "root"),
    Rung("attach", "", "root", is_attach=True),
    Rung("attach bare", EVERYTHING, "root", is_attach=True),
    Rung("default", "", "user"),
    Rung("no events", EVENTS, "user"),
    Rung("attach", "", "user", is_attach=True),
]


@dataclasses.dataclass(frozen=True)
class Case:
    """A program of programs/ with its arguments."""
    name: str
    command: str
    # {figure: relative error at most} on the best rung of `spoor run`, at the default interval.
    must: dict = dataclasses.field(default_factory=dict)
    options: tuple = ()      # of spoor run
    can_attach: bool = True  # its figures mean the same when it is attached to
    can_run: bool = True
    rungs: tuple = ()        # names; empty: all
    is_heavy: bool = False   # it keeps more than one CPU busy
    needs: str = ""          # hugetlb or ksm: what root has to switch on for it


SPIKE = {"peak_rss_bytes": 0.03, "main_rss_bytes": 0.03}
DAEMON = {"cpu_seconds": 0.02, "peak_rss_bytes": 0.03, "descendants_rss_bytes": 0.03}
CPU = {"cpu_seconds": 0.02}

CASES = [
    Case("spike 500 MB 100 ms", "spike 500 100 write", SPIKE),
    Case("spike 16 MB 5 ms", "spike 16 5 write", SPIKE),
    Case("spike by read", "spike 500 100 read", SPIKE),
    Case("small spike by read", "spike 16 5 read", SPIKE),
    Case("twins together", "twins together"),
    Case("twins apart", "twins apart"),
    Case("200 short", "many 200 20 wait", CPU, is_heavy=True),
    Case("200 not waited for", "many 200 20 ignore", CPU, is_heavy=True),
    Case("daemon", "daemon 300 1000 stay", DAEMON),
    Case("daemon left behind", "daemon 300 1000 leave", DAEMON, ("--wait", "all"),
         can_attach=False),
    Case("child of a thread", "thread_child", CPU),
    Case("exec chain", "chain", {**CPU, **SPIKE}, can_attach=False),
    Case("odd name", "rename", CPU),
    Case("sharing", "sharing", {"peak_rss_bytes": 0.05}),
    Case("copies on write", "cow_break", {"peak_rss_bytes": 0.05}),
    Case("page cache", "cache 1000", {"peak_rss_bytes": 0.03, "main_rss_bytes": 0.03}),
    Case("mapped file", "mapped once", {"peak_rss_bytes": 0.03}),
    Case("mapped and written", "mapped written", {"peak_rss_bytes": 0.03}),
    Case("mapped twice", "mapped twice"),
    Case("parts of a file", "mapped parts", {"peak_rss_bytes": 0.05}),
    Case("shared objects", "mapped shm", {"peak_rss_bytes": 0.05}),
    Case("orphan writes", "orphan_writer 64", {"written_chars": 0.02, "written_bytes": 0.02}),
    Case("reaped writers", "writers 16", {"written_chars": 0.02, "written_bytes": 0.02}),
    Case("300 of 1 MB", "crowd 300", {"peak_rss_bytes": 0.05}, is_heavy=True),
    Case("brief", "brief", SPIKE),
    Case("huge pages", "huge transparent", {"peak_rss_bytes": 0.05}),
    Case("hugetlb", "huge reserved", {"peak_rss_bytes": 0.03}, needs="hugetlb"),
    Case("20000 true", "storm 20000", CPU, rungs=("default", "no cgroup"), can_attach=False,
         is_heavy=True),
    Case("threads", "threads", CPU),
    Case("vfork", "vfork_wait", {"peak_rss_bytes": 0.03}),
    Case("churn", "churn 1000"),
    Case("merged pages", "merged", can_run=False, needs="ksm"),
]


def plan(users):
    """Every (case, rung) there is for these users."""
    return [(case, rung) for case in CASES for rung in RUNGS
            if rung.user in users
            and (case.can_attach if rung.is_attach else case.can_run)
            and (not case.rungs or rung.name in case.rungs)
            and not (case.name == "20000 true" and rung.user == "user")]


def must_of(case, rung):
    """What a case must show: only on the best rung of `spoor run`."""
    return case.must if rung.name == "default" else {}
