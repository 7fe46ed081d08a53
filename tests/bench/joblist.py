# SPDX-License-Identifier: Apache-2.0
"""joblist.py - the jobs of jobs.py: how each is started, and limits for the cost of tracking it."""
import dataclasses
import functools
import os
import pathlib
import shutil
import subprocess
import sys
import typing

HERE = pathlib.Path(__file__).resolve().parent
DATA_FILES, DATA_FILE_BYTES = 150, 10_000_000
TEXT = b"".join(b"%d: a line that differs from the others in its number only\n" % i
                for i in range(40_000))


class Goal(typing.NamedTuple):
    """The limit of `figure` (a name in comparing.Comparison). None: the noise of the untracked
    runs is the limit."""
    figure: str
    limit: typing.Optional[float]
    unit: str
    text: str


def tracker_seconds(limit):
    return Goal("tracker_seconds", limit, "s", f"tracker under {limit:g} s of CPU")


def core_percent(limit):
    return Goal("core_percent", limit, "%", f"tracker under {limit:g} % of a core")


def settled_percent(limit):
    return Goal("settled_percent", limit, "%", f"tracker under {limit:g} % of a core once all sleep")


def job_percent(limit):
    return Goal("job_percent", limit, "%", f"tracker under {limit:g} % of the job's CPU")


def lost_us(what, limit):
    return Goal("lost_us", limit, "us", f"job loses under {limit:g} us per {what}")


def lost(limit):
    return (Goal("cpu_lost_percent", limit, "%", f"job's CPU grows by less than {limit:g} %"),
            Goal("wall_lost_percent", limit, "%", f"job's wall time grows by less than {limit:g} %"))


HARMLESS = (Goal("cpu_lost_percent", None, "%", "job's CPU grows by no more than the noise"),
            Goal("wall_lost_percent", None, "%", "job's wall time grows by no more than the noise"))


class Place:
    """The folder of the jobs. `programs` is a folder of compiled programs, or None; `scale` is
    1, or less for a quick run."""

    def __init__(self, programs, folder, scale):
        self.programs, self.folder, self.scale = programs, folder, scale

    def much(self, full):
        return max(1, round(full * self.scale))

    def program(self, name, *arguments):
        """Returns the path of a program of programs/; compiles it unless it is compiled already."""
        path = (self.programs or self.folder) / name
        if not self.programs and not path.exists():
            subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-o", str(path),
                            str(HERE / "programs" / f"{name}.c")], check=True)
        return [str(path), *map(str, arguments)]

    @functools.cached_property
    def data(self):
        """Creates a folder of files, every second one of which is compressible."""
        folder = self.folder / "data"
        folder.mkdir()
        text = (TEXT * (DATA_FILE_BYTES // len(TEXT) + 1))[:DATA_FILE_BYTES]
        for i in range(self.much(DATA_FILES)):
            (folder / f"{i:03}").write_bytes(os.urandom(DATA_FILE_BYTES) if i % 2 else text)
        return folder

    @functools.cached_property
    def configured(self):
        """Configures a build folder, and keeps a copy from which it can be restored."""
        build, copy = self.folder / "build", self.folder / "configured"
        # If the compiler is named, Meson does not use ccache.
        subprocess.run(["meson", "setup", str(build), str(HERE.parent.parent)], check=True,
                       stdout=subprocess.DEVNULL, env={**os.environ, "CC": "cc"})
        shutil.copytree(build, copy, symlinks=True)
        return build, copy


@dataclasses.dataclass(frozen=True)
class Job:
    name: str
    command: typing.Callable
    seconds: float  # approximate duration on two CPUs
    rounds: int
    goals: tuple = ()
    interval: str = ""  # other than the default
    per: tuple = ()  # (operation, count): a loss is also given per operation
    missing: typing.Callable = lambda: ""  # returns what the job needs but this machine lacks
    prepare: typing.Callable = lambda place: None  # before each run, not measured
    has_marks: bool = False  # writes a byte once settled, and another before it exits
    is_fixed_work: bool = True  # otherwise it takes a fixed time, so no time can be lost


def missing_commands(*names):
    absent = [name for name in names if not shutil.which(name)]
    return f"no {' or '.join(absent)}" if absent else ""


@functools.cache
def missing_torch():
    """Checks for PyTorch. The import also loads its files into the page cache."""
    done = subprocess.run([sys.executable, "-c", "import torch, sys; sys.exit("
                           "0 if torch.cuda.is_available() else 'PyTorch finds no GPU')"],
                          text=True, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    return done.stderr.strip().splitlines()[-1] if done.returncode else ""


def torch_script(name, count):
    return lambda place: [sys.executable, str(HERE / "programs" / name), str(place.much(count))]


def shells(place):
    work = "j=0; while [ $j -lt 4000 ]; do j=$((j+1)); done"
    return ["sh", "-c", f"i=0; while [ $i -lt {place.much(1500)} ]; do sh -c '{work}'; "
            "i=$((i+1)); done"]


def forks(place):
    return ["sh", "-c", f"i=0; while [ $i -lt {place.much(10_000)} ]; do (:); i=$((i+1)); done"]


def restore_build(place):
    build, copy = place.configured
    shutil.rmtree(build)
    shutil.copytree(copy, build, symlinks=True)


def ninja(place):
    return ["ninja", "-C", str(place.configured[0]),
            *(["libspoor-objects.a"] if place.scale < 1 else [])]


def tar(place):
    packer = "zstd -1 -q -c" if shutil.which("zstd") else "gzip -1"
    return ["sh", "-c", f"tar cf - -C '{place.data}' . | {packer} >/dev/null"]


def sleepers(count):
    return lambda place: place.program("crowd", place.much(count), 1, place.much(20))


JOBS = (
    Job("`true`", lambda place: ["true"], 0.01, 40, (tracker_seconds(0.010),),
        is_fixed_work=False),
    Job("300,000 context switches on one CPU",
        lambda place: place.program("pingpong", place.much(300_000)), 0.5, 14,
        (lost_us("switch", 0.08), *HARMLESS), per=("switch", 300_000)),
    Job("1,500 shells of 6 ms", shells, 10, 5, (job_percent(0.3),), per=("shell", 1500)),
    Job("10,000 forks of a shell", forks, 2, 10, HARMLESS, per=("fork", 10_000)),
    Job("malloc-heavy, 1 GB, at 0.1 s",
        lambda place: place.program("churn", "/dev/zero", 1000, place.much(20_000)), 6, 10,
        HARMLESS, interval="0.1"),
    Job("`tar c | zstd -1` of 1.5 GB", tar, 2, 10, (*lost(1.0), *HARMLESS),
        missing=lambda: missing_commands("tar")),
    Job("16 busy processes, 10 s", lambda place: place.program("spin", 16, place.much(10)), 10, 3,
        (tracker_seconds(0.05),), is_fixed_work=False),
    Job("200 sleeping, first 20 s", sleepers(200), 21, 3, (tracker_seconds(0.02),),
        has_marks=True, is_fixed_work=False),
    Job("2,000 sleeping", sleepers(2000), 23, 3, (settled_percent(0.3),), has_marks=True,
        is_fixed_work=False),
    Job("`sleep 20`", lambda place: ["sleep", str(place.much(20))], 20, 2, is_fixed_work=False),
    Job("CUDA loop, 5.5 s", torch_script("cuda_loop.py", 2000), 9, 5, (tracker_seconds(0.05),),
        missing=missing_torch),
    Job("PyTorch, 4 loader workers", torch_script("torch_train.py", 500), 16, 10,
        (core_percent(0.6), *HARMLESS), missing=missing_torch),
    Job("`ninja` of this project", ninja, 30, 10, (job_percent(0.3), *HARMLESS),
        missing=lambda: missing_commands("meson", "ninja", "cc"), prepare=restore_build),
)
