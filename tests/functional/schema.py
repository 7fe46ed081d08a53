# SPDX-License-Identifier: Apache-2.0
"""The schema spoor/1 as a shape to hold a result against.

A shape is a dict of required keys, a list of one shape, a set of types, or MEASURE. Keys may be
added within spoor/1, so those that are not named here are allowed.
"""
import math
import re

import memory_order

MEASURE, ANYTHING = object(), object()
TEXT, NUMBER, COUNT, NOTHING = str, (int, float), int, type(None)
DATE = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$")


def measures(names):
    return {name: MEASURE for name in names.split()}


CORES = measures("mean_cores max_cores")
RSS = measures("total_rss_bytes private_rss_bytes shared_rss_bytes")

SECTIONS = {
    "cpu": {
        **measures("total_seconds user_seconds system_seconds mean_cores max_cores"),
        "main": CORES, "descendants": CORES, "system": CORES,
        "threads": measures("main descendants combined"),
        "page_faults": measures("major minor"),
        "context_switches": measures("voluntary involuntary"),
    },
    "memory": {
        "main": RSS, "descendants": RSS, "combined": {**RSS, **measures("pss_bytes")},
        "at_peak": RSS,
        **measures("job_peak_bytes anon_peak_bytes page_cache_peak_bytes swap_peak_bytes "
                   "system_peak_bytes"),
    },
    "io": measures("read_bytes written_bytes read_chars written_chars"),
    "network": {**measures("received_bytes sent_bytes"), "scope": {TEXT}},
    "processes": measures("max_concurrent started"),
    "pressure": measures("cpu_seconds memory_seconds io_seconds"),
    "events": measures("oom_kills throttled_seconds"),
}
GPU = {
    "memory": measures("main_bytes descendants_bytes combined_bytes system_bytes"),
    "utilization": measures("mean_gpus max_gpus"),
    "job_utilization": measures("mean_gpus max_gpus"),
}
SECTIONS["gpu"] = GPU
SECTIONS["energy"] = measures("cpu_joules gpu_joules")
DEVICE = {
    "index": {COUNT}, "part": {COUNT, NOTHING}, "uuid": {TEXT}, "name": {TEXT, NOTHING},
    "vendor": {TEXT},
    "memory": {"total_bytes": {COUNT, NOTHING}, **measures("peak_bytes job_peak_bytes")},
    "utilization": measures("mean max"), "job_utilization": measures("mean max"),
    **measures("energy_joules max_temperature_celsius max_power_watts"),
    "throttled": ANYTHING,  # null or words: see check()
}
PROCESS = {
    "pid": {COUNT}, "parent_pid": {COUNT, NOTHING}, "name": {TEXT, NOTHING},
    "command": {TEXT, NOTHING}, "started_seconds": {NUMBER}, "ended_seconds": {NUMBER, NOTHING},
    "cpu_seconds": {NUMBER},
    **{key: {COUNT, NOTHING} for key in ("peak_rss_bytes", "read_bytes", "written_bytes",
                                         "gpu_memory_bytes", "exit_code")},
    "signal": {TEXT, NOTHING},
}
OTHERS = {"name": {TEXT, NOTHING}, "count": {COUNT, NOTHING}, "cpu_seconds": {NUMBER},
          "peak_rss_bytes": {COUNT, NOTHING}}
RESULT = {
    "schema": {TEXT},
    "run": {
        "id": {TEXT}, "name": {TEXT, NOTHING}, "tags": {}, "command": [{TEXT}], "pid": {COUNT, NOTHING},
        "host": {TEXT}, "user": {TEXT, NOTHING}, "cwd": {TEXT, NOTHING},
        "started_at": {TEXT}, "ended_at": {TEXT}, "elapsed_seconds": {NUMBER},
        "exit_code": {COUNT, NOTHING}, "signal": {TEXT, NOTHING}, "interval_seconds": {NUMBER},
        "samples": {COUNT}, "spoor_version": {TEXT},
    },
    "host": {
        "os": {TEXT, NOTHING}, "kernel": {TEXT, NOTHING}, "cpu_model": {TEXT, NOTHING},
        "cpus": {COUNT, NOTHING}, "memory_bytes": {COUNT, NOTHING},
        "gpus": [{"index": {COUNT}, "part": {COUNT, NOTHING}, "uuid": {TEXT},
                  "name": {TEXT, NOTHING},
                  "vendor": {TEXT}, "memory_bytes": {COUNT, NOTHING}}], "cloud": {},
    },
    "limits": {"cpus": {NUMBER, NOTHING}, "memory_bytes": {COUNT, NOTHING}, "gpus": [{TEXT}]},
    **SECTIONS,
    "gpu": {"count": {COUNT, NOTHING}, "selected": [{TEXT}], **GPU, "devices": [DEVICE]},
    "phases": [{"name": {TEXT}, "started_at": {TEXT}, "elapsed_seconds": {NUMBER}, **SECTIONS}],
    "tracker": {"cpu_seconds": {NUMBER, NOTHING}, "max_rss_bytes": {COUNT, NOTHING},
                "late_samples": {COUNT}, "detail_reads": {COUNT},
                "budget_percent": {NUMBER, NOTHING},
                "spent": {f"{what}_seconds": {NUMBER} for what in
                          ("samples", "events", "glances", "sharing", "gpus")},
                "postponed": {"glances": {COUNT}, "sharing": {COUNT}, "gpus": {COUNT}}},
    "warnings": [{"code": {TEXT}, "message": {TEXT}}],
}


def check(result):
    """Fails with the path of the first mismatch."""
    check_shape(result, RESULT, "")
    assert result["schema"] == "spoor/1"
    run = result["run"]
    for key in ("started_at", "ended_at"):
        assert DATE.match(run[key]), f"run.{key}: {run[key]!r} is no RFC 3339 date in UTC"
    assert run["started_at"] <= run["ended_at"]
    is_untracked = any(warning["code"] == "untracked" for warning in result["warnings"])
    assert run["samples"] == 0 if is_untracked else run["samples"] >= 2, "a first and a last sample"
    assert result["network"]["scope"] in ("job", "host")
    for device in result["gpu"]["devices"]:
        assert device["uuid"] in result["gpu"]["selected"]
        assert set(device["throttled"] or []) <= {"power", "thermal", "hardware"}
    assert result["gpu"]["selected"] == result["limits"]["gpus"]
    assert (result["gpu"]["count"] or 0) <= len(result["host"]["gpus"])
    faults = memory_order.contradictions(result)
    assert not faults, "; ".join(faults)
    if is_untracked:
        assert result["curve"] is None
    else:
        check_curve(result)
    if "system" not in result:
        check_recommendation(result)
        check_processes(result)


def check_curve(result):
    curve = result["curve"]
    seconds = curve["seconds"]
    assert curve["samples"] == result["run"]["samples"] and 1 <= len(seconds) <= 256
    assert seconds == sorted(seconds) and seconds[-1] <= result["run"]["elapsed_seconds"] + 0.001
    for name, column in curve["columns"].items():
        assert column["kind"] in ("rate", "gauge"), name
        low, mean = column.get("low", column["high"]), column.get("mean", column["high"])
        assert len(seconds) == len(column["high"]) == len(low) == len(mean), name
        known = [values for values in zip(low, mean, column["high"]) if None not in values]
        assert known and all(a * 0.999 <= b <= c * 1.001 for a, b, c in known), name
    peak = result["memory"]["combined"]["total_rss_bytes"]["value"]
    memory = [value for value in curve["columns"].get("job_rss_bytes", {"high": []})["high"] if value]
    assert peak is None or max(memory, default=0) <= peak * 1.001, "the curve is above the peak"


def check_recommendation(result):
    *keys, last, note = needs = result["recommendation"]
    assert keys == ["cpus", "memory_bytes", "gpus", "vram_bytes", "seconds"]
    assert (last, note) == ("choices", "note")
    check_request(result)
    for key in keys:
        need = needs[key]
        assert set(need) == {"value", "guess", "why"} and need["why"], key
        assert isinstance(need["guess"], bool), key
        assert need["value"] is None or need["value"] >= 0, key
    peak = result["memory"]["combined"]["total_rss_bytes"]["value"]
    if peak is not None:
        assert needs["memory_bytes"]["value"] >= max(1.2 * peak, 128 << 20)
    elapsed = result["run"]["elapsed_seconds"]
    assert needs["seconds"]["value"] % 60 == 0 and needs["seconds"]["value"] >= 1.2 * elapsed


def check_request(result, margin=1.2):
    """CPUs x time cover the CPU time, the GPUs all that held memory, and choices differ
    usefully."""
    needs, total = result["recommendation"], result["cpu"]["total_seconds"]["value"]
    choices = [(each["cpus"], each["seconds"]) for each in needs["choices"]]
    cpus, seconds = needs["cpus"]["value"], needs["seconds"]["value"]
    if None not in (cpus, seconds):
        assert 1 <= len(choices) <= 2 and (cpus, seconds) in choices
        assert choices == sorted(choices) and choices[::-1] == sorted(choices, key=lambda each: each[1])
        assert total is None or all(cpus * seconds >= 0.999999 * margin * total for cpus, seconds in choices)
    else:
        assert not choices
    holders = [device for device in result["gpu"]["devices"]
               if device["part"] is None and (device["memory"]["job_peak_bytes"]["value"] or 0) > 0]
    assert not holders or needs["gpus"]["value"] >= len(holders)
    assert needs["note"] is None or needs["note"].endswith(".")


def check_processes(result):
    """The processes of a job add up to its CPU time."""
    largest, others = (result["processes"][key] for key in ("largest", "others"))
    check_shape(largest, [PROCESS], "processes.largest")
    check_shape(others, [OTHERS], "processes.others")
    assert all(other["count"] != 0 for other in others)
    assert len(largest) <= 200
    starts = [process["started_seconds"] for process in largest]
    assert starts == sorted(starts)
    for process in largest:
        assert process["cpu_seconds"] >= 0, process
        assert process["ended_seconds"] is None or \
            process["ended_seconds"] >= process["started_seconds"], process
        assert process["signal"] is None or process["exit_code"] > 128, process
        assert len((process["command"] or "").encode()) <= 256, process
    total = result["cpu"]["total_seconds"]["value"]
    used = sum(process["cpu_seconds"] for process in largest + others)
    if total is not None:
        assert abs(used - total) <= 0.02 * total + 0.005, f"{used} s of {total} s"


def check_shape(found, shape, place):
    if shape is ANYTHING:
        return
    if shape is MEASURE:
        check_measure(found, place)
    elif isinstance(shape, dict):
        assert isinstance(found, dict), f"{place}: {found!r} is no object"
        for key, inner in shape.items():
            assert key in found, f"{place}: no key {key!r}"
            check_shape(found[key], inner, f"{place}.{key}".lstrip("."))
    elif isinstance(shape, list):
        assert isinstance(found, list), f"{place}: {found!r} is no array"
        for index, item in enumerate(found):
            check_shape(item, shape[0], f"{place}[{index}]")
    else:
        types = tuple(kind for entry in shape
                      for kind in (entry if isinstance(entry, tuple) else (entry,)))
        assert isinstance(found, types) and not isinstance(found, bool), f"{place}: {found!r}"


def check_measure(found, place):
    assert isinstance(found, dict), f"{place}: {found!r} is no measure"
    allowed = {"value", "source", "exact", "low", "high", "reason"}
    assert {"value", "source", "exact"} <= set(found) <= allowed, f"{place}: {sorted(found)}"
    assert isinstance(found["exact"], bool), place
    number = found["value"]
    if number is None:
        assert found["source"] is None and not found["exact"], f"{place}: {found}"
        assert found.get("reason"), f"{place}: null without a reason"
        assert "low" not in found and "high" not in found, f"{place}: bounds of nothing"
        return
    assert isinstance(number, (int, float)) and not isinstance(number, bool), f"{place}: {number!r}"
    assert math.isfinite(number) and number >= 0, f"{place}: {number}"
    assert found["source"] and "reason" not in found, f"{place}: {found}"
    assert ("low" in found) == ("high" in found), f"{place}: one bound"
    if "low" in found:
        high = math.inf if found["high"] is None else found["high"]  # the upper bound is unknown
        assert found["low"] <= number <= high, f"{place}: {found}"
        assert not found["exact"], f"{place}: exact, with bounds"
