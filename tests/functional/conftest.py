# SPDX-License-Identifier: Apache-2.0
"""Shared fixtures of the functional tests: the programs, the workloads, and checked results."""
import contextlib
import csv
import fcntl
import functools
import json
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

import schema

HERE = pathlib.Path(__file__).parent
DEADLINE_SECONDS = 60
# With `make test-full`, test every value, not only boundary values.
IS_FULL = bool(os.environ.get("TEST_FULL"))


def pytest_configure(config):
    config.addinivalue_line("markers", "threads: also run with the thread sanitizer")
    config.addinivalue_line("markers", "any_user: the result does not depend on the user; runs once")
    config.addinivalue_line("markers", "alone: changes or measures the machine; runs beside no other test")
    # Some signals are ignored if the tests were started in the background. Children would inherit
    # that, and these signals would not end a job. A handler that does nothing is not inherited.
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


def eventually(condition, what):
    """Polls until condition() is true and returns its value; fails after DEADLINE_SECONDS."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.005)
    pytest.fail(f"not within {DEADLINE_SECONDS} s: {what}")


def state_of(pid):
    """Returns the state letter of a process, or None if it does not exist."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return None


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(child) for child in file.read().split()]


def private_bytes(pid):
    """Returns the private memory of a process, from its page tables."""
    rollup = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(line.split()[1]) * 1024 for line in rollup.splitlines() if line.startswith("Private_"))


def continue_after_the_end(tracker, stopped_seconds):
    """Continues a tracker that was stopped by its job, `stopped_seconds` after the job has
    exited. Returns the time at which the job exited."""
    child = children_of(tracker.pid)[0]
    eventually(lambda: state_of(child) == "Z", "the job has ended")
    ended = time.monotonic()
    time.sleep(stopped_seconds)  # the time that must not be counted
    tracker.send_signal(signal.SIGCONT)
    assert tracker.wait(timeout=DEADLINE_SECONDS) == 0
    return ended


def descriptors_of(pid):
    """Lists the open files of a running process; ignores descriptors that are closed meanwhile."""
    found = []
    for entry in os.scandir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            found.append(os.readlink(entry.path))
    return found


def dropped_messages(pid):
    """Returns how many messages the kernel could not deliver to the netlink sockets of a process:
    their buffers were full."""
    inodes = {target[len("socket:["):-1] for target in descriptors_of(pid) if target.startswith("socket:[")}
    rows = [line.split() for line in pathlib.Path("/proc/net/netlink").read_text().splitlines()]
    drops, inode = rows[0].index("Drops"), rows[0].index("Inode")
    return sum(int(row[drops]) for row in rows[1:] if row[inode] in inodes)


def read_line(stream):
    """Returns one line of a job's output as text; fails if there is none."""
    fd = stream if isinstance(stream, int) else stream.fileno()
    line = b""
    while not line.endswith(b"\n"):
        ready, _, _ = select.select([fd], [], [], DEADLINE_SECONDS)
        assert ready, f"no line within {DEADLINE_SECONDS} s, only {line!r}"
        byte = os.read(fd, 1)
        assert byte, f"the output ended after {line!r}"
        line += byte
    return line.decode().strip()


def count_waits(pid):
    """Counts the voluntary context switches of all threads: the sampler waits before each
    sample."""
    return sum(int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", path.read_text(), re.M)[1])
               for path in pathlib.Path(f"/proc/{pid}/task").glob("*/status"))


def wait_for_samples(pid):
    """Waits until the tracker has taken several more samples; needs a short interval."""
    before = count_waits(pid)
    eventually(lambda: count_waits(pid) > before + 20, "some more samples")


class Spoor:
    """The program under test."""

    def __init__(self, binary, folder):
        self.binary = str(binary)
        self.folder = folder
        self.started = []
        self.count = 0

    def __call__(self, *arguments, **options):
        """Runs the program until it exits. Output is text."""
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                   "stderr": subprocess.PIPE, "text": True, "errors": "surrogateescape",
                   "timeout": DEADLINE_SECONDS, **options}
        return subprocess.run([self.binary, *map(os.fspath, arguments)], check=False, **options)

    def start(self, *arguments, **options):
        """Starts the program with binary pipes for input and output. It is killed when the test
        ends."""
        options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE,
                   "stderr": subprocess.PIPE, **options}
        process = subprocess.Popen([self.binary, *map(os.fspath, arguments)], **options)
        self.started.append(process)
        return process

    def result(self, *command, options=(), **popen):
        """Runs a command under `spoor run`; returns the finished process and its valid JSON
        result."""
        path = self.new_path("result.json")
        done = self("run", "-q", "-o", path, *options, "--", *command, **popen)
        return done, load(path)

    def new_path(self, name):
        self.count += 1
        return self.folder / f"{self.count}-{name}"

    def end(self):
        for process in self.started:
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream and not stream.closed:
                    stream.close()
            if process.poll() is None:
                try:
                    process.wait(timeout=5)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


def load(path):
    """Loads a JSON result from a file and checks it against the schema."""
    result = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    schema.check(result)
    return result


def rows_of(path):
    """Reads the complete rows of a samples file, CSV or JSON Lines, that may still be written
    to. Returns none if the file does not exist."""
    lines = path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []
    return list(csv.DictReader(lines) if path.suffix == ".csv" else map(json.loads, lines))


def warnings_of(result):
    """Maps the codes of a result's warnings to their messages."""
    return {warning["code"]: warning["message"] for warning in result["warnings"]}


@pytest.fixture
def spoor(tmp_path):
    binary = os.environ.get("SPOOR_BINARY", HERE.parent.parent / "build/spoor")
    program = Spoor(binary, tmp_path)
    yield program
    program.end()


def by_name(name, spoor, tmp_path):
    """Returns the program under another name, with a folder for its files."""
    folder = tmp_path / name
    folder.mkdir()
    link = tmp_path / "bin" / name
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(spoor.binary)
    program = Spoor(link, folder)
    yield program
    program.end()


@pytest.fixture
def gpu_tracker(spoor, tmp_path):
    yield from by_name("gpu-tracker", spoor, tmp_path)


@pytest.fixture
def resource_tracker(spoor, tmp_path, monkeypatch):
    """Returns resource-tracker with its own working directory, from which it reads a config
    file."""
    for key in [key for key in os.environ if key.startswith(("TRACKER_", "SENTINEL_"))]:
        monkeypatch.delenv(key)
    for program in by_name("resource-tracker", spoor, tmp_path):
        monkeypatch.chdir(program.folder)
        yield program


@pytest.fixture(scope="session")
def workload(tmp_path_factory):
    """workload("burn") returns the path of the compiled workloads/burn.c. The workers of a test
    run share the compiled programs."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "workloads"
    folder.mkdir(exist_ok=True)
    compiler = shutil.which("cc") or "gcc"

    def compile_once(name):
        path = folder / name
        with (folder / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                subprocess.run([compiler, "-std=gnu11", "-D_GNU_SOURCE", "-O1", "-o", path,
                                HERE / f"workloads/{name}.c"], check=True)
        return str(path)
    return functools.cache(compile_once)


@pytest.fixture
def group():
    import cgroups  # cgroups imports this module
    yield from cgroups.groups()


@pytest.fixture
def sub_track(spoor, tmp_path):
    """Runs `gpu-tracker sub-track ...` in tmp_path."""
    program = tmp_path / "bin" / "gpu-tracker"
    program.parent.mkdir(exist_ok=True)
    program.symlink_to(spoor.binary)

    def run(*arguments, **options):
        return subprocess.run([program, "sub-track", *map(os.fspath, arguments)], check=False,
                              **{"text": True, "capture_output": True, "cwd": tmp_path,
                                 "timeout": DEADLINE_SECONDS, "stdin": subprocess.DEVNULL, **options})
    return run


# No server listens at this address, so tests that run in a cloud do not use its metadata service.
NO_METADATA = {"SPOOR_METADATA_URL": "http://127.0.0.1:1"}


@pytest.fixture(scope="session")
def no_config(tmp_path_factory):
    """Ignores the config file of the user who runs the tests. Shells also write their files to
    this directory."""
    return {"XDG_CONFIG_HOME": str(tmp_path_factory.mktemp("config"))}


@pytest.fixture
def clean_environment(no_config):
    """The environment without variables that configure spoor."""
    return {**{key: value for key, value in os.environ.items() if not key.startswith("SPOOR_")},
            **NO_METADATA, **no_config}


@pytest.fixture(autouse=True)
def without_configuration(monkeypatch, no_config):
    for key in list(os.environ):
        if key.startswith("SPOOR_") and key != "SPOOR_BINARY":
            monkeypatch.delenv(key)
    for key, text in {**NO_METADATA, **no_config}.items():
        monkeypatch.setenv(key, text)


def stolen_seconds():
    """Returns the time that the hypervisor took from all CPUs so far; 0 on a machine of its own."""
    with open("/proc/stat", encoding="ascii") as file:
        return int(file.readline().split()[8]) / os.sysconf("SC_CLK_TCK")


STOLEN_BEFORE = [0.0]  # before the test


@pytest.fixture(autouse=True)
def note_stolen_time():
    STOLEN_BEFORE[0] = stolen_seconds()


def cpu_time(seconds):
    """Allows CPU time to differ by 3 % and 20 ms from a job's own figure. The job reads its clock
    before it exits. The exit costs 0.5 ms on a quiet machine; 2 ms were measured if ten busy
    processes share two CPUs, and the shell that starts some jobs costs as much again. The time that
    the hypervisor took during the test may be charged to an exit, too: 0.15 s were seen."""
    return pytest.approx(seconds, abs=0.03 * seconds + 0.02 + stolen_seconds() - STOLEN_BEFORE[0])


def value(result, path):
    """Returns the value of a measure: value(result, "cpu.total_seconds")."""
    for key in path.split("."):
        result = result[key]
    return result["value"]


@pytest.fixture
def standin(spoor):
    """Returns the folder that has one stand-in library per driver generation."""
    folder = pathlib.Path(spoor.binary).parent / "tests/gpu/standin"
    assert folder.exists(), f"{folder} is not there"
    return folder


@pytest.fixture
def machine(standin):
    import gpus  # gpus imports this module
    # In memory if possible: the stand-in notes each call in a file, and on a disk that is being
    # written to, a call would take up to 85 ms. spoor waits 50 ms for a driver.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="spoor-machine-", dir=memory) as folder:
        yield gpus.Machine(pathlib.Path(folder), standin / "full")


@pytest.fixture
def sentinel():
    """Starts fake Sentinel and S3 services; fails if they recorded a forbidden request."""
    import fake_sentinel
    service = fake_sentinel.FakeSentinel()
    yield service
    service.close()
    assert service.problems == []


@pytest.fixture
def held(workload):
    """Starts a process of 50 MiB that exits at end of file on its input."""
    process = subprocess.Popen([workload("hold"), "50"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    read_line(process.stdout)
    yield process
    process.stdin.close()
    process.stdout.close()
    process.wait()
