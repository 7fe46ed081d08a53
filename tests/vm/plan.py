# SPDX-License-Identifier: Apache-2.0
"""The runs in the machine, and their places, which tests/vm/init defines."""
import dataclasses
import shlex

import cases  # from the truth suite

FOLDER = "/sys/fs/cgroup/folder"

# Places where the job gets a cgroup with all controllers, a place where it gets a cgroup without,
# and a place where the cgroup around spoor is read.
LEAF = ("root", "limited", "scope", "folder")
BARE = ("crowded",)
AROUND = ("plain",)

# Two lists of places, whose cases run at the same time, one list on each CPU of the machine.
STREAMS = (("root", "limited"), ("scope", "folder", "crowded", "plain", "shared"))

# The places of a case of the truth suite, unless it runs as root and as the user of a scope. Cases
# that do not depend on the user run once.
PLACES = {
    "spike 500 MB 100 ms": ("root", "folder", "plain"),
    "spike by read": ("scope",),
    "twins together": ("root",),
    "twins apart": ("scope",),
    "200 short": ("root", "scope", "plain"),
    "200 not waited for": ("root", "scope", "crowded", "plain"),
    "daemon": ("scope",),
    "daemon left behind": ("root", "folder"),
    "child of a thread": ("scope",),
    "exec chain": ("scope",),
    "odd name": ("scope",),
    "sharing": ("root",),
    "copies on write": ("scope",),
    "page cache": ("root",),
    "mapped file": ("root",),
    "mapped and written": ("scope",),
    "mapped twice": ("root",),
    "parts of a file": ("root",),
    "shared objects": ("scope",),
    "300 of 1 MB": ("scope",),
    "brief": ("root", "scope", "crowded", "plain", "shared"),
    "huge pages": ("root",),
    "hugetlb": ("root",),
    "threads": ("root",),
    "vfork": ("root",),
    "churn": ("root",),
    "phases that read": ("root", "scope"),
    "one unwaited writes": ("root",),
    "20 in turn": ("scope",),
    "nothing": ("scope",),
}
# Figures that must be near the truth, exact or not: those that the kernel counts. A sampled figure
# depends on the speed of the machine, so only its bounds are checked here.
MUST = ("cpu_seconds", "main_rss_bytes", "written_chars", "written_bytes")


@dataclasses.dataclass(frozen=True)
class Run:
    """One line of the script."""
    name: str
    place: str
    job: str
    options: tuple = ()  # options of spoor run; None: the job is the entire command
    status: str = "0"
    must: dict = dataclasses.field(default_factory=dict)  # as in the truth suite
    has_truth: bool = True

    @property
    def job_cgroup(self):
        """Returns the cgroup that the job gets: all, bare, around or none."""
        if "off" in (self.options or ()):
            return "none"
        return ("all" if self.place in LEAF else "bare" if self.place in BARE else
                "around" if self.place in AROUND else "none")

    def words(self):
        if self.options is None:
            return shlex.split(self.job)
        given = ("--cgroup", FOLDER) if self.place == "folder" else ()
        return ["/bin/spoor", "run", "-q", "-o", "report.json", *self.options, *given, "--",
                *shlex.split(f"/bin/{self.job}")]


def truth_runs():
    for case in cases.CASES:
        # An emulated machine is too slow for most cases that `make test` omits.
        usual = ("root", "scope") if case.is_quick and case.can_run else ()
        for place in PLACES.get(case.name, usual):
            must = {name: far for name, far in case.must.items() if name in MUST}
            yield Run(case.name, place, case.command, case.options,
                      must=must if place in (*LEAF, *AROUND) else {})


def own_runs():
    """Yields runs that need cgroups: see checks.py."""
    yield Run("oom", "limited", "grow", status="137", has_truth=False)
    for place in ("root", "scope"):
        yield Run("off", place, "brief", ("--cgroup", "off"))
        yield Run("require", place, "brief", ("--cgroup", "require"))
    for place in ("crowded", "plain"):
        yield Run("refused", place, "brief", ("--cgroup", "require"), "125", has_truth=False)
    yield Run("crash", "root", "/sbin/crash", None)  # must be last, because it sets the clock


def streams():
    """Returns the runs of each stream, in order."""
    runs = [*truth_runs(), *own_runs()]
    return [[run for run in runs if run.place in places] for places in STREAMS]
