# SPDX-License-Identifier: Apache-2.0
"""Checks reports against docs/spoor.schema.json, and against rules that a JSON Schema cannot
express.

The schema allows unknown keys, since later versions may add some. The tests do not: every key
that the program writes must be in the schema.
"""
import json
import math
import pathlib

import jsonschema

import memory_order

PATH = pathlib.Path(__file__).resolve().parents[2] / "docs/spoor.schema.json"


def closed(node):
    """Returns the schema with all unlisted keys forbidden."""
    if isinstance(node, list):
        return [closed(item) for item in node]
    if not isinstance(node, dict):
        return node
    node = {key: closed(item) for key, item in node.items()}
    is_object = "properties" in node and "object" in node.get("type", ())
    return {"additionalProperties": False, **node} if is_object else node


def without_references(node, definitions):
    """Returns the schema with each definition in place of its references: jsonschema needs a third
    less time."""
    if isinstance(node, list):
        return [without_references(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    name = node.get("$ref", "").removeprefix("#/$defs/")
    node = {key: without_references(item, definitions) for key, item in node.items() if key not in ("$ref", "$defs")}
    return {**without_references(definitions[name], definitions), **node} if name else node


SCHEMA = json.loads(PATH.read_text("utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(closed(without_references(SCHEMA, SCHEMA["$defs"])))


def check_schema(report):
    """Checks any report, also one made from samples, against the schema, and values against
    their bounds."""
    for error in VALIDATOR.iter_errors(report):
        raise AssertionError(f"{'.'.join(map(str, error.absolute_path))}: {error.message}")
    check_bounds(report, "")


def check_bounds(node, place):
    if isinstance(node, dict) and "low" in node and "exact" in node:
        high = math.inf if node["high"] is None else node["high"]  # null: no upper bound is known
        assert node["low"] <= node["value"] <= high, f"{place}: {node}"
    elif isinstance(node, (dict, list)):
        for key, item in node.items() if isinstance(node, dict) else enumerate(node):
            check_bounds(item, f"{place}.{key}".lstrip("."))


def check(result):
    """Checks the report of a finished run. Fails with the place of the first violation."""
    check_schema(result)
    run = result["run"]
    for key in ("id", "command", "host", "elapsed_seconds", "interval_seconds", "samples", "spoor_version"):
        assert run[key] is not None, f"run.{key} is null"
    assert run["started_at"] <= run["ended_at"]
    is_untracked = any(warning["code"] == "untracked" for warning in result["warnings"])
    assert run["samples"] == 0 if is_untracked else run["samples"] >= 2, "a first and a last sample"
    assert {device["uuid"] for device in result["gpu"]["devices"]} <= set(result["gpu"]["selected"])
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
        low, mean = column.get("low", column["high"]), column.get("mean", column["high"])
        assert len(seconds) == len(column["high"]) == len(low) == len(mean), name
        known = [values for values in zip(low, mean, column["high"]) if None not in values]
        assert known and all(a * 0.999 <= b <= c * 1.001 for a, b, c in known), name
    peak = result["memory"]["combined"]["total_rss_bytes"]["value"]
    memory = [value for value in curve["columns"].get("job_rss_bytes", {"high": []})["high"] if value]
    assert peak is None or max(memory, default=0) <= peak * 1.001, "the curve is above the peak"


def check_recommendation(result):
    needs = result["recommendation"]
    check_request(result)
    peak = result["memory"]["combined"]["total_rss_bytes"]["value"]
    if peak is not None:
        assert needs["memory_bytes"]["value"] >= max(1.2 * peak, 128 << 20)
    elapsed = result["run"]["elapsed_seconds"]
    assert needs["seconds"]["value"] % 60 == 0 and needs["seconds"]["value"] >= 1.2 * elapsed


def check_request(result, margin=1.2):
    """Checks the recommendation: CPUs x time covers the CPU time, the GPUs include all that held
    memory, and each choice is worth offering."""
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
    """Checks that the CPU times of the processes of a job add up to the job's."""
    largest, others = (result["processes"][key] for key in ("largest", "others"))
    assert all(other["count"] != 0 for other in others)
    starts = [process["started_seconds"] for process in largest]
    assert starts == sorted(starts)
    for process in largest:
        assert process["ended_seconds"] is None or \
            process["ended_seconds"] >= process["started_seconds"], process
        assert process["signal"] is None or process["exit_code"] > 128, process
        assert len((process["command"] or "").encode()) <= 256, process
    total = result["cpu"]["total_seconds"]["value"]
    used = sum(process["cpu_seconds"] for process in largest + others)
    if total is not None:
        assert abs(used - total) <= 0.02 * total + 0.005, f"{used} s of {total} s"
