# SPDX-License-Identifier: Apache-2.0
"""Parsers for the output of gpu-tracker: the status line, the report, its layout."""
import json

STATUS = "Resource tracking complete. Process completed with status code: "
NO_GPU = ("WARNING:root:Neither the nvidia-smi command nor the amd-smi command is installed. Install "
          "one of these to profile the GPU. Otherwise the GPU RAM and GPU utilization values will "
          "remain 0.0.\n")

RSS = {"total_rss": "Total RSS", "private_rss": "Private RSS", "shared_rss": "Shared RSS"}
PERCENT = {"max_sum_percent": "Max sum percent", "max_hardware_percent": "Max hardware percent",
           "mean_sum_percent": "Mean sum percent",
           "mean_hardware_percent": "Mean hardware percent"}
# Key, label and children, in the order of both formats.
SHAPE = [
    ("max_ram", "Max RAM", [
        ("unit", "Unit", None), ("system_capacity", "System capacity", None),
        ("system", "System", None), ("main", "Main", list(RSS.items())),
        ("descendants", "Descendants", list(RSS.items())),
        ("combined", "Combined", list(RSS.items()))]),
    ("max_gpu_ram", "Max GPU RAM", [
        ("unit", "Unit", None), ("system_capacity", "System capacity", None),
        ("system", "System", None), ("main", "Main", None),
        ("descendants", "Descendants", None), ("combined", "Combined", None)]),
    ("cpu_utilization", "CPU utilization", [
        ("system_core_count", "System core count", None),
        ("n_expected_cores", "Number of expected cores", None),
        ("system", "System", list(PERCENT.items())), ("main", "Main", list(PERCENT.items())),
        ("descendants", "Descendants", list(PERCENT.items())),
        ("combined", "Combined", list(PERCENT.items())),
        ("main_n_threads", "Main number of threads", None),
        ("descendants_n_threads", "Descendants number of threads", None),
        ("combined_n_threads", "Combined number of threads", None)]),
    ("gpu_utilization", "GPU utilization", [
        ("system_gpu_count", "System GPU count", None),
        ("n_expected_gpus", "Number of expected GPUs", None),
        ("gpu_percentages", "GPU percentages", list(PERCENT.items()))]),
    ("compute_time", "Compute time", [("unit", "Unit", None), ("time", "Time", None)]),
]


def paths(rows=None, column=0, above=()):
    """Lists every key (column 0) or label (column 1) of SHAPE with its parents, in order."""
    for row in SHAPE if rows is None else rows:
        here = (*above, row[column])
        yield here
        if len(row) == 3 and row[2]:
            yield from paths(row[2], column, here)


def json_paths(report, above=()):
    for key, value in report.items():
        yield (*above, key)
        if isinstance(value, dict):
            yield from json_paths(value, (*above, key))


def parse_text(text):
    """Parses a text report into {path of labels: value, None for a section}, in order."""
    found, above = {}, []
    for line in text.split("\n"):
        words = line.lstrip(" ")
        depth, rest = divmod(len(line) - len(words), 3)
        assert rest == 0 and depth <= len(above), line
        label, colon, value = words.partition(":")
        assert colon and (value == "" or value[0] == " "), line
        above = [*above[:depth], label]
        assert tuple(above) not in found, line
        found[tuple(above)] = value[1:] or None
    return found


def split_output(output):
    """Splits stdout into the status code and the report."""
    line, _, report = output.partition("\n")
    assert line.startswith(STATUS), output
    return int(line[len(STATUS):]), report


def result(gpu_tracker, command, *options, code=0, **popen):
    """Runs a command that prints nothing; returns its JSON result, fully checked."""
    done = gpu_tracker("-e", command, "-f", "json", *options, cwd=gpu_tracker.folder, **popen)
    status, report = split_output(done.stdout)
    assert (done.returncode, status) == (code, 0), done.stderr
    assert report == json.dumps(json.loads(report), indent=1) + "\n"
    report = json.loads(report)
    assert list(json_paths(report)) == list(paths())
    return report
