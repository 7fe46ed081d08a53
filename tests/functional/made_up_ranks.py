#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""made_up_ranks.py FOLDER [RANKS [NODES [MISSING...]]] - writes the folder of a group that ran
on several nodes.

The figures of a rank follow from its number, so that tests can compute the merged figures: rank
r uses (r % 4 + 1) x 100 MB and 10 x (r % 4 + 1) s of CPU time within 100 s. Ranks listed as
MISSING have begun but not finished. `spoor merge FOLDER` turns the folder into merged.json and
merged.html.
"""
import copy
import datetime
import json
import pathlib
import sys

TEMPLATE = pathlib.Path(__file__).resolve().parents[1] / "replay/expected/worker-pool.json"
START = datetime.datetime(2026, 11, 18, 6, 0, 0)
MB = 1000 * 1000
POINTS = 48


def date(seconds):
    return (START + datetime.timedelta(seconds=seconds)).isoformat(timespec="milliseconds") + "Z"


def measure(value, exact=True, **bounds):
    return {"value": value, "source": "made.up", "exact": exact, **bounds}


def curve(seconds, cores, memory):
    ramp = [min(1, 2 * (k + 1) / POINTS) for k in range(POINTS)]
    return {"samples": 100, "seconds": [round(seconds * (k + 1) / POINTS, 4) for k in range(POINTS)], "columns": {
        "job_cpu_seconds": {"kind": "rate", "high": [cores] * POINTS},
        "job_rss_bytes": {"kind": "gauge", "high": [int(memory * share) for share in ramp]}}}


def launch(rank, ranks, nodes):
    per_node = -(-ranks // nodes)
    return {"launcher": "slurm", "scheduler": "slurm", "job": "1234", "step": "0", "rank": rank, "ranks": ranks,
            "local_rank": rank % per_node, "local_ranks": per_node, "node": rank // per_node, "nodes": nodes,
            "node_name": None, "array_job": None, "array_index": None, "restart": None, "job_name": "simulate",
            "cluster": None}


def report(rank, ranks, nodes, seconds=100.0, start=0.0, template=json.loads(TEMPLATE.read_text("utf-8"))):
    """Returns the report of a rank, without the keys that its line omits."""
    made = copy.deepcopy({key: value for key, value in template.items() if key != "recommendation"})
    share = rank % 4 + 1
    place = launch(rank, ranks, nodes)
    made["run"].update(id=f"{rank:032x}", name=None, host=f"n{place['node']:02}", pid=1000 + rank, started_at=date(start),
                       ended_at=date(start + seconds), elapsed_seconds=seconds, exit_code=0, signal=None,
                       command=["./simulate", "case.toml"])
    made["launch"] = place
    made["cpu"].update(total_seconds=measure(10 * share), user_seconds=measure(9 * share), system_seconds=measure(share),
                       mean_cores=measure(10 * share / seconds), max_cores=measure(share / 10, False))
    made["memory"]["combined"]["total_rss_bytes"] = measure(share * 100 * MB, False, low=share * 100 * MB,
                                                            high=share * 110 * MB)
    made["limits"].update(memory_bytes=2000 * MB, memory_source="cgroup.memory.max")
    made["processes"].update(largest=[], others=[])
    made["phases"], made["curve"] = [], curve(seconds, share / 10, share * 100 * MB)
    return made


def begin(made):
    return {"schema": "spoor/1", "launch": made["launch"],
            "begin": {key: made["run"][key] for key in ("id", "started_at", "host", "pid", "user", "command")}}


def line(record):
    """Formats a record. The keys that identify a line come first, as in the program's own
    output."""
    first = {key: record[key] for key in ("schema", "begin", "run") if key in record}
    return json.dumps({**first, **record}, separators=(",", ":")) + "\n"


def write(folder, ranks=16, nodes=4, missing=()):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    texts = {}
    for rank in range(ranks):
        made = report(rank, ranks, nodes, 100.0 + rank % 7, 0.25 * (rank % 3))
        texts[made["run"]["host"]] = texts.get(made["run"]["host"], "") + line(begin(made)) + (
            "" if rank in missing else line(made))
    for host, text in texts.items():
        (folder / f"{host}.jsonl").write_text(text, "utf-8")
    return folder


if __name__ == "__main__":
    write(sys.argv[1], *map(int, sys.argv[2:4]), missing=tuple(map(int, sys.argv[4:])))
