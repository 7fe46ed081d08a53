# SPDX-License-Identifier: Apache-2.0
"""The agent of the Python package resource_tracker: rows of two tables, totals, figures."""
import array
import math
import os
import resource
import signal
import subprocess
import sys

import pytest

from conftest import eventually, read_line
from gpus import card
from test_agent import Agent, ready
from test_stalled import children

PROCESS = """timestamp pid children utime stime cpu_usage memory_mib disk_read_bytes
    disk_write_bytes gpu_usage gpu_vram_mib gpu_utilized""".split()
SYSTEM = """timestamp processes utime stime cpu_usage memory_free_mib memory_used_mib
    memory_buffers_mib memory_cached_mib memory_active_mib memory_inactive_mib disk_read_bytes
    disk_write_bytes disk_space_total_gb disk_space_used_gb disk_space_free_gb net_recv_bytes
    net_sent_bytes gpu_usage gpu_vram_mib gpu_utilized""".split()


class Tables:
    """The files of the process table and of the system table."""

    def __init__(self, program):
        self.process = program.new_path("process.f64")
        self.system = program.new_path("system.f64")
        self.options = ["--process-rows", self.process, "--system-rows", self.system]

    @staticmethod
    def read(path, names):
        cells = array.array("d", path.read_bytes())
        assert len(cells) % len(names) == 0
        return [dict(zip(names, cells[at:at + len(names)]))
                for at in range(0, len(cells), len(names))]

    def process_rows(self):
        return self.read(self.process, PROCESS)

    def system_rows(self):
        return self.read(self.system, SYSTEM)

    def counts(self):
        return len(self.process_rows()), len(self.system_rows())


@pytest.mark.threads
def test_rows_are_taken_at_multiples_of_the_interval(resource_tracker, held):
    tables = Tables(resource_tracker)
    agent = ready(resource_tracker, "--pid", str(held.pid), "--interval", "0.2", *tables.options)

    def is_on_time(rows):
        return any(abs(row["timestamp"] / 0.2 - round(row["timestamp"] / 0.2)) < 0.1
                   for row in rows)

    # On a busy machine, samples are sometimes late.
    eventually(lambda: is_on_time(tables.process_rows()) and is_on_time(tables.system_rows()),
               "a row of each table at a multiple of the interval")
    eventually(lambda: min(tables.counts()) >= 3, "three rows")
    assert agent.ask("stop")["warnings"] == []
    process, system = tables.process_rows(), tables.system_rows()
    assert agent.end() == b""
    # Both tables contain the same times, even if a sample was skipped.
    assert [row["timestamp"] for row in process] == [row["timestamp"] for row in system]
    assert {row["pid"] for row in process} == {held.pid}
    assert all(math.isnan(row["children"]) for row in process)
    assert process[-1]["memory_mib"] == pytest.approx(50, abs=3)
    assert system[-1]["processes"] > 1
    assert system[-1]["memory_used_mib"] > 50
    assert all(row["gpu_utilized"] == 0 for row in process + system)


def test_short_run_has_a_first_and_a_last_row(resource_tracker, held):
    tables = Tables(resource_tracker)
    agent = ready(resource_tracker, "--pid", str(held.pid), "--interval", "3600", *tables.options)
    assert tables.counts() == (0, 0)
    answer = agent.ask("stop")
    assert tables.counts() == (1, 1)
    assert agent.ask("stop") == answer  # for a program that lost the first answer
    assert tables.counts() == (1, 1)


def test_last_row_is_written_when_the_process_ends(resource_tracker, held):
    tables = Tables(resource_tracker)
    agent = ready(resource_tracker, "--pid", str(held.pid), "--interval", "0.1", *tables.options)
    held.stdin.close()
    held.wait()
    eventually(lambda: tables.counts()[1] > tables.counts()[0] + 2, "rows of the machine alone")
    process = tables.counts()[0]
    answer = agent.ask("stop")
    assert tables.counts()[0] == process >= 1
    moments = [row["timestamp"] for row in tables.system_rows()]
    assert [row["timestamp"] for row in tables.process_rows()] == moments[:process]
    assert answer["figures"]["memory.main.total_rss_bytes"]["value"] >= 50 << 20


def test_files_are_complete_without_a_stop_request(resource_tracker, held):
    tables = Tables(resource_tracker)
    agent = ready(resource_tracker, "--pid", str(held.pid), "--interval", "3600", *tables.options)
    assert agent.end() == b""
    assert len(tables.process_rows()) == len(tables.system_rows()) == 1


def test_either_table_may_be_omitted(resource_tracker, held):
    tables = Tables(resource_tracker)
    agent = ready(resource_tracker, "--interval", "3600", "--system-rows", tables.system)
    assert agent.ask("stop")["figures"] is None and len(tables.system_rows()) == 1
    agent = ready(resource_tracker, "--interval", "3600", "--pid", str(held.pid),
                  "--process-rows", tables.process)
    assert agent.ask("stop")["figures"] is not None and len(tables.process_rows()) == 1
    agent = ready(resource_tracker)  # an agent without tables
    assert agent.ask("figures")["figures"] is None


def test_lost_rows_of_each_table_cause_a_warning(resource_tracker, held):
    tables = Tables(resource_tracker)
    agent = ready(resource_tracker, "--pid", str(held.pid), "--interval", "3600", *tables.options)
    system, process = map(int, children(agent.process.pid))  # the processes that write the rows
    resource.prlimit(process, resource.RLIMIT_FSIZE, (0, 0))
    os.kill(system, signal.SIGKILL)
    for _ in range(2):
        answer = agent.ask("stop")
        assert tables.counts() == (0, 0)
        assert answer["warnings"] == [
            "could not write 1 row of the process table: File too large",
            "could not write 1 row of the system table: its writer process was killed"]


def test_no_rows_are_lost(resource_tracker):
    agent = ready(resource_tracker, "--interval", "3600", "--system-rows",
                  Tables(resource_tracker).system)
    assert agent.ask("stop")["warnings"] == []


CHILDREN = """
import subprocess, sys
print("ready", flush=True)
sys.stdin.readline()
children = [subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE) for _ in range(3)]
print(sum(float(child.communicate()[0]) for child in children), flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def parent(workload):
    """Starts a process that, once it reads a line, runs three children of 0.3 s CPU time each."""
    process = subprocess.Popen([sys.executable, "-c", CHILDREN, workload("burn"), "0.3"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    read_line(process.stdout)
    yield process
    process.stdin.close()
    process.stdout.close()
    process.wait()


def run_children(parent):
    parent.stdin.write(b"\n")
    parent.stdin.flush()
    return float(read_line(parent.stdout))


def test_rows_add_up_to_the_exact_total(resource_tracker, parent):
    tables = Tables(resource_tracker)
    agent = ready(resource_tracker, "--pid", str(parent.pid), "--interval", "0.1",
                  *tables.options)
    used = run_children(parent)
    total = agent.ask("stop")["figures"]["cpu.total_seconds"]
    rows = tables.process_rows()
    # The parent uses some milliseconds to start the children and to read their output.
    assert used - 0.02 <= total["value"] <= used * 1.03 + 0.1
    assert sum(row["utime"] + row["stime"] for row in rows) == pytest.approx(total["value"], abs=1e-3)


def test_without_children_only_the_process_itself_is_counted(resource_tracker, parent):
    tables = Tables(resource_tracker)
    agent = ready(resource_tracker, "--pid", str(parent.pid), "--interval", "0.1", "--no-children",
                  *tables.options)
    run_children(parent)
    agent.ask("stop")
    rows = tables.process_rows()
    assert sum(row["utime"] + row["stime"] for row in rows) < 0.3
    assert all(math.isnan(row["children"]) for row in rows)


@pytest.mark.threads
def test_totals_of_a_process_never_fall(resource_tracker, parent):
    agent = ready(resource_tracker)
    before = agent.ask("process-stats", str(parent.pid), "true")["stats"]
    assert list(before) == ["timestamp", "pid", "children", "utime", "stime", "memory_mib",
                            "disk_read_bytes", "disk_write_bytes", "gpu_usage", "gpu_vram_mib",
                            "gpu_utilized_indexes", "gpu_utilized"]
    assert (before["pid"], before["children"]) == (parent.pid, 0)
    assert before["memory_mib"] > 1
    used = run_children(parent)
    after = agent.ask("process-stats", str(parent.pid), "true")["stats"]
    more = after["utime"] + after["stime"] - before["utime"] - before["stime"]
    assert used - 0.05 <= more <= used * 1.03 + 0.1
    assert after["timestamp"] > before["timestamp"]
    alone = agent.ask("process-stats", str(parent.pid), "false")["stats"]
    assert alone["children"] is None
    assert alone["utime"] + alone["stime"] < 0.3


def test_an_exited_process_has_no_totals(resource_tracker, held):
    agent = ready(resource_tracker)
    assert agent.ask("process-stats", str(held.pid), "true")["stats"]["memory_mib"] == \
        pytest.approx(50, abs=3)
    held.stdin.close()
    held.wait()
    assert agent.ask("process-stats", str(held.pid), "true")["code"] == "ESRCH"


def test_totals_of_the_machine_never_fall(resource_tracker):
    agent = ready(resource_tracker)
    first = agent.ask("system-stats")["stats"]
    second = agent.ask("system-stats")["stats"]
    assert first.keys() == second.keys() >= {"timestamp", "disk_stats", "disk_spaces",
                                             *SYSTEM[1:4], *SYSTEM[5:11], *SYSTEM[16:18]}
    assert second["utime"] >= first["utime"] > 0
    for name in ("stime", "net_recv_bytes", "net_sent_bytes"):
        assert second[name] >= first[name], name
    assert first["disk_stats"].keys() <= second["disk_stats"].keys()
    for disk, counts in first["disk_stats"].items():
        assert counts.keys() == {"read_bytes", "write_bytes"}
        assert all(second["disk_stats"][disk][name] >= count for name, count in counts.items()), disk
    for space in first["disk_spaces"].values():
        assert space["total"] == space["used"] + space["free"]


def test_agent_is_not_included_in_the_figures(resource_tracker):
    """The agent is a child of the tracked process."""
    tables = Tables(resource_tracker)
    agent = Agent(resource_tracker, "--interval", "0.1", "--pid", str(os.getpid()), *tables.options)
    agent.answer()
    assert agent.ask("process-stats", str(agent.process.pid), "true")["event"] == "done"
    eventually(lambda: len(tables.process_rows()) >= 2, "two rows")
    assert agent.ask("stop")["figures"]["processes.max_concurrent"]["value"] == 1


def test_bad_requests_are_refused(resource_tracker):
    agent = ready(resource_tracker)
    for arguments, message in ((("0", "true"), "invalid process ID '0'"),
                               (("x", "true"), "invalid process ID 'x'"),
                               (("1", "yes"), "invalid value 'yes': expected true or false"),
                               (("1",), "operation 'process-stats': wrong number of arguments")):
        answer = agent.ask("process-stats", *arguments)
        assert (answer["code"], answer["message"]) == ("EINVAL", message)
    assert agent.ask("snapshot")["message"] == "unknown operation 'snapshot'"
    for options, code in ((["--pid", "4194304"], "ESRCH"), (["--interval", "0"], "EINVAL"),
                          (["--system-rows", "missing/rows.f64"], "ENOENT")):
        refused = Agent(resource_tracker, *options)
        assert refused.answer()["code"] == code
        assert refused.process.wait() == 125


def test_gpu_figures_of_process_and_machine_are_separate(resource_tracker, machine, held):
    machine.play(card(0), card(1))
    agent = Agent.__new__(Agent)
    agent.last_id = 0
    agent.process = resource_tracker.start("agent", env=machine.environment)
    agent.answer()
    machine.play(f"process 1 compute {held.pid} {1 << 30}")

    def stats():
        return agent.ask("process-stats", str(held.pid), "true")["stats"]

    eventually(lambda: stats()["gpu_vram_mib"] == 1024, "the memory of the process")
    machine.play(f"busy 1 {held.pid} 200 30")
    eventually(lambda: stats()["gpu_utilized_indexes"] == [1], "the GPU that it uses")
    assert stats()["gpu_utilized"] == 1
    # The agent waits half a second for the drivers' first response, which may take longer.
    eventually(lambda: (agent.ask("system-stats")["gpus"]["gpu_vram_mib"] or 0) > 1024,
               "the memory of the machine")
