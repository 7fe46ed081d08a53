# SPDX-License-Identifier: Apache-2.0
"""Reads a .command.trace by the rules of Nextflow's parser (TraceRecord)."""
import re


def whole(text, bits):
    """Returns the number if Java accepts it; otherwise 0, as Nextflow does."""
    value = int(text) if re.fullmatch(r"[-+]?[0-9]+", text) else None
    return value if value is not None and -(1 << bits - 1) <= value < 1 << bits - 1 else 0


def parse_trace(text):
    lines = text.splitlines()
    assert lines[0] == "nextflow.trace/v2"
    record = {}
    for line in lines:
        name, value, *_ = [*filter(None, line.split("=")), None]
        if value is None:
            continue
        if name in ("%cpu", "%mem"):
            record[name] = whole(value, 32) / 10
        elif name in ("rss", "vmem", "peak_rss", "peak_vmem"):
            record[name] = whole(value, 64) * 1024
        else:
            record[name] = value if name == "cpu_model" else whole(value, 64)
    return record
