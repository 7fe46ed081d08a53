# SPDX-License-Identifier: Apache-2.0
"""Checks the reports of the machine: by the rules of the truth suite, and by checks that only cgroup v2 allows: the
source of each figure, and that no cgroup is left.

A check yields (subject, whether it holds, the figures).
"""
import json

import rules  # from the truth suite

# A process reads its clock before its exit. Under emulation, its start and its exit take up to a
# third of the work. So CPU time may exceed the truth here; the truth suite shows on a real machine
# that nothing is counted twice.
UNSEEN_PART = 0.6
UNSEEN_SECONDS = 0.2
LIMIT_BYTES = 256 << 20  # limit in the place "limited"
LARGE_BYTES = 200 << 20  # much more than the memory of spoor itself
MIB = 1 << 20


def near(value, true, relative, absolute=0):
    return value is not None and abs(value - true) <= max(true * relative, absolute)


def shown(measure):
    value = measure["value"]
    return f"null: {measure.get('reason')}" if value is None else f"{value} ({measure['source']})"


def check_truth(run, report, truth):
    """Applies the rules of the truth suite, except for CPU time, whose allowance differs and
    only permits a higher value."""
    rows = rules.judge({key: true for key, true in truth.items() if key != "cpu_seconds"},
                       report, {key: far for key, far in run.must.items() if key in truth})
    for row in rows:
        yield (f"{row.figure} keeps the rules", not (row.fault or row.far),
               f"{row.fault or row.far}: true {row.true}, reported {row.value} ({row.source}),"
               f" {row.low} to {row.high}")
    faults = rules.judge_form(report)
    yield "every measure is well-formed", not faults, "; ".join(faults)

    cpu, true = report["cpu"]["total_seconds"], truth["cpu_seconds"]
    slack = max(true * rules.EXACT_TOLERANCE, rules.CPU_FLOOR)
    least = true - slack if cpu["exact"] or "cpu_seconds" in run.must else 0
    yield ("cpu_seconds keeps the rules",
           least < (cpu["value"] or 0) <= true * (1 + UNSEEN_PART) + UNSEEN_SECONDS,
           f"true {true}, reported {shown(cpu)}")


def check_source(report, path, source):
    measure = rules.find(report, path)
    yield f"{path} is of {source}", measure["source"] == source, shown(measure)


def check_sources(run, report, truth):
    """Checks the source of each figure in each place."""
    cpu, peak = report["cpu"]["total_seconds"], report["memory"]["job_peak_bytes"]
    if run.job_cgroup != "none":
        yield from check_source(report, "cpu.total_seconds", "cgroup.cpu.stat")
        yield "cpu.total_seconds is exact", cpu["exact"], shown(cpu)
        for name in ("cpu", "memory", "io"):
            yield from check_source(report, f"pressure.{name}_seconds", f"cgroup.{name}.pressure")
        yield ("pressure is exact unless spoor is in the cgroup",
               report["pressure"]["cpu_seconds"]["exact"] == (run.job_cgroup != "around"), run.job_cgroup)
    elif run.place != "root":
        # This kernel refuses perf to ordinary users.
        yield from check_source(report, "cpu.total_seconds", "wait4")
    if run.job_cgroup in ("bare", "none"):
        yield "memory.job_peak_bytes is not guessed", peak["value"] is None, shown(peak)
        if run.place in ("crowded", "shared") and "off" not in run.options:
            yield ("others and the job have an upper bound",
                   peak.get("high") is not None and peak["high"] >= truth.get("job_peak_bytes", MIB),
                   f"true {truth.get('job_peak_bytes')}, at most {peak.get('high')}")
        return
    if run.job_cgroup == "around" and peak["source"] in (None, "cgroup.memory.current"):
        # An earlier job in the same cgroup had a higher peak.
        yield "an earlier peak is not taken for this one", not peak["exact"], shown(peak)
        return
    yield from check_source(report, "memory.job_peak_bytes", "cgroup.memory.peak")
    if run.job_cgroup == "all" or truth.get("job_peak_bytes", 0) > LARGE_BYTES:
        yield "memory.job_peak_bytes is exact", peak["exact"], shown(peak)
    if "job_peak_bytes" in truth:
        yield ("memory.job_peak_bytes is there to 3 %",
               near(peak["value"], truth["job_peak_bytes"], 0.03, rules.CHARGED_FLOOR),
               f"true {truth['job_peak_bytes']}, reported {shown(peak)}")


def check_oom(report):
    kills = report["events"]["oom_kills"]
    yield "the OOM kill is counted", kills["value"] == 1, shown(kills)
    yield "the signal is named", report["run"]["signal"] == "SIGKILL", report["run"]["signal"]
    # The limit of the parent cgroup applies to the job cgroup.
    peak = report["memory"]["job_peak_bytes"]
    yield "the peak is the limit", near(peak["value"], LIMIT_BYTES, 0.03), shown(peak)


def skip_reason(parts):
    """Returns the reason why a job could not do its work on this machine; "" if it could."""
    return parts.get("output", "").strip() if parts.get("status") == "77" else ""


def check_end(run, parts):
    """Checks the exit of spoor, and that nothing is left."""
    output = parts.get("output", "")
    yield (f"the status is {run.status}", parts.get("status") == run.status,
           f"{parts.get('status')}: {output[-300:]}")
    yield "no cgroup is left behind", parts.get("groups") == "", parts.get("groups", "not known")
    if run.name == "crash":
        yield "the job ran in a cgroup of its own", "during: 0::/spoor-" in output, output
    if run.name == "refused":
        yield ("a sentence says why, and there is no report",
               "cgroup" in output and not parts.get("report"), output)


def check(run, parts):
    """Runs all checks on a run; `parts` is the machine's output."""
    yield from check_end(run, parts)
    if run.name == "refused":
        return
    try:
        report = json.loads(parts.get("report", ""))
        truth = json.loads(parts.get("truth", "")) if run.has_truth else {}
    except ValueError:
        yield ("there is a report and a truth", False,
               f"{parts.get('report', 'no report')[:80]}, {parts.get('truth', 'no truth')}")
        return
    yield from check_sources(run, report, truth)
    if run.has_truth:
        yield from check_truth(run, report, truth)
    if run.name == "oom":
        yield from check_oom(report)


def check_machine(facts):
    mounts, controllers = facts.get("mounts", ""), facts.get("controllers", "")
    yield ("cgroup v2 is mounted on /sys/fs/cgroup", "cgroup2 /sys/fs/cgroup cgroup2" in mounts,
           mounts)
    yield ("the controllers are handed down",
           set(controllers.split()) >= {"cpu", "io", "memory", "pids"}, controllers)
    yield "it ended in order", "over" in facts, "stopped before the last run was over"
