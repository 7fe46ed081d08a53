# SPDX-License-Identifier: Apache-2.0
"""Sub-tracking: SubTracker, sub_track, SubTrackingAnalyzer, TrackingComparison."""
import csv
import json
import logging
import math
import os
import pickle
import shutil
import sqlite3
import subprocess
import sys
import threading

import pytest

import gpu_tracker as gput
from conftest import TOP

pytestmark = pytest.mark.any_user


@pytest.fixture(autouse=True)
def without_pandas(monkeypatch):
    """Hides pandas; tests/integration/test_pandas.py tests the tables with pandas."""
    monkeypatch.setitem(sys.modules, "pandas", None)


GOLDEN = TOP / "tests/functional/sub_track"
HEADER = "process_id,code_block_name,position,timestamp"
FORMS = pytest.mark.parametrize("form", ["csv", "sqlite"])


def rows(path):
    if path.endswith(".sqlite"):
        connection = sqlite3.connect(path)
        found = connection.execute("SELECT * FROM data").fetchall()
        connection.close()
        return found
    with open(path, encoding="utf-8", newline="") as file:
        header, *found = csv.reader(file)
    assert ",".join(header) == HEADER
    return [(int(pid), name, int(position), float(when)) for pid, name, position, when in found]


def write(path, *events):
    with open(path, "w", encoding="utf-8") as file:
        file.write(HEADER + "\n" + "".join(f"{','.join(map(str, event))}\n" for event in events))


@FORMS
def test_block_records_a_start_and_a_stop(form):
    name = 'my "block", with\nall'
    with gput.SubTracker(name, sub_tracking_file=f"s.{form}") as tracker:
        assert tracker.code_block_name == name and tracker.sub_tracking_file == f"s.{form}"
    start, stop = rows(f"s.{form}")
    assert start[:3] == (os.getpid(), name, 0) and stop[:3] == (os.getpid(), name, 1)
    assert start[3] <= stop[3]
    if form == "csv":
        assert open("s.csv", "rb").read().endswith(b"\r\n")


def test_default_names_contain_the_line_and_the_process():
    with gput.SubTracker() as tracker:
        line = sys._getframe().f_lineno - 1
    path = os.path.relpath(__file__)
    assert tracker.code_block_name == f"{path}:{line}"
    assert tracker.sub_tracking_file == f"{os.getpid()}.csv" and len(rows(f"{os.getpid()}.csv")) == 2
    assert gput.SubTracker(code_block_attribute="part").code_block_name == f"{path}:part"

    @gput.sub_track(sub_tracking_file="d.csv")
    def work(x, *, y=1):
        """Documented."""
        return x + y

    @gput.sub_track(code_block_attribute="other", sub_tracking_file="d.csv")
    def fails():
        raise KeyError

    assert work(1, y=2) == 3 and work.__doc__ == "Documented."
    with pytest.raises(KeyError):
        fails()
    assert [row[1:3] for row in rows("d.csv")] == [
        (f"{os.path.abspath(__file__)}:{name}", position)
        for name in ("work", "other") for position in (0, 1)]
    gput.sub_track("named", sub_tracking_file="d.csv")(lambda: None)()
    assert rows("d.csv")[-1][1] == "named"


@FORMS
def test_existing_file_is_refused(form):
    shutil.copy(GOLDEN / "tracking.csv", f"old.{form}")
    with pytest.raises(FileExistsError) as error:
        gput.SubTracker("b", sub_tracking_file=f"old.{form}").__enter__()
    assert str(error.value) == (f"File old.{form} already exists. Set overwrite to True to "
                                "overwrite the existing file.")
    with gput.SubTracker("b", sub_tracking_file=f"old.{form}", overwrite=True):
        pass
    with gput.SubTracker("b", sub_tracking_file=f"old.{form}", overwrite=True):
        pass
    assert len(rows(f"old.{form}")) == 4  # the second session is appended to the first


@FORMS
def test_removal_of_the_file_during_a_block_is_an_error(form):
    with pytest.raises(FileNotFoundError) as error:
        with gput.SubTracker("b", sub_tracking_file=f"gone.{form}"):
            os.remove(f"gone.{form}")
    assert str(error.value) == \
        f"The file gone.{form} was removed in the middle of writing data to it."


def test_file_with_an_unsupported_suffix_is_refused():
    for make in (lambda: gput.SubTracker("b", sub_tracking_file="x.txt"),
                 lambda: gput.SubTrackingAnalyzer(None, "x.txt"),
                 lambda: gput.SubTrackingAnalyzer("x.txt", "x.csv")):
        with pytest.raises(ValueError) as error:
            make()
        assert str(error.value) == \
            'Invalid file name: "x.txt". Valid file extensions are ".csv" and ".sqlite".'


@FORMS
def test_no_other_files_are_left_in_the_folder(form):
    os.mkdir("parts")
    for number in range(2):
        with gput.SubTracker("b", sub_tracking_file=f"parts/{number}.{form}"):
            pass
    assert sorted(os.listdir("parts")) == [f"0.{form}", f"1.{form}"]
    subprocess.run([sys.executable, "-m", "gpu_tracker", "sub-track", "combine", "-pparts",
                    f"--stf=all.{form}"], check=True)
    assert len(rows(f"all.{form}")) == 4


@FORMS
def test_ten_thousand_events_are_recorded(form):
    def work(number):
        for _ in range(1250):
            with gput.SubTracker(f"block {number}", sub_tracking_file=f"many.{form}"):
                pass

    gput.SubTracker("first", sub_tracking_file=f"many.{form}").__enter__()
    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(rows(f"many.{form}")) == 10001
    shutil.copy(GOLDEN / "tracking.csv", "tracking.csv")
    results = gput.SubTrackingAnalyzer("tracking.csv", f"many.{form}").sub_tracking_results()
    assert [block.num_calls for block in results.code_block_results] == [1250] * 4 + [0]


def test_starts_and_stops_are_paired():
    write("p.csv", (7, "a", 0, 1.0), (7, "a", 0, 2.0), (7, "a", 1, 3.0), (7, "a", 1, 4.5),
          (8, "a", 0, 1.5), (8, "a", 1, 2.5), (8, "a", 0, 9.0), (7, "b", 0, 0.5))
    analyzer = gput.SubTrackingAnalyzer(None, "p.csv")
    assert analyzer.load_code_block_names() == ["a", "b"]
    assert analyzer.load_timestamp_pairs("a") == [(1.0, 4.5), (2.0, 3.0), (1.5, 2.5)]
    assert analyzer.load_timestamp_pairs("b") == []
    for call in (analyzer.read_static_data, analyzer.overall_timepoint_results,
                 analyzer.sub_tracking_results):
        with pytest.raises(ValueError, match="made without a tracking file"):
            call()


@pytest.mark.parametrize("events, message", [
    (((7, "a", 1, 1.0), (7, "a", 0, 2.0)), "Sub-tracking file is invalid. Detected timestamp pair "
     "(1.0, 2.0) of process ID 7 with a start time greater than the stop time."),
    (((7, "a", 1, 1.0), (8, "a", 0, 2.0)), "Sub-tracking file is invalid. Detected timestamp pair "
     "(1.0, 2.0) with differing process IDs: 7 and 8."),
    (((7, "a", 1, 1.0),), "Sub-tracking file is invalid. Detected a stop (1.0) of process ID 7 "
     "without a start."),
])
def test_stop_without_a_start_is_an_error(events, message):
    write("p.csv", *events)
    shutil.copy(GOLDEN / "tracking.csv", "tracking.csv")
    analyzer = gput.SubTrackingAnalyzer("tracking.csv", "p.csv")
    for call in (lambda: analyzer.load_timestamp_pairs("a"), analyzer.sub_tracking_results):
        with pytest.raises(ValueError) as error:
            call()
        assert str(error.value).endswith(message)


def test_analysis_equals_the_output_of_the_program():
    with gput.Tracker(sleep_time=0.1, tracking_file="t.csv", disable_logs=True):
        with gput.SubTracker("outer", sub_tracking_file="s.csv"):
            for _ in range(3):
                with gput.SubTracker("inner", sub_tracking_file="s.csv"):
                    sum(range(10 ** 6))
    analyzer = gput.SubTrackingAnalyzer("t.csv", "s.csv")
    results = analyzer.sub_tracking_results()
    inner, outer = results.code_block_results
    assert (inner.name, inner.num_calls, outer.num_calls) == ("inner", 3, 1)
    assert inner.compute_time["total"] <= outer.compute_time["total"]
    assert list(results.static_data.items()) == list(analyzer.read_static_data().items())
    assert results.to_json()["code_block_results"][0]["name"] == "inner"
    assert str(results).startswith("Overall:\n") and "Code Block Results:" in str(results)
    overall = analyzer.overall_timepoint_results()
    assert list(overall) == list(results.overall)
    for name, values in overall.items():
        assert values == pytest.approx(results.overall[name])
    pairs = analyzer.load_timestamp_pairs("outer")
    assert len(analyzer.load_timepoints(pairs)) == outer.num_timepoints
    assert analyzer.load_timepoints([]) == []


@FORMS
def test_files_are_combined(form):
    for number in (1, 2):
        with gput.SubTracker("b", sub_tracking_file=f"part{number}.{form}"):
            pass
    parts = [f"part1.{form}", f"part2.{form}"]
    wrong = "csv" if form == "sqlite" else "sqlite"
    with pytest.raises(ValueError) as error:
        gput.SubTrackingAnalyzer(None, f"x.{wrong}").combine_sub_tracking_files(parts)
    assert str(error.value) == (f"File {parts[0]} does not end with the same extension as "
                                f'x.{wrong}. Must end in ".{wrong}".')
    gput.SubTrackingAnalyzer(None, f"one.{form}").combine_sub_tracking_files(parts[:1])
    assert rows(f"one.{form}") == rows(parts[0])
    analyzer = gput.SubTrackingAnalyzer(None, f"all.{form}")
    analyzer.combine_sub_tracking_files(parts)
    assert rows(f"all.{form}") == rows(parts[0]) + rows(parts[1])
    with pytest.raises(ValueError) as error:
        analyzer.combine_sub_tracking_files(parts)
    assert str(error.value) == f"Cannot create sub-tracking file all.{form}. File already exists."


def golden_results():
    shutil.copy(GOLDEN / "tracking.csv", "tracking.csv")
    shutil.copy(GOLDEN / "phases.csv", "phases.csv")
    return gput.SubTrackingAnalyzer("tracking.csv", "phases.csv").sub_tracking_results()


def test_tables_have_the_same_axes_as_in_the_predecessor():
    results = golden_results()
    done = subprocess.run([sys.executable, "-m", "gpu_tracker", "sub-track", "analyze", "-fjson",
                           "--tf=tracking.csv", "--stf=phases.csv"], check=True, text=True,
                          stdout=subprocess.PIPE)
    golden = json.loads(done.stdout)
    assert results.to_json() == golden
    table = results.overall
    assert table.columns == ["min", "max", "mean", "std"] == list(table)
    assert table.index == list(golden["overall"]) and len(table) == len(table.index)
    value = golden["overall"]["main_ram"]["max"]
    assert table["max"]["main_ram"] == table.loc["main_ram", "max"] == value
    assert table.loc["main_ram"]["max"] == table.loc["main_ram"].loc["max"] == value
    assert table.loc[:, "max"]["main_ram"] == table.loc["main_ram", :]["max"] == value
    assert table.at["main_ram", "max"] == table.T["main_ram"]["max"] == value
    with pytest.raises(KeyError):
        table["main_ram"]
    with pytest.raises(KeyError):
        table.loc["max"]
    lines = table.to_csv().splitlines()
    assert lines[0] == ",min,max,mean,std" and len(lines) == len(table) + 1
    assert lines[1] == ",".join(["main_ram", *map(str, table.loc["main_ram"].values())])
    table.to_csv("table.csv")
    with open("table.csv", encoding="utf-8") as file:
        assert file.read() == table.to_csv()
    block = results.code_block_results[-1]
    assert block.resource_usage["mean"]["main_ram"] == \
        golden["code_block_results"][-1]["resource_usage"]["main_ram"]["mean"]
    assert block.compute_time["total"] == block.compute_time.loc["total"]
    assert results.static_data["ram_unit"] == results.static_data.loc["ram_unit"] == "gigabytes"
    assert results.static_data.index[0] == "ram_unit"
    assert results.static_data.to_csv().startswith(",0\nram_unit,gigabytes\n")
    empty = next(block for block in results.code_block_results if block.num_timepoints == 0)
    assert math.isnan(empty.resource_usage["max"]["main_ram"])
    assert empty.resource_usage.to_csv().splitlines()[1] == "main_ram,,,,"


def test_text_equals_the_output_of_the_program():
    results = golden_results()
    with open(GOLDEN / "analyze.txt", encoding="utf-8") as file:
        assert str(results) == file.read()
    done = subprocess.run([sys.executable, "-m", "gpu_tracker", "sub-track", "analyze",
                           "--tf=tracking.csv", "--stf=phases.csv"], check=True, text=True,
                          stdout=subprocess.PIPE)
    assert str(results) + "\n" == done.stdout and str(results).endswith("\n")


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickled_results_can_be_compared(protocol):
    results = golden_results()
    data = pickle.dumps(results, protocol)
    again = pickle.loads(data)
    assert again.to_json() == results.to_json() and str(again) == str(results)
    assert again.overall["max"] == results.overall["max"]
    with open("a.pkl", "wb") as file:
        file.write(data)
    with open("b.json", "w", encoding="utf-8") as file:
        json.dump(results.to_json(), file)
    comparison = gput.TrackingComparison({"A": "a.pkl", "B": "b.json"})
    assert comparison.results_map["A"].to_json() == results.to_json()
    assert comparison.results_map["B"].overall["max"] == pytest.approx(results.overall["max"])
    compared = comparison.compare("max")
    value = results.overall["max"]["main_ram"]
    assert compared.overall_resource_usage["main_ram"] == {"A": value, "B": value}
    assert compared.overall_resource_usage["main_ram"].loc["A"] == value
    assert str(pickle.loads(pickle.dumps(compared, protocol))) == str(compared)


def test_foreign_pickle_is_not_loaded():
    for data in (pickle.dumps([1]), pickle.dumps({"overall": 1}), b"\x80\x04", b"\x80\x04.",
                 pickle.dumps(os.getcwd), b"\x80\x04\x8c\x02os\x8c\x05mkdir\x93\x8c\x04made\x85R."):
        with open("x.pkl", "wb") as file:
            file.write(data)
        with pytest.raises(ValueError, match="File x.pkl is not a result of"):
            gput.TrackingComparison({"A": "x.pkl"})
    assert not os.path.exists("made")


def results_file(path, name):
    write("c.csv", (7, name, 0, 1.0), (7, name, 1, 2.0))
    shutil.copy(GOLDEN / "tracking.csv", "tracking.csv")
    results = gput.SubTrackingAnalyzer("tracking.csv", "c.csv").sub_tracking_results()
    with open(path, "w", encoding="utf-8") as file:
        json.dump(results.to_json(), file)


def test_sessions_are_compared(caplog):
    results_file("a.json", "f.py:12")
    results_file("b.json", "f.py:14")
    with caplog.at_level(logging.WARNING):
        comparison = gput.TrackingComparison({"A": "a.json", "B": "b.json"})
    assert ('Code block name "f.py:12" of tracking session "A" matched with code block name '
            '"f.py:14" of tracking session "B" but they differ by line number.') in caplog.text
    assert sorted(comparison.results_map) == ["A", "B"]
    results = comparison.compare("max")
    assert list(results.code_block_compute_time) == ["f.py:12 -> f.py:14"]
    assert sorted(results.overall_resource_usage["main_ram"]) == ["A", "B"]
    assert sorted(results.to_json()) == ["code_block_compute_time", "code_block_resource_usage",
                                         "overall_resource_usage"]
    assert "Overall Resource Usage:" in str(results) and comparison.compare().to_json()
    with pytest.raises(ValueError) as error:
        comparison.compare("median")
    assert str(error.value) == \
        "Invalid summary statistic 'median'. Valid values are min max mean std."


def test_sessions_with_different_blocks_are_refused():
    results_file("a.json", "one")
    results_file("b.json", "two")
    with pytest.raises(ValueError) as error:
        gput.TrackingComparison({"A": "a.json", "B": "b.json"})
    assert str(error.value) == ('Code block name "one" of tracking session "A" does not match code '
                                'block name "two" of tracking session "B"')
    with open("x.pkl", "wb") as file:
        file.write(b"\x80\x04")
    with pytest.raises(ValueError, match="File x.pkl is not a result of"):
        gput.TrackingComparison({"A": "a.json", "B": "x.pkl"})
    with pytest.raises(FileNotFoundError):
        gput.TrackingComparison({"A": "none.json"})


def test_analysis_starts_the_program_only_once(monkeypatch):
    from gpu_tracker import analysis

    runs = []
    start = analysis.Agent
    monkeypatch.setattr(analysis, "Agent", lambda *a, **k: runs.append(1) or start(*a, **k))
    results_file("a.json", "one")
    assert len(runs) == 1
    comparison = gput.TrackingComparison({"A": "a.json"})
    for statistic in ("min", "max", "mean", "std"):
        assert str(comparison.compare(statistic))
    assert len(runs) == 2


def test_missing_or_damaged_files_are_errors():
    shutil.copy(GOLDEN / "tracking.csv", "tracking.csv")
    analyzer = gput.SubTrackingAnalyzer("tracking.csv", "none.csv")
    assert "main_ram" in analyzer.overall_timepoint_results().index
    assert "ram_unit" in analyzer.read_static_data()
    for call in (analyzer.sub_tracking_results, analyzer.load_code_block_names,
                 lambda: analyzer.load_timestamp_pairs("b"),
                 lambda: gput.SubTrackingAnalyzer("none.csv", "x.csv"),
                 lambda: gput.SubTrackingAnalyzer("none.sqlite", "x.csv"),
                 lambda: gput.SubTrackingAnalyzer(None, "x.csv").combine_sub_tracking_files(
                     ["none.csv"])):
        with pytest.raises(FileNotFoundError):
            call()
    with open("text.csv", "w", encoding="utf-8") as file:
        file.write("no table\n")
    with pytest.raises(ValueError):
        gput.SubTrackingAnalyzer("tracking.csv", "text.csv").sub_tracking_results()
