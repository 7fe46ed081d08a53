# SPDX-License-Identifier: Apache-2.0
"""The curve of a run: it contains all increases, and its parts add up."""
import pytest

from conftest import DEADLINE_SECONDS, eventually, load, rows_of, value

BURST = "sleep 1.02; timeout 0.4 sh -c 'while :; do :; done'"


def means(curve, name):
    column = curve["columns"][name]
    return column.get("mean", column["high"])


def integral(curve, name, points=None):
    starts = [0] + curve["seconds"]
    spans = [end - start for start, end in zip(starts, curve["seconds"])][:points]
    return sum(mean * span for mean, span in zip(means(curve, name), spans) if mean is not None)


def test_curve_includes_the_last_partial_interval(spoor):
    _, report = spoor.result("sh", "-c", BURST, options=["-i", "1"])
    curve = report["curve"]
    total = value(report, "cpu.total_seconds")
    # Values of points are rounded to four digits, and times to 0.1 ms.
    assert integral(curve, "job_cpu_seconds") == pytest.approx(total, rel=2e-3, abs=1e-4)
    peak = value(report, "cpu.max_cores")
    assert max(curve["columns"]["job_cpu_seconds"]["high"][1:]) == pytest.approx(peak, rel=1e-3)
    # The peak is a mean over at least half an interval; the burst comes after the last sample but
    # one.
    burst = total - integral(curve, "job_cpu_seconds", -1)
    seconds = max(0.5, curve["seconds"][-1] - curve["seconds"][-2])
    assert 0.99 * burst / seconds <= peak <= 1.001 * total / 0.5


def test_main_and_descendants_add_up_to_the_job_at_every_point(spoor):
    child = "sh -c 'j=0; while [ $j -lt 9999 ]; do j=$((j+1)); done'"
    script = f"i=0; while [ $i -lt 60 ]; do i=$((i+1)); {child}; done"
    _, report = spoor.result("sh", "-c", script, options=["-i", "0.1"])
    curve = report["curve"]
    parts = zip(means(curve, "main_cpu_seconds"), means(curve, "descendants_cpu_seconds"))
    for (main, descendants), job in zip(parts, means(curve, "job_cpu_seconds")):
        if job is not None:
            assert main + descendants == pytest.approx(job, rel=2e-3, abs=1e-6)
    ends = curve["seconds"]
    assert ends == sorted(ends)
    assert ends[-1] == pytest.approx(report["run"]["elapsed_seconds"], abs=2e-4)


def test_private_and_shared_memory_add_up_to_the_total_in_every_row(spoor, tmp_path):
    big = tmp_path / "file"
    big.write_bytes(bytes(64 << 20))
    script = (f"import mmap; f = open({str(big)!r}, 'rb'); x = []\n"
              "for i in range(16):\n"
              "    m = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)\n"
              "    sum(m[i * (4 << 20):(i + 1) * (4 << 20):4096])\n"
              "    x.append((m, bytearray(1 << 20)))\n")
    rows, path = tmp_path / "rows.csv", spoor.new_path("result.json")
    process = spoor.start("run", "-q", "-i", "0.02", "-o", path, "--samples", rows, "--", "/usr/bin/python3", "-c",
                          f"import sys\n{script}sys.stdin.read()\n")
    eventually(lambda: any(row["job_private_bytes"] for row in rows_of(rows)), "private memory")
    process.stdin.close()
    assert process.wait(DEADLINE_SECONDS) == 0 and load(path)
    table = rows_of(rows)
    for group in ("main", "descendants", "job"):
        for row in table:
            total, private, shared = (row[f"{group}_{part}_bytes"]
                                      for part in ("rss", "private", "shared"))
            assert bool(private) == bool(shared)
            if private:
                assert int(private) + int(shared) == int(total)
    for row in table:
        parts = row["main_private_bytes"], row["descendants_private_bytes"]
        if all(parts) and row["job_private_bytes"]:
            assert sum(map(int, parts)) == int(row["job_private_bytes"])


STEPS = """
import sys, time
def count_rows():
    with open(sys.argv[1], "rb") as file:
        return file.read().count(b"\\n")
held = []
for i in range(20):
    held.append(b"x" * (5 << 20))
    if len(sys.argv) > 1:  # works until two more samples are written; an idle job has no early samples
        enough = count_rows() + 2
        while count_rows() < enough: pass
    else:
        end = time.process_time() + 0.03
        while time.process_time() < end: pass
"""


def test_a_short_job_has_a_curve(spoor, tmp_path):
    """Without --interval, the first samples are 10 ms apart; with it, the interval is constant."""
    rows = tmp_path / "rows.jsonl"  # it has no header, which would wait for GPUs
    rows.touch()
    _, report = spoor.result("/usr/bin/python3", "-c", STEPS, rows, options=["--budget", "none", "--samples", rows])
    levels = [high for high in report["curve"]["columns"]["job_rss_bytes"]["high"] if high is not None]
    assert len({level // (5 << 20) for level in levels}) >= 10, levels
    count = len(rows.read_text(encoding="utf-8").splitlines())
    assert count > 10 and count > report["run"]["elapsed_seconds"] / report["run"]["interval_seconds"] + 3
    curve = report["curve"]
    total = value(report, "cpu.total_seconds")
    assert integral(curve, "job_cpu_seconds") == pytest.approx(total, rel=2e-3, abs=1e-4)
    _, report = spoor.result("/usr/bin/python3", "-c", STEPS, options=["-i", "1"])
    assert len(report["curve"]["seconds"]) <= report["run"]["elapsed_seconds"] + 3


# The job sleeps four times as long as it took to start, so that its memory while it sleeps
# determines the median.
HOLDER = """
import os, sys, time
started = int(open("/proc/self/stat").read().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
memory = bytearray(80 << 20)
if sys.argv[1] == "spike":
    del memory
time.sleep(1 + 4 * (time.clock_gettime(time.CLOCK_BOOTTIME) - started))
os._exit(0)
"""


@pytest.mark.parametrize("kind", ["spike", "steady"])
def test_quantiles_distinguish_a_spike_from_steady_use(spoor, kind):
    _, report = spoor.result("/usr/bin/python3", "-c", HOLDER, kind, options=["-i", "20ms"])
    memory = report["distribution"]["memory_bytes"]
    peak = report["memory"]["combined"]["total_rss_bytes"]["value"]
    assert memory["p50"] <= memory["p95"] <= peak
    assert (memory["p50"] < peak / 2) == (kind == "spike")
