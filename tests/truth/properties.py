# SPDX-License-Identifier: Apache-2.0
"""Properties that hold for every report, whatever the job did.

- low == high means exact: no other value is possible.
- user + system = total, in every section that has the three.
- The integral of a rate over the curve is the total in the report.
- In every row, main + descendants = job for figures that add up, and private + shared = total.
- A warning about the job is true of the job.

Each property is a function that yields texts describing violations.
"""
import rules

SECONDS_PRECISION = 1e-6
CURVE_TOLERANCE = 0.01
# Rounding error of an integral: values of a curve are rounded to four digits.
CURVE_FLOORS = {"seconds": 0.001, "bytes": 8192, "count": 1}
# Columns of the curve whose total is also a figure of the report.
CURVE_TOTALS = {
    "job_cpu_seconds": "cpu.total_seconds",
    "job_major_page_faults": "cpu.page_faults.major",
    "job_started_processes": "processes.started",
    "job_read_bytes": "io.read_bytes",
    "job_written_bytes": "io.written_bytes",
    "job_throttled_seconds": "events.throttled_seconds",
    "job_cpu_pressure_seconds": "pressure.cpu_seconds",
    "job_memory_pressure_seconds": "pressure.memory_seconds",
    "job_io_pressure_seconds": "pressure.io_seconds",
    "job_network_received_bytes": "network.job.received_bytes",
    "job_network_sent_bytes": "network.job.sent_bytes",
    "job_loopback_received_bytes": "network.job.loopback_received_bytes",
    "job_loopback_sent_bytes": "network.job.loopback_sent_bytes",
    "host_network_received_bytes": "network.received_bytes",
    "host_network_sent_bytes": "network.sent_bytes",
    "host_rdma_received_bytes": "network.rdma.received_bytes",
    "host_rdma_sent_bytes": "network.rdma.sent_bytes",
    "host_nfs_read_bytes": "network.nfs.read_bytes",
    "host_nfs_written_bytes": "network.nfs.written_bytes",
}
# Columns whose mean is a figure: the total is this mean multiplied by the elapsed time.
CURVE_MEANS = {
    "main_cpu_seconds": "cpu.main.mean_cores",
    "descendants_cpu_seconds": "cpu.descendants.mean_cores",
    "host_cpu_seconds": "cpu.system.mean_cores",
}
ADDITIVE = {"cpu_seconds": SECONDS_PRECISION, "threads": 0, "gpu_memory_bytes": 0}
SCOPES = ("main", "descendants", "job")
# Warnings about the job, which are true only of some jobs. All other warnings are about the
# machine.
WARNINGS = {"cgroup-left", "left-cgroup", "not-tracked", "oom", "sources-disagree",
            "too-many-mappings", "too-many-processes", "unwaited-children"}


def equal_bounds_are_exact(report, _rows, _warns):
    for path, measure in rules.measures(report):
        low, high = measure.get("low"), measure.get("high")
        if low is not None and low == high and not measure["exact"]:
            yield f"{path}: low = high = {low}, and not exact"


def user_and_system_are_all(report, _rows, _warns):
    sections = [("cpu", report["cpu"])]
    sections += [(f"phases[{i}].cpu", phase["cpu"]) for i, phase in enumerate(report["phases"])]
    for place, cpu in sections:
        total, user, system = (cpu[f"{kind}_seconds"] for kind in ("total", "user", "system"))
        if None in (total["value"], user["value"], system["value"]):
            continue
        if abs(user["value"] + system["value"] - total["value"]) > 1.5 * SECONDS_PRECISION:
            yield (f"{place}: user {user['value']:.6f} + system {system['value']:.6f} is not "
                   f"{total['value']:.6f} s ({user['source']}, {total['source']})")


def integral(curve, column):
    """Integrates a column over all points; unknown points count as 0."""
    means = column.get("mean", column["high"])
    times = [0, *curve["seconds"]]
    return sum((end - begin) * (mean or 0) for begin, end, mean in zip(times, times[1:], means))


def floor_of(name):
    return next((floor for kind, floor in CURVE_FLOORS.items() if name.endswith("_" + kind)),
                CURVE_FLOORS["count"])


def curve_keeps_totals(report, _rows, _warns):
    curve = report["curve"]
    if not curve:
        return
    elapsed = report["run"]["elapsed_seconds"]
    totals = {name: (path, 1) for name, path in CURVE_TOTALS.items()}
    totals.update({name: (path, elapsed) for name, path in CURVE_MEANS.items()})
    for name, (path, factor) in totals.items():
        total = rules.find(report, path)["value"]
        if name not in curve["columns"] or total is None:
            continue
        total *= factor
        if name == "job_started_processes":
            total -= 1  # the main process exists at the start
        found = integral(curve, curve["columns"][name])
        if abs(found - total) > max(CURVE_TOLERANCE * total, floor_of(name)):
            yield f"curve: {name} adds up to {found:.6g}, and {path} is {total:.6g}"


def rows_add_up(_report, rows, _warns):
    """Yields the first contradiction of each kind, and the number of contradictions."""
    faults = {}

    def check(row, name, parts, whole, precision):
        values = [row.get(key) for key in (*parts, whole)]
        if None not in values and abs(sum(values[:-1]) - values[-1]) > precision:
            faults.setdefault(name, []).append(
                f"at {row['elapsed_seconds']:.3f} s {' + '.join(map(str, values[:-1]))} "
                f"is not {values[-1]}")

    for row in rows:
        for name, precision in ADDITIVE.items():
            check(row, f"main + descendants = job for {name}",
                  (f"main_{name}", f"descendants_{name}"), f"job_{name}", 1.5 * precision)
        for scope in SCOPES:
            check(row, f"private + shared = total of {scope}",
                  (f"{scope}_private_bytes", f"{scope}_shared_bytes"), f"{scope}_rss_bytes", 0)
    for name, found in faults.items():
        yield f"rows: {name}: {found[0]} ({len(found)} of {len(rows)} rows)"


def warnings_are_true(report, _rows, warns):
    for warning in report["warnings"]:
        if warning["code"] in WARNINGS and warning["code"] not in warns:
            yield f"a false warning: {warning['code']}: {warning['message']}"


PROPERTIES = (equal_bounds_are_exact, user_and_system_are_all, curve_keeps_totals, rows_add_up,
              warnings_are_true)
# Properties that `make test` checks, too. When the other properties were written, nearly every
# report violated them; each is added here once reports satisfy it.
QUICK = (warnings_are_true,)


def judge(report, rows, warns=(), checks=PROPERTIES):
    """Returns the faults of a report and its rows, as a list of texts. `warns`: codes of
    warnings that are true of the job."""
    return [f"{check.__name__}: {fault}" for check in checks
            for fault in check(report, rows, warns)]
