# SPDX-License-Identifier: Apache-2.0
"""The class Tracker of gpu_tracker."""
import csv
import dataclasses
import json
import logging
import os
import pickle
import sqlite3
import subprocess
import sys

import pytest

import gpu_tracker as gput
import spoor
from conftest import BINARY, eventually

NO_GPU = ("Neither the nvidia-smi command nor the amd-smi command is installed. Install one of these to "
          "profile the GPU. Otherwise the GPU RAM and GPU utilization values will remain 0.0.")


def tracked(**options):
    with gput.Tracker(disable_logs=True, **options) as tracker:
        pass
    return tracker


def test_wrong_order_of_calls_is_an_error():
    tracker = gput.Tracker(disable_logs=True)
    assert tracker.state is gput.Tracker.State.NEW and repr(tracker) == "State: NEW"
    assert [(state.name, state.value) for state in gput.State] == \
        [("NEW", 0), ("STARTED", 1), ("STOPPED", 2)]
    with pytest.raises(RuntimeError) as error:
        tracker.stop()
    assert str(error.value) == "Cannot stop tracking when tracking has not started yet."
    tracker.start()
    assert repr(tracker) == "State: STARTED" and tracker.resource_usage is None
    with pytest.raises(RuntimeError) as error:
        tracker.start()
    assert str(error.value) == "Cannot start tracking when tracking has already started."
    for show in (str, gput.Tracker.to_json):
        with pytest.raises(RuntimeError) as error:
            show(tracker)
        assert str(error.value) == (
            "Cannot display the tracker in string or JSON format before tracking completes. Exit "
            "the content manager or call the stop() method before calling to_json() or str()")
    tracker.stop()
    assert repr(tracker) == "State: STOPPED"
    with pytest.raises(RuntimeError) as error:
        tracker.stop()
    assert str(error.value) == "Cannot stop tracking when tracking has already stopped."
    with pytest.raises(RuntimeError) as error:
        tracker.start()
    assert str(error.value) == "Cannot start tracking when tracking has already stopped."


@pytest.mark.parametrize("options, kind, message", [
    ({"sleep_time": 0.05}, ValueError,
     "Sleep time of 0.05 is invalid. Must be at least 0.1 seconds."),
    ({"sleep_time": float("nan")}, ValueError,
     "Sleep time of nan is invalid. Must be at least 0.1 seconds."),
    ({"ram_unit": "x"}, ValueError, '"x" is not a valid RAM unit. Valid values are bytes, '
     "gigabytes, kilobytes, megabytes, terabytes"),
    ({"gpu_ram_unit": "x"}, ValueError, '"x" is not a valid GPU RAM unit. Valid values are bytes, '
     "gigabytes, kilobytes, megabytes, terabytes"),
    ({"time_unit": "x"}, ValueError,
     '"x" is not a valid time unit. Valid values are days, hours, minutes, seconds'),
    ({"tracking_file": "x.txt"}, ValueError,
     'Invalid file name: "x.txt". Valid file extensions are ".csv" and ".sqlite".'),
    ({"gpu_brand": "x"}, ValueError,
     '"x" is not a valid GPU brand. Supported values are "nvidia" and "amd".'),
    ({"spelling": "x"}, ValueError,
     '"x" is not a valid spelling. Valid values are "descendants" or "descendents".'),
    ({"n_expected_cores": 0}, ValueError, '"0" is not a valid number of expected cores. Must be a '
     "whole number of at least 1."),
    ({"n_expected_cores": 1.5}, ValueError, '"1.5" is not a valid number of expected cores. Must be '
     "a whole number of at least 1."),
    ({"sleep_time": "x"}, ValueError, "could not convert string to float: 'x'"),
    ({"colour": "x"}, TypeError,
     "Tracker.__init__() got an unexpected keyword argument 'colour'"),
])
def test_constructor_refuses_invalid_options(options, kind, message):
    with pytest.raises(kind) as error:
        gput.Tracker(**options)
    assert str(error.value) == message


@pytest.mark.parametrize("name", ["t.csv", "t.sqlite"])
def test_existing_tracking_file_is_refused(name):
    with open(name, "w", encoding="utf-8"):
        pass
    with pytest.raises(FileExistsError) as error:
        gput.Tracker(tracking_file=name)
    assert str(error.value) == \
        f"File {name} already exists. Set overwrite to True to overwrite the existing file."
    os.remove(name)
    tracker = gput.Tracker(tracking_file=name, disable_logs=True)
    with open(name, "w", encoding="utf-8"):
        pass  # another process created it first
    with pytest.raises(FileExistsError, match="already exists. Set overwrite to True"):
        tracker.start()
    tracked(tracking_file=name, overwrite=True)
    assert os.path.getsize(name) > 100


def test_old_parameters_are_accepted():
    tracker = tracked(include_children=True, kill_if_join_fails=True, gpu_unit="kilobytes",
                      n_join_attempts=3, join_timeout=2.0, resource_usage_file="x.pkl")
    assert tracker.max_gpu_ram.unit == "kilobytes"
    assert (tracker.n_join_attempts, tracker.join_timeout) == (3, 2.0)
    assert os.listdir() == []


def test_json_and_data_classes_have_the_documented_keys():
    tracker = tracked(ram_unit="kilobytes", gpu_ram_unit="bytes", time_unit="days",
                      n_expected_cores=3)
    data = tracker.to_json()
    usage = tracker.resource_usage
    assert dataclasses.asdict(usage) == data
    assert list(data) == ["max_ram", "max_gpu_ram", "cpu_utilization", "gpu_utilization",
                          "compute_time"]
    assert list(data["max_ram"]) == ["unit", "system_capacity", "system", "main", "descendants",
                                     "combined"]
    assert list(data["max_ram"]["main"]) == ["total_rss", "private_rss", "shared_rss"]
    assert isinstance(usage, gput.ResourceUsage) and isinstance(usage.max_ram, gput.MaxRAM)
    assert isinstance(usage.max_ram.main, gput.RSSValues)
    assert isinstance(usage.max_gpu_ram, gput.MaxGPURAM)
    assert isinstance(usage.cpu_utilization, gput.CPUUtilization)
    assert isinstance(usage.cpu_utilization.main, gput.ProcessingUnitPercentages)
    assert isinstance(usage.gpu_utilization, gput.GPUUtilization)
    assert isinstance(usage.compute_time, gput.ComputeTime)
    assert usage.max_ram is tracker.max_ram and usage.compute_time is tracker.compute_time
    assert (usage.max_ram.unit, usage.compute_time.unit) == ("kilobytes", "days")
    assert usage.cpu_utilization.n_expected_cores == 3
    assert usage.cpu_utilization.system_core_count == os.cpu_count()
    data["max_ram"]["unit"] = "changed"
    assert tracker.to_json()["max_ram"]["unit"] == "kilobytes"
    assert pickle.loads(pickle.dumps(usage)) == usage
    assert repr(usage.compute_time).startswith("ComputeTime(unit='days', time=")


def test_data_classes_are_data_classes():
    ram = gput.MaxRAM("bytes", 1.0)
    assert ram == gput.MaxRAM(unit="bytes", system_capacity=1.0) != gput.MaxRAM("bytes", 2.0)
    assert ram != 1 and dataclasses.is_dataclass(gput.MaxRAM)
    assert ram.main == gput.RSSValues(0.0, 0.0, 0.0) and ram.main is not gput.MaxRAM("", 0.0).main
    assert dataclasses.replace(ram, unit="x").unit == "x"
    assert [f.name for f in dataclasses.fields(gput.RSSValues)] == \
        ["total_rss", "private_rss", "shared_rss"]
    for arguments, named in (((), {}), (("a", 1.0), {"unit": "b"}), (("a", 1.0), {"x": 1}),
                             (tuple("abcdefg"), {})):
        with pytest.raises(TypeError):
            gput.MaxRAM(*arguments, **named)
    with pytest.raises(TypeError):
        hash(ram)


def test_text_equals_the_output_of_the_program():
    tracker = tracked()
    lines = str(tracker).splitlines()
    assert lines[0] == "Max RAM:" and lines[1] == "   Unit: gigabytes"
    assert "   Descendants:" in lines and not str(tracker).endswith("\n")


def test_old_spelling_descendents_is_supported():
    tracker = tracked(spelling="descendents")
    assert "descendents" in tracker.to_json()["max_ram"]
    assert "   Descendents:" in str(tracker)
    assert "descendents=RSSValues(" in repr(tracker.max_ram)
    assert "descendants" not in repr(tracker.resource_usage)
    assert tracker.resource_usage.cpu_utilization.descendents_n_threads == 0
    assert dataclasses.asdict(tracker.resource_usage) == tracker.to_json()


def test_memory_allocated_before_the_start_is_counted_as_private():
    held = bytearray(700 * 10 ** 6)
    tracker = tracked(ram_unit="megabytes")
    main = tracker.resource_usage.max_ram.main
    assert 700 < main.total_rss < 760 and 700 < main.private_rss < 760
    assert main == tracker.resource_usage.max_ram.combined
    del held


def test_peak_between_samples_is_seen():
    # In a new process, which never had a higher peak: otherwise the kernel's mark does not rise.
    program = """import gpu_tracker as gput
with gput.Tracker(sleep_time=60, ram_unit="megabytes", disable_logs=True) as tracker:
    held = bytearray(300 * 10 ** 6)
    del held
print(tracker.resource_usage.max_ram.main.total_rss)
"""
    assert float(subprocess.check_output([sys.executable, "-c", program], text=True)) > 300


def test_child_process_is_a_descendant():
    with gput.Tracker(ram_unit="megabytes", disable_logs=True, sleep_time=0.1,
                      tracking_file="t.csv") as tracker:
        code = "x = bytearray(100 * 10 ** 6); print(flush=True); input()"
        with subprocess.Popen([sys.executable, "-S", "-c", code], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as child:
            child.stdout.readline()
            size = os.path.getsize("t.csv")
            eventually(lambda: os.path.getsize("t.csv") > size + 500, "two rows more")
            child.communicate(b"\n")
    usage = tracker.resource_usage
    assert 100 < usage.max_ram.descendants.total_rss < 130
    assert usage.cpu_utilization.descendants_n_threads == 1


@pytest.mark.parametrize("name", ["t.csv", "t.sqlite"])
def test_tracking_file_is_complete(name):
    with gput.Tracker(sleep_time=0.1, tracking_file=name, disable_logs=True, ram_unit="bytes") as t:
        sum(range(10 ** 6))
    if name.endswith(".csv"):
        with open(name, encoding="utf-8", newline="") as file:
            text = file.read()
        rows = list(csv.reader(text.splitlines()))
        assert text.endswith("\r\n") and rows[0][0] == "ram_unit" and rows[1][0] == "bytes"
        assert rows[2][-1] == "timestamp"
        last = dict(zip(rows[2], rows[-1]))
    else:
        connection = sqlite3.connect(name)
        connection.row_factory = sqlite3.Row
        assert connection.execute("SELECT ram_unit FROM static_data").fetchone()[0] == "bytes"
        last = dict(connection.execute("SELECT * FROM data").fetchall()[-1])
        connection.close()
    assert float(last["main_ram"]) <= t.resource_usage.max_ram.main.total_rss


def test_missing_gpu_causes_one_warning(caplog):
    with caplog.at_level(logging.WARNING):
        with gput.Tracker():
            pass
    said = [record.getMessage() for record in caplog.records]
    assert [record.name for record in caplog.records] == ["root"] * len(said)
    if not any(os.path.exists(path) for path in ("/dev/nvidiactl", "/dev/kfd", "/dev/dri")):
        # The CPU time may be less than a clock tick.
        assert [message for message in said if not message.startswith("CPU utilization")] == [NO_GPU]
    caplog.clear()
    tracked()
    assert NO_GPU not in [record.getMessage() for record in caplog.records]


def test_exited_process_has_empty_usage(caplog):
    process = subprocess.Popen(["true"])
    process.wait()
    tracker = gput.Tracker(process_id=process.pid)
    with tracker:
        pass
    assert (f"The target process of ID {process.pid} ended before tracking could begin."
            in caplog.text)
    assert tracker.resource_usage.max_ram.main.total_rss == 0.0
    assert tracker.resource_usage.compute_time.time == 0.0
    assert tracker.resource_usage.max_ram.system_capacity == \
        pytest.approx(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9)
    assert "Total RSS: 0.0" in str(tracker)


def test_usage_of_another_process_is_available_after_its_end():
    process = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    with gput.Tracker(process_id=process.pid, disable_logs=True, ram_unit="bytes") as tracker:
        process.stdin.close()
        process.wait()
    assert 0 < tracker.resource_usage.max_ram.main.total_rss < 20e6


def test_usage_is_available_after_an_error_in_the_block():
    with pytest.raises(RuntimeError, match="AN ERROR"):
        with gput.Tracker(disable_logs=True) as tracker:
            raise RuntimeError("AN ERROR")
    assert tracker.resource_usage.max_gpu_ram.main == 0.0


def test_version_names_the_interface_and_the_program():
    assert gput.__version__ == f"5.0.1+spoor.{spoor.__version__}"
    done = subprocess.run([sys.executable, "-m", "gpu_tracker", "-v"], check=True, text=True,
                          stdout=subprocess.PIPE)
    assert done.stdout == gput.__version__ + "\n"


def test_main_returns_to_its_caller(script):
    out = script("""
        import sys
        import gpu_tracker.__main__ as program

        for words in (["-e", "echo it works", "-o", "report.txt"], ["-e", ""]):
            sys.argv[1:] = words
            try:
                program.main()
            except SystemExit as end:
                print("ended with", end.code, flush=True)
    """)
    assert out == ("it works\nResource tracking complete. Process completed with status code: 0\n"
                   "ended with 0\nended with 1\n")


@pytest.mark.parametrize("spelling", ["descendants", "descendents"])
def test_tracker_and_usage_can_be_pickled(spelling):
    tracker = tracked(spelling=spelling)
    again = pickle.loads(pickle.dumps(tracker))
    assert str(again) == str(tracker) and again.to_json() == tracker.to_json()
    usage = pickle.loads(pickle.dumps(tracker.resource_usage))
    assert dataclasses.asdict(usage) == dataclasses.asdict(tracker.resource_usage)


def test_numeric_options_may_be_strings_or_floats():
    tracker = tracked(sleep_time="0.5", n_expected_cores=2.0)
    assert tracker.resource_usage.cpu_utilization.n_expected_cores == 2
    tracker = tracked(sleep_time=1, n_expected_cores="3")
    assert tracker.resource_usage.cpu_utilization.n_expected_cores == 3


def test_tracking_file_that_cannot_be_created_is_refused():
    with pytest.raises(FileNotFoundError) as error:
        gput.Tracker(tracking_file="nodir/x.csv")
    assert str(error.value) == "[Errno 2] No such file or directory: 'nodir/x.csv'"
    os.mkdir("folder.csv")
    with pytest.raises(IsADirectoryError):
        gput.Tracker(tracking_file="folder.csv", overwrite=True)
    if os.geteuid() != 0:
        os.mkdir("locked", 0o500)
        with pytest.raises(PermissionError):
            gput.Tracker(tracking_file="locked/x.csv")
    assert not os.path.exists("x.csv")


def test_module_runs_the_program():
    done = subprocess.run([sys.executable, "-m", "gpu_tracker", "-e", "true", "-f", "json"],
                          check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    first, _, rest = done.stdout.partition("\n")
    assert first == "Resource tracking complete. Process completed with status code: 0"
    assert list(json.loads(rest))[0] == "max_ram"


def test_agent_of_gpu_tracker_refuses_invalid_arguments():
    for arguments, message in (((), "missing"), (("--pid=x",), "invalid process ID 'x'"),
                               (("--pid=0",), "invalid process ID '0'"),
                               (("-e", "true"), "unknown option -e")):
        done = subprocess.run(["gpu-tracker", "agent", *arguments], executable=BINARY, text=True,
                              stdout=subprocess.PIPE, check=False)
        assert done.returncode == 125
        answer = json.loads(done.stdout)
        assert (answer["event"], answer["code"]) == ("error", "EINVAL")
        assert message in answer["message"]
    done = subprocess.run(["gpu-tracker", "agent", f"--pid={os.getpid()}", "--ru=x"], text=True,
                          executable=BINARY, stdout=subprocess.PIPE, check=False)
    assert "is not a valid RAM unit" in json.loads(done.stdout)["message"]


def test_documented_names_are_in_the_documented_modules():
    """Nothing is imported that takes long: names are looked up when they are requested."""
    subprocess.run([sys.executable, "-c", """
import sys
import gpu_tracker, gpu_tracker.sub_tracker, gpu_tracker.tracker
assert not {"pandas", "dataclasses", "sqlite3", "gpu_tracker.usage", "gpu_tracker.analysis"} & set(sys.modules)
from gpu_tracker.tracker import (ComputeTime, CPUUtilization, GPUUtilization, MaxGPURAM, MaxRAM,
                                 ProcessingUnitPercentages, ResourceUsage, RSSValues, Tracker)
from gpu_tracker.sub_tracker import (CodeBlockResults, ComparisonResults, SubTracker, SubTrackingAnalyzer,
                                     SubTrackingResults, TrackingComparison, sub_track)
assert Tracker is gpu_tracker.Tracker and MaxRAM is gpu_tracker.MaxRAM
assert SubTrackingAnalyzer is gpu_tracker.SubTrackingAnalyzer
"""], check=True)
    for module in (gput.tracker, gput.sub_tracker):
        with pytest.raises(AttributeError, match="has no attribute 'missing'"):
            module.missing
