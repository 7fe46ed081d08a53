# SPDX-License-Identifier: Apache-2.0
"""The R package: CRAN's checks, and exits of R that the package's own tests cannot survive."""
import json
import os
import pty
import select
import shutil
import signal
import subprocess
import time

import pytest
from conftest import BINARY, DEADLINE_SECONDS, TOP

PACKAGES = ("testthat", "R6", "knitr", "jsonlite")
READY = 'cat("REA", "DY\\n", sep = "")'
# Four workers use 200 MB each: R memory that a worker copies, and a vector. They hold the memory
# until the tracker has taken two more samples.
WORKERS = r"""
own <- function() {
  lines <- grep("^Private_", readLines("/proc/self/smaps_rollup"), value = TRUE)
  1024 * sum(as.numeric(gsub("\\D", "", lines)))
}
work <- function(i) {
  gc()
  x <- numeric((200e6 - own()) / 8)
  file.create(file.path("ready", i))
  while (length(list.files("ready")) < 4) Sys.sleep(0.01)
  rows <- length(readLines("samples.csv"))
  while (length(readLines("samples.csv")) < rows + 2) Sys.sleep(0.01)
  own()
}
dir.create("ready")
u <- spoor_track({
  before <- spoor_snapshot()[["job_rss_bytes"]]
  gc(reset = TRUE)
  workers <- parallel::mclapply(1:4, work, mc.cores = 4)
  by_gc <- sum(gc()[, 6]) * 1e6
}, interval = 0.1, detail = "always", samples = "samples.csv")
cat(summary(u)["peak_memory_bytes", "value"] - before, sum(unlist(workers)), by_gc, "\n")
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """Returns a folder with the installed package, which has passed its checks."""
    if not shutil.which("Rscript"):
        pytest.skip("R is not installed")
    missing = subprocess.run(["Rscript", "-e", "cat(Filter(function(p) !requireNamespace(p, quietly = TRUE), "
                              f"c{PACKAGES}))"], capture_output=True, text=True).stdout
    if missing:
        pytest.skip(f"R packages are not installed: {missing}")
    folder = tmp_path_factory.mktemp("r")
    done = subprocess.run([TOP / "r/check", BINARY, folder], capture_output=True, text=True, timeout=DEADLINE_SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "spoor.Rcheck"


@pytest.fixture
def start(library, tmp_path, monkeypatch):
    """Starts R with a script in which the package is loaded."""
    monkeypatch.setenv("R_LIBS", str(library))
    monkeypatch.setenv("SPOOR_BIN", str(BINARY))
    monkeypatch.chdir(tmp_path)

    def run(script, *wrapper):
        (tmp_path / "script.R").write_text(f"library(spoor)\n{script}\n")
        return subprocess.Popen([*wrapper, "R", "--no-echo", "--no-save", "--no-restore", "--file=script.R"],
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                start_new_session=True)
    return run


def finish(process):
    output, errors = process.communicate(timeout=DEADLINE_SECONDS)
    return process.returncode, output, errors


def agents(pid):
    """Returns the agents of a process that are still running."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                if f"--pid={pid}".encode() in file.read().split(b"\0"):
                    found.append(int(name))
        except OSError:
            pass
    return found


def wait_until(condition):
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def wait_for_ready(process):
    assert process.stdout.readline() == "READY\n"
    assert len(agents(process.pid)) == 1


def test_package_passes_the_checks_of_cran(library):
    assert "Status: OK" in (library / "00check.log").read_text()


def test_memory_of_four_workers_of_200_mb_is_800_mb(start):
    status, output, errors = finish(start(WORKERS))
    assert status == 0, errors
    grown, own, by_gc = map(float, output.split())
    assert abs(own - 800e6) < 8e6 and abs(grown - 800e6) < 40e6 and by_gc < 200e6


def test_error_of_the_expression_is_passed_on_unchanged(start):
    process = start('f <- function() stop("mine")\nspoor_track(f())')
    assert finish(process) == (1, "", "Error in f() : mine\nCalls: spoor_track -> f\nExecution halted\n")
    wait_until(lambda: not agents(process.pid))


def test_quit_ends_the_tracker(start):
    process = start('spoor_track(quit(status = 5), output = "report.json")')
    assert finish(process) == (5, "", "")
    wait_until(lambda: not agents(process.pid))
    with open("report.json", encoding="utf-8") as file:
        assert json.load(file)["run"]["pid"] == process.pid


def test_interrupt_ends_r_and_the_tracker(start):
    process = start(f"spoor_track({{ {READY}; Sys.sleep(600) }})")
    wait_for_ready(process)
    os.killpg(process.pid, signal.SIGINT)
    status, _, errors = finish(process)
    assert status == 1 and errors.strip() == "Execution halted"
    wait_until(lambda: not agents(process.pid))


def test_killed_r_leaves_no_tracker_even_if_a_forked_child_lives(start):
    process = start(f"spoor_track({{ job <- parallel::mcparallel(Sys.sleep(600)); {READY}; Sys.sleep(600) }})")
    wait_for_ready(process)
    process.kill()
    process.wait()
    wait_until(lambda: not agents(process.pid))
    os.killpg(process.pid, signal.SIGKILL)  # kills the fork
    process.communicate()


def test_forked_child_that_leaves_the_expression_causes_a_warning(start):
    process = start("u <- spoor_track(inherits(parallel:::mcfork(), 'childProcess'))\n"
                    "if (!u$value) { cat(u$reason, '\\n'); parallel:::mcexit() }\n"
                    "parallel::mccollect(wait = TRUE); cat(is.null(u$reason), '\\n')")
    status, output, _ = finish(process)
    assert status == 0 and "the tracker belongs to the process that started it \n" in output and "TRUE \n" in output


def test_killed_tracker_causes_a_warning(start):
    process = start(f'u <- spoor_track({{ {READY}; suppressWarnings(readLines("go")); 6 * 7 }})\n'
                    'cat(u$value, u$reason, "\\n")')
    os.mkfifo("go")
    wait_for_ready(process)
    os.kill(agents(process.pid)[0], signal.SIGKILL)
    with open("go", "w", encoding="utf-8"):
        pass
    status, output, errors = finish(process)
    assert (status, output) == (0, "42 the tracker ended unexpectedly \n") and errors.startswith("Warning message:")


def test_phase_in_r_is_part_of_the_enclosing_run(start):
    assert finish(start("spoor_phase('load \"x\"', 1)", BINARY, "run", "-q", "-o", "run.json", "--"))[0] == 0
    with open("run.json", encoding="utf-8") as file:
        assert [phase["name"] for phase in json.load(file)["phases"]] == ['load "x"']
    assert not [name for name in os.listdir(".") if name.endswith(".csv")]


def test_r_as_pid_1_reaps_the_tracker(start):
    """In a container without an init, R becomes the parent of the tracker."""
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    process = start('u <- spoor_track(Sys.getpid())\n'
                    'cat(u$value, grep("^[0-9]+$", list.files("/proc"), value = TRUE))',
                    "unshare", *user, "--pid", "--fork", "--mount-proc")
    assert finish(process) == (0, "1 1", "")


class Terminal:
    """R at its own terminal."""

    def __init__(self):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvp("R", ["R", "--quiet", "--no-save", "--no-restore", "--no-readline"])

    def type(self, text, answer):
        """Types a text and waits for the answer and the prompt."""
        os.write(self.fd, text.encode())
        read = b""
        while answer.encode() not in read:
            assert select.select([self.fd], [], [], DEADLINE_SECONDS)[0], read
            read += os.read(self.fd, 4096)


def test_interrupt_of_interactive_r_ends_only_the_tracker(start):
    terminal = Terminal()
    terminal.type("library(spoor)\n", "> ")
    terminal.type(f"u <- spoor_track({{ {READY}; Sys.sleep(600) }})\n", "READY")
    assert len(agents(terminal.pid)) == 1
    terminal.type("\x03", "> ")
    wait_until(lambda: not agents(terminal.pid))
    terminal.type("exists('u')\n", "[1] FALSE")
    terminal.type("spoor_track(6 * 7)$value + 1\n", "[1] 43")
    terminal.type(f"tracker <- spoor_start(); {READY}\n", "READY")
    assert len(agents(terminal.pid)) == 1
    os.write(terminal.fd, b"q()\n")
    os.waitpid(terminal.pid, 0)
    os.close(terminal.fd)
    wait_until(lambda: not agents(terminal.pid))
