# SPDX-License-Identifier: Apache-2.0
"""Figures compared with the known usage of the job."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

from conftest import cpu_time, eventually, load, read_line, value

MIB = 1 << 20


@pytest.mark.threads
def test_one_second_of_cpu_time_is_measured(spoor, workload):
    done, result = spoor.result(workload("burn"), "1")
    total = value(result, "cpu.total_seconds")
    assert total == cpu_time(float(done.stdout))
    assert value(result, "cpu.user_seconds") + value(result, "cpu.system_seconds") == \
        pytest.approx(total, rel=0.05, abs=0.03)
    assert value(result, "cpu.main.max_cores") <= 1.1
    assert 0 < value(result, "cpu.mean_cores") <= 1.05


def test_mean_cores_are_cpu_time_over_elapsed_time(spoor):
    for command in (["true"], ["sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do /bin/true; done"]):
        _, result = spoor.result(*command)
        mean = value(result, "cpu.total_seconds") / result["run"]["elapsed_seconds"]
        assert value(result, "cpu.mean_cores") == pytest.approx(mean, rel=1e-3)


def test_a_job_without_descendants_has_no_descendant_memory(spoor):
    for _ in range(3):
        _, result = spoor.result("true")
        assert value(result, "processes.started") == 1
        for size in ("total_rss_bytes", "private_rss_bytes", "shared_rss_bytes"):
            assert value(result, f"memory.descendants.{size}") == 0


CHAIN = """
import os, time
def burn(depth):
    if depth > 0:
        child = os.fork()
        if child == 0:
            burn(depth - 1)
            os._exit(0)
        os.waitpid(child, 0)
    start = time.process_time()
    while time.process_time() - start < 0.005:
        pass
burn(40)
"""
BURN = "import time\nwhile time.process_time() < 0.3: pass"


@pytest.mark.parametrize("cgroup, disabled", [("auto", ""), ("off", ""), ("off", "perf,ring")])
@pytest.mark.parametrize("script", [BURN, CHAIN], ids=["burn", "chain"])
def test_reported_cores_do_not_exceed_the_cores_available_to_the_job(spoor, script, cgroup, disabled):
    """No job here runs on two CPUs at once, except briefly after a fork. The counters advance by
    up to 10 ms at a time, counters of a cgroup by more if the host takes a CPU away; and on a busy
    machine the last usage of a process is seen late."""
    _, result = spoor.result("/usr/bin/python3", "-c", script,
                             options=["-i", "0.001", "--cgroup", cgroup],
                             env={**os.environ, "SPOOR_DISABLE": disabled})
    assert value(result, "cpu.main.max_cores") <= 1.5
    for scope in ("", "descendants.", "system."):
        assert value(result, f"cpu.{scope}max_cores") <= 1.2 * os.cpu_count(), scope


def test_cpu_time_of_children_belongs_to_the_job(spoor, workload):
    done, result = spoor.result(workload("burn"), "1", "4", options=["-i", "0.05"])
    assert value(result, "cpu.total_seconds") == cpu_time(float(done.stdout))
    assert value(result, "cpu.descendants.mean_cores") > 10 * value(result, "cpu.main.mean_cores")


def test_memory_held_by_the_job_is_measured(spoor, workload):
    _, result = spoor.result(workload("hold"), "200")
    for scope in ("main", "combined"):
        assert value(result, f"memory.{scope}.total_rss_bytes") == \
            pytest.approx(200 * MIB, rel=0.02)


@pytest.mark.threads
@pytest.mark.parametrize("detail", ["auto", "always", "never"])
def test_private_memory_is_reported_according_to_the_detail_option(spoor, workload, detail):
    path, samples = spoor.new_path("result.json"), spoor.new_path("samples.jsonl")
    process = spoor.start("run", "-q", "-i", "0.02", "--detail", detail, "-o", path, "--samples",
                          samples, "--", workload("hold"), "200")
    read_line(process.stdout)  # from here on, the memory is held
    before = len(samples.read_text().splitlines())
    eventually(lambda: len(samples.read_text().splitlines()) > before + 3, "more samples")
    process.stdin.close()
    assert process.wait() == 0
    result = load(path)
    private = value(result, "memory.main.private_rss_bytes")
    if detail == "never":
        assert private is None and result["tracker"]["detail_reads"] == 0
    else:
        assert private == pytest.approx(200 * MIB, rel=0.02)


def test_peak_between_samples_is_measured(spoor):
    """The kernel's high-water mark is larger than any sample."""
    script = "x = bytearray(b'x') * (150 << 20); del x"
    _, result = spoor.result("/usr/bin/python3", "-c", script, options=["-i", "60"])
    assert value(result, "memory.combined.total_rss_bytes") >= 150 * MIB


def test_written_bytes_are_counted(spoor, workload, tmp_path):
    path = tmp_path / "data"
    _, result = spoor.result(workload("scribble"), path, "16")
    assert value(result, "io.written_chars") == pytest.approx(16 * MIB, rel=0.05)
    kind = subprocess.run(["stat", "-f", "-c", "%T", tmp_path], stdout=subprocess.PIPE, text=True,
                          check=True).stdout.strip()
    if kind == "tmpfs":
        assert value(result, "io.written_bytes") < MIB
    else:
        assert value(result, "io.written_bytes") == pytest.approx(16 * MIB, rel=0.05)


def test_read_bytes_are_counted(spoor, tmp_path):
    path = tmp_path / "data"
    path.write_bytes(b"x" * (8 * MIB))
    _, result = spoor.result("cat", path, stdout=subprocess.DEVNULL)
    assert value(result, "io.read_chars") == pytest.approx(8 * MIB, rel=0.05)


def test_very_short_job_has_known_figures(spoor):
    """The job writes more than the tracker's own size with sanitizers (7 MB), so the kernel
    reports the job's peak even if spoor never read it."""
    _, result = spoor.result("/usr/bin/python3", "-c", "len(b'x' * (16 << 20))")
    for path in ("cpu.total_seconds", "memory.main.total_rss_bytes", "processes.max_concurrent",
                 "io.read_chars"):
        assert value(result, path) is not None, path
    assert value(result, "processes.max_concurrent") == 1
    assert value(result, "memory.main.total_rss_bytes") > 16 * MIB


COUNTS = ("cpu.page_faults.minor", "cpu.page_faults.major", "cpu.context_switches.voluntary",
          "cpu.context_switches.involuntary")
WITHOUT_CGROUP = pytest.mark.parametrize("options", [[], ["--cgroup", "off"]],
                                         ids=["cgroup", "no cgroup"])


def counts(spoor, workload, *arguments, options):
    """Returns the counts from the job's own getrusage() and the report's values for the given
    paths."""
    done, result = spoor.result(workload("counts"), *arguments, options=options, input="\n",
                                stdin=None)
    assert done.returncode == 0
    return (dict(zip(COUNTS, map(int, done.stdout.split()))),
            {path: value(result, path) for path in COUNTS})


@WITHOUT_CGROUP
@pytest.mark.parametrize("children", [0, 20])
def test_page_faults_of_all_processes_are_counted(spoor, workload, options, children):
    """The report counts all page faults of the job: the faults that the job counted itself,
    short-lived processes included, and the faults of its start."""
    own_count, found = counts(spoor, workload, "faults", "1000" if children else "20000", str(children),
                         options=["-i", "60", *options])
    minor = COUNTS[0]
    assert own_count[minor] >= 20_000
    assert own_count[minor] <= found[minor] <= own_count[minor] + 500
    assert found[COUNTS[1]] >= own_count[COUNTS[1]]


@WITHOUT_CGROUP
def test_context_switches_are_counted(spoor, workload, options):
    own_count, found = counts(spoor, workload, "pingpong", "5000", options=options)
    voluntary, involuntary = COUNTS[2:]
    assert own_count[voluntary] >= 5_000
    for path in (voluntary, involuntary):
        assert own_count[path] <= found[path] <= own_count[path] + 50


def test_counts_of_unwaited_children_are_exact_only_for_root(spoor, workload):
    """Exact counts include the exit records of the children, which only root receives."""
    def measured(children):
        _, result = spoor.result(workload("ignore_children"), str(children))
        faults, switches = (list(result["cpu"][name].values()) for name in ("page_faults", "context_switches"))
        return sum(count["value"] for count in faults), [count["exact"] for count in faults + switches]
    without, with_children = measured(0), measured(20)
    if os.geteuid() == 0:
        assert all(without[1] + with_children[1])
        assert with_children[0] - without[0] >= 20 * 10
    else:
        assert not any(with_children[1])


def test_counts_of_an_attached_job_start_when_it_is_attached(spoor, workload):
    """Context switches of an attached process are unknown: the kernel reports them only to its
    parent, which waits for it."""
    job = subprocess.Popen([workload("counts"), "faults", "20000"], stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE)
    path, samples = spoor.new_path("result.json"), spoor.new_path("samples.jsonl")
    process = spoor.start("attach", "-q", "-i", "0.02", "-o", path, "--samples", samples,
                          str(job.pid))
    eventually(lambda: samples.exists() and samples.read_bytes().count(b"\n") >= 3, "samples")
    job.stdin.write(b"\n")
    job.stdin.flush()
    own_count = int(read_line(job.stdout).split()[0])
    lines = samples.read_bytes().count(b"\n")
    eventually(lambda: samples.read_bytes().count(b"\n") >= lines + 3, "more samples")
    job.stdin.close()
    job.wait()
    job.stdout.close()
    assert process.wait() == 0
    result = load(path)
    assert own_count >= 20_000
    assert own_count <= value(result, "cpu.page_faults.minor") <= own_count + 500
    assert not result["cpu"]["page_faults"]["minor"]["exact"]
    assert value(result, "cpu.context_switches.voluntary") is None
    assert "started" in result["cpu"]["context_switches"]["voluntary"]["reason"]


@pytest.mark.parametrize("detail", ["auto", "never"])
def test_parts_of_memory_at_the_peak_add_up_to_the_total(spoor, workload, detail):
    """The peaks of private and shared memory do not add up, because they occur at different
    moments: all of main's memory is private until it forks."""
    path, samples = spoor.new_path("result.json"), spoor.new_path("samples.jsonl")
    process = spoor.start("run", "-q", "-i", "0.02", "--detail", detail, "-o", path, "--samples",
                          samples, "--", workload("workers"), "100", "40")
    assert read_line(process.stdout) == "ready"
    before = samples.read_bytes().count(b"\n")
    eventually(lambda: samples.read_bytes().count(b"\n") > before + 10, "more samples")
    process.stdin.close()
    assert process.wait() == 0
    result = load(path)
    total, private, shared = (value(result, f"memory.at_peak.{part}_rss_bytes")
                              for part in ("total", "private", "shared"))
    assert total <= value(result, "memory.combined.total_rss_bytes")
    if detail == "never":
        assert private is None and shared is None
        assert "--detail" in result["memory"]["at_peak"]["private_rss_bytes"]["reason"]
        return
    assert private + shared == total
    assert total == pytest.approx(140 * MIB, rel=0.03)
    # Memory sizes that have changed by less than 2 % since the last read are not read again.
    assert private == pytest.approx(40 * MIB, abs=0.02 * total)
    assert shared == pytest.approx(100 * MIB, rel=0.03)
    for part in ("private", "shared"):
        assert value(result, f"memory.at_peak.{part}_rss_bytes") <= \
            value(result, f"memory.combined.{part}_rss_bytes")


def test_tracker_reports_its_own_cost(spoor, workload):
    path, samples = spoor.new_path("result.json"), spoor.new_path("samples.jsonl")
    process = spoor.start("run", "-q", "-i", "0.01", "-o", path, "--samples", samples, "--",
                          workload("hold"), "1")
    eventually(lambda: samples.exists() and samples.read_bytes().count(b"\n") >= 10, "ten samples")
    used_seconds = time.clock_gettime((~process.pid << 3) | 2)  # the CPU clock of the tracker
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    peak_bytes = int(re.search(r"^VmHWM:\s*(\d+) kB$", status, re.M)[1]) << 10
    process.stdin.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    result = load(path)
    # wait4 adds the job and the helpers of the tracker.
    assert 0.9 * used_seconds <= result["tracker"]["cpu_seconds"] <= usage.ru_utime + usage.ru_stime + 0.01
    assert 0.9 * peak_bytes <= result["tracker"]["max_rss_bytes"] <= usage.ru_maxrss << 10
    assert result["run"]["samples"] == samples.read_bytes().count(b"\n")


def memory_group():
    """Returns a folder of the memory controller in which a group can be created, and the name of
    its limit file."""
    with open("/proc/self/cgroup", encoding="utf-8") as file:
        for line in file:
            _, controllers, path = line.rstrip("\n").split(":", 2)
            if "memory" in controllers.split(","):
                return f"/sys/fs/cgroup/memory{path}", "memory.limit_in_bytes"
            if controllers == "" and os.path.exists(f"/sys/fs/cgroup{path}/memory.max"):
                return f"/sys/fs/cgroup{path}", "memory.max"
    pytest.skip("no memory controller")


def test_footprint_needs_energy_and_intensity(spoor):
    _, result = spoor.result("sleep", "0.2")
    assert result["energy"]["co2e_grams"]["reason"] == "requires --carbon-intensity"
    path = spoor.new_path("result.json")
    spoor("run", "-q", "--carbon-intensity", "380", "--pue", "1.5", "-o", path, "--", "sleep", "0.2")
    energy = load(path)["energy"]
    cpu, gpu, grams = energy["cpu_joules"], energy["gpu_joules"], energy["co2e_grams"]
    if cpu["value"] is None and gpu["value"] is None:
        assert grams["value"] is None and grams["reason"] == cpu["reason"]
    else:
        joules = (cpu["value"] or 0) + (gpu["value"] or 0)
        assert grams["value"] == pytest.approx(joules * 380 * 1.5 / 3.6e6)


def test_hardware_counters_have_values_or_a_reason(spoor, workload):
    _, result = spoor.result("true")
    for figure in result["cpu"]["counters"].values():
        assert figure["value"] is None and figure["reason"] == "requires --counters"
    path = spoor.new_path("result.json")
    for disabled, reason in (("perf", "disabled by SPOOR_DISABLE"), ("", None)):
        spoor("run", "-q", "--counters", "-o", path, "--", workload("burn"), "0.2",
              env={**os.environ, "SPOOR_DISABLE": disabled})
        counters = load(path)["cpu"]["counters"]
        if reason:
            assert {figure["reason"] for figure in counters.values()} == {reason}
    if counters["cycles"]["value"] is None:
        assert "hardware counters" in counters["cycles"]["reason"]
        pytest.skip(f"no PMU: {counters['cycles']['reason']}")
    assert counters["cycles"]["source"] == "perf.hardware"
    assert counters["instructions"]["value"] > 1e6
    assert counters["instructions_per_cycle"]["value"] == pytest.approx(
        counters["instructions"]["value"] / counters["cycles"]["value"])


READ_TWICE = """
import os, sys
for _ in range(2):
    fd = os.open(sys.argv[1], os.O_RDONLY)
    while os.read(fd, 1 << 20):
        pass
    os.close(fd)
"""


def test_refaults_are_reported_if_the_page_cache_does_not_fit(spoor, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root may make a cgroup")
    folder, limit = memory_group()
    size = 192 * MIB
    data = tmp_path / "data"
    with open(data, "wb") as file:
        for _ in range(size // MIB):
            file.write(os.urandom(MIB))
        os.fsync(file.fileno())
        # The pages would stay charged to this process. Pages evicted this way are not counted as
        # refaults.
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    group = f"{folder}/spoor-test-{os.getpid()}"
    try:
        os.mkdir(group)
    except OSError as error:
        pytest.skip(f"no cgroup of our own: {error}")
    try:
        with open(f"{group}/{limit}", "w", encoding="ascii") as file:
            file.write(str(64 * MIB))
        path = spoor.new_path("result.json")
        done = subprocess.run(
            ["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', group, spoor.binary, "run",
             "-o", path, "--", sys.executable, "-c", READ_TWICE, data],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
    finally:
        os.rmdir(group)
    result = load(path)
    refaulted = result["memory"]["refaulted_bytes"]
    if refaulted["value"] is None:
        pytest.skip(f"refaults: {refaulted['reason']}")
    assert refaulted["source"] == "cgroup.memory.stat" and not refaulted["exact"]
    assert size / 2 < refaulted["value"] < size + 4 * MIB  # the second pass, plus libraries
    assert "evicted from the page cache, then read again" in done.stderr
    # The tracker counts towards the limit too, and is large with sanitizers, so the job alone may
    # not reach the limit.
    is_full = result["memory"]["job_peak_bytes"]["value"] >= 0.95 * 64 * MIB
    assert ("that did not fit in memory" in result["recommendation"]["memory_bytes"]["why"]) is is_full


def test_oom_kill_is_reported(spoor, workload):
    if os.geteuid() != 0:
        pytest.skip("only root may make a cgroup")
    folder, limit = memory_group()
    group = f"{folder}/spoor-test-{os.getpid()}"
    try:
        os.mkdir(group)
    except OSError as error:
        pytest.skip(f"no cgroup of our own: {error}")
    try:
        with open(f"{group}/{limit}", "w", encoding="ascii") as file:
            file.write(str(64 * MIB))
        path = spoor.new_path("result.json")
        # The shell enters the group and calls exec for spoor. The job is the largest process in the
        # group.
        done = subprocess.run(
            ["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', group, spoor.binary, "run",
             "-q", "-o", path, "--", workload("hold"), "500"], stdin=subprocess.DEVNULL,
            check=False)
    finally:
        os.rmdir(group)
    assert done.returncode == -signal.SIGKILL
    result = load(path)
    assert result["run"]["signal"] == "SIGKILL"
    assert value(result, "events.oom_kills") >= 1
    assert any("memory" in warning["message"] for warning in result["warnings"])
    # The limit does not show how much memory the job needs.
    need = result["recommendation"]["memory_bytes"]
    assert need["value"] == 128 * MIB and need["guess"] and "its limit of 67.1 MB" in need["why"]
    assert "--mem=128M" in spoor("recommend", "--for", "sbatch", path).stdout
    assert "Next run" in spoor("report", "-f", "text", path).stdout


def test_memory_limit_is_reported(spoor):
    if os.geteuid() != 0:
        pytest.skip("only root may make a cgroup")
    folder, limit = memory_group()
    group = f"{folder}/spoor-limit-{os.getpid()}"
    try:
        os.mkdir(group)
    except OSError as error:
        pytest.skip(f"no cgroup of our own: {error}")
    try:
        with open(f"{group}/{limit}", "w", encoding="ascii") as file:
            file.write(str(256 * MIB))
        path = spoor.new_path("result.json")
        subprocess.run(["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', group, spoor.binary,
                        "run", "-q", "-o", path, "--", "true"], check=True)
    finally:
        os.rmdir(group)
    assert load(path)["limits"]["memory_bytes"] == 256 * MIB


def test_cpu_limit_of_a_job_pinned_to_one_cpu_is_1(spoor):
    path = spoor.new_path("result.json")
    cpu = min(os.sched_getaffinity(0))
    process = spoor.start("run", "-q", "-o", path, "--", "cat",
                          preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
    process.stdin.write(b"x\n")
    process.stdin.flush()
    assert read_line(process.stdout) == "x"
    process.stdin.close()
    assert process.wait() == 0
    assert load(path)["limits"]["cpus"] == 1
