# SPDX-License-Identifier: Apache-2.0
"""Doctor marks a source as "used" if and only if a run on this machine, by this user, uses it."""
import json
import os
import pathlib
import re
import subprocess

import pytest

from conftest import descriptors_of, load, read_line, wait_for_samples, warnings_of

NOBODY = 65534
GENERIC, CONNECTOR = "16", "11"  # netlink protocols; taskstats uses the first


def doctor(spoor, *options, **variables):
    """Returns the rows by quantity: {quantity: {source: "used", "yes" or "no"}}."""
    done = spoor("doctor", *options, env={**os.environ, **variables})
    assert done.returncode == 0 and done.stderr == ""
    rows = {}
    quantity = None
    for line in done.stdout.splitlines():
        row = re.match(r"  (used|yes|no)  +(\S.*?)(?:  .*)?$", line)
        if row:
            rows[quantity][row[2]] = row[1]
        elif line and not line.startswith(" "):
            quantity = line
            rows[quantity] = {}
    return {quantity: sources for quantity, sources in rows.items() if sources}


class Run:
    """A finished run: the report, and the files that the tracker held open while the job ran."""

    def __init__(self, spoor, *options, **variables):
        path = spoor.new_path("run.json")
        process = spoor.start("run", "-q", "-o", path, "-i", "0.005", *options, "--", "sh", "-c",
                              "(:); echo ready; read line",
                              env={**os.environ, "SPOOR_DETAIL": "always", **variables})
        read_line(process.stdout)
        wait_for_samples(process.pid)
        self.sockets = held_sockets(process.pid)
        maps = pathlib.Path(f"/proc/{process.pid}/maps").read_text()
        self.rings = maps.count("anon_inode:[perf_event]")
        process.communicate(b"\n")
        self.report = load(path)

    def figure(self, path):
        figure = self.report
        for key in path.split("."):
            figure = figure[key]
        return figure

    def source(self, path):
        figure = self.figure(path)
        return None if figure["value"] is None else figure["source"]


def held_sockets(pid):
    """Lists the protocols of the tracker's netlink sockets."""
    rows = [line.split() for line in
            pathlib.Path("/proc/net/netlink").read_text().splitlines()[1:]]
    return [row[1] for row in rows if f"socket:[{row[-1]}]" in descriptors_of(pid)]


# For each quantity: returns the source that a run used, by doctor's name; None if the figure is
# unknown.

def cpu_of_job(run):
    figure = run.figure("cpu.total_seconds")
    if figure["source"] == "wait4":
        return "wait4, verified by perf" if figure["exact"] else "wait4 (subreaper)"
    return figure["source"]


def members_of_job(run):
    source = run.source("processes.started")
    return {"procfs.stat": "scan of /proc"}.get(source, source)


def started(run):
    source = run.source("processes.started")
    if source in ("perf.fork-ring", "proc-connector"):
        assert (source == "perf.fork-ring") == (run.rings > 0)
        assert (source == "proc-connector") == (CONNECTOR in run.sockets)
        return source
    return "processes seen by samples"


def peak_threads(run):
    # Connector events can raise the sampled peak if a process lives between two samples.
    source = run.source("cpu.threads.combined")
    return {"proc-connector": "procfs.stat"}.get(source, source)


def given(path, source):
    """Returns a check for a quantity with one source: whether its figure is known."""
    return lambda run: source if run.source(path) else None


USED = {
    "CPU time of a job": cpu_of_job,
    "CPU time of a process": lambda run: run.source("cpu.main.mean_cores"),
    "peak memory of a job, with page cache": given("memory.job_peak_bytes", "cgroup.memory.peak"),
    "page cache read again": given("memory.refaulted_bytes", "cgroup.memory.stat"),
    "peak memory of a job": given("memory.combined.total_rss_bytes",
                                  "procfs.statm, between samples"),
    "peak memory of a process": given("memory.main.total_rss_bytes",
                                      "wait4.ru_maxrss, procfs.status.VmHWM"),
    "peak memory of processes never waited for":
        lambda run: "taskstats" if GENERIC in run.sockets else None,
    "private and shared memory": given("memory.main.private_rss_bytes",
                                       "procfs.smaps_rollup"),
    "processes of a job": members_of_job,
    "number of processes started": started,
    "peak number of threads": peak_threads,
    # The job hardly runs, so only exit records contain its waiting time.
    "waiting for a CPU": lambda run: run.source("cpu.wait_seconds") or "procfs.schedstat",
    "disk I/O": given("io.read_chars", "procfs.io"),
    "network bytes of a job": given("network.job.received_bytes", "sock_diag"),
    "bytes of RDMA ports": given("network.rdma.received_bytes", "host.sysfs.infiniband"),
    "bytes of NFS mounts": given("network.nfs.read_bytes", "host.procfs.mountstats"),
    "pressure stalls of the job": lambda run: {"cgroup.cpu.pressure": "cgroup pressure"}.get(
        run.source("pressure.cpu_seconds")),
    "pressure stalls of the machine": lambda run: {"cgroup.cpu.pressure": "host.procfs.pressure"}
        .get(run.source("pressure.cpu_seconds"), run.source("pressure.cpu_seconds")),
    "CPU energy": given("energy.cpu_joules", "powercap, Cray, hwmon or perf"),
}
# GPU sources need real GPUs: see test_gpu_outputs.py. The last row has its own test below.
ELSEWHERE = {"instructions per cycle, with --counters", "NVIDIA GPUs", "exact peak memory of processes on NVIDIA GPUs",
             "work of NVIDIA GPUs: SMs, tensor cores, bandwidth", "AMD GPUs", "Intel GPUs",
             "work of AMD GPUs: memory bandwidth, XGMI",
             "peak memory of a job on AMD and Intel GPUs",
             "I/O and memory of other users' processes"}

# Values of SPOOR_DISABLE: each source alone, and all sources above each last resort.
DISABLED = ["", "cgroup", "perf", "ring", "ring,connector", "taskstats", "clock", "children",
            "network", "cgroup,perf", "cgroup,ring,connector", "cgroup,ring,connector,children",
            "cgroup,perf,ring,connector,taskstats,clock,children"]


def undecided(disabled):
    """Returns the quantities for which a run shows the source only if others are disabled."""
    return set() if {"ring", "connector"} <= set(disabled.split(",")) else {"processes of a job"}


@pytest.mark.parametrize("disabled", DISABLED)
def test_doctor_shows_a_source_as_used_if_and_only_if_a_run_uses_it(spoor, disabled):
    rows = doctor(spoor, SPOOR_DISABLE=disabled)
    run = Run(spoor, SPOOR_DISABLE=disabled)
    assert set(rows) == set(USED) | ELSEWHERE
    for quantity in set(USED) - undecided(disabled):
        used = [source for source, word in rows[quantity].items() if word == "used"]
        assert used == [source for source in [USED[quantity](run)] if source], quantity


@pytest.mark.parametrize("better", ["cgroup", "cgroup,perf", "ring", "ring,connector", "clock",
                                    "cgroup,children"])
def test_a_source_that_would_work_is_used_once_the_better_ones_are_disabled(spoor, better):
    """Shows that a source marked "yes" really works."""
    before, after = doctor(spoor), doctor(spoor, SPOOR_DISABLE=better)
    for quantity, sources in before.items():
        left = [source for source, word in sources.items()
                if word != "no" and after[quantity][source] != "no"]
        assert [source for source, word in after[quantity].items() if word == "used"] == left[:1]


@pytest.mark.parametrize("name, value, option, quantity", [
    ("SPOOR_CGROUP", "off", "--cgroup", "CPU time of a job"),
    ("SPOOR_DETAIL", "never", "--detail", "private and shared memory"),
])
def test_doctor_uses_the_settings_of_a_run(spoor, name, value, option, quantity):
    rows = doctor(spoor, **{name: value})[quantity]
    assert rows == doctor(spoor, option, value)[quantity]
    used = [source for source, word in rows.items() if word == "used"]
    assert used == [source for source in [USED[quantity](Run(spoor, option, value))] if source]
    assert f"disabled by {option} {value}" in \
        " ".join(spoor("doctor", option, value).stdout.split())


def test_doctor_refuses_the_same_settings_as_a_run(spoor):
    for command in (["doctor"], ["run", "true"]):
        done = spoor(*command, env={**os.environ, "SPOOR_DISABLE": "cgruop"})
        assert done.returncode == 125
        assert "SPOOR_DISABLE: unknown source 'cgruop'" in done.stderr


def test_doctor_shows_whether_other_users_processes_can_be_read(spoor):
    """Regression test: doctor tried process 1, which a machine may hide from root too."""
    row = doctor(spoor)["I/O and memory of other users' processes"]["procfs.io, procfs.smaps"]
    if os.geteuid() == 0:
        process = subprocess.Popen(["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}",
                                    "--clear-groups", "sh", "-c", "echo ready; read line"],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        read_line(process.stdout)
        pid = process.pid
    else:
        process, pid = None, 1
        assert os.stat("/proc/1").st_uid != os.geteuid()
    path = spoor.new_path("attach.json")
    spoor("attach", "-q", "--duration", "0.05", "-o", path, str(pid))
    if process:
        process.communicate(b"\n")
    # The descendants of process 1 are the whole machine: their figures do not add up while it is busy.
    report = json.loads(path.read_text())
    assert (report["memory"]["main"]["private_rss_bytes"]["value"] is not None) == (row != "no")
    assert ("io-denied" not in warnings_of(report)) == (row != "no")


def test_doctor_leaves_nothing_behind(spoor):
    """Doctor's trial job has a cgroup, like any other job."""
    def cgroups():
        return {folder for top in ("/sys/fs/cgroup",) for folder, _, _ in os.walk(top)
                if "spoor" in folder and f"{os.getpid()}" not in folder}
    before = cgroups()
    process = spoor.start("doctor")
    process.communicate()
    assert not [folder for folder in cgroups() - before if str(process.pid) in folder]


def test_doctor_suggests_no_fix_for_a_source_replaced_by_a_better_one(spoor):
    text = spoor("doctor").stdout
    lines = text.splitlines()
    replaced = [following for line, following in zip(lines, lines[1:]) if line.endswith("proc-connector is used")]
    assert bool(replaced) == ("  used  proc-connector\n" in text)
    assert not any("fix:" in following for following in replaced)
