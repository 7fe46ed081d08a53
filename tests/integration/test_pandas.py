# SPDX-License-Identifier: Apache-2.0
"""Tables of gpu_tracker and of spoor in pandas."""
import json
import pickle
import shutil
import subprocess
import sys

import pytest
from conftest import TOP

pd = pytest.importorskip("pandas")

import gpu_tracker  # noqa: E402 - after the skip
import spoor  # noqa: E402

GOLDEN = TOP / "tests/functional/sub_track"


@pytest.fixture(autouse=True)
def in_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("tracking.csv", "phases.csv"):
        shutil.copy(GOLDEN / name, name)


def analyze():
    return gpu_tracker.SubTrackingAnalyzer("tracking.csv", "phases.csv")


def test_results_are_frames_and_series():
    results = analyze().sub_tracking_results()
    assert type(results.overall) is pd.DataFrame and type(results.static_data) is pd.Series
    assert list(results.overall.columns) == ["min", "max", "mean", "std"]
    assert results.overall.iloc[0]["max"] == results.overall.loc["main_ram", "max"] == \
        results.to_json()["overall"]["main_ram"]["max"]
    assert (results.overall["min"] <= results.overall["max"]).all()
    block = results.code_block_results[0]
    assert type(block.resource_usage) is pd.DataFrame
    totals = {each.name: each.compute_time.loc["total"] for each in results.code_block_results}
    assert totals["load"] == pytest.approx(1.45)  # two calls
    both = pd.concat([results.overall, block.resource_usage], keys=["overall", block.name])
    assert both.loc[("overall", "main_ram"), "max"] == results.overall.loc["main_ram", "max"]
    assert "<table" in results.overall._repr_html_()
    empty = next(block for block in results.code_block_results if block.num_timepoints == 0)
    assert empty.resource_usage["max"].isna().all()
    assert analyze().overall_timepoint_results().equals(results.overall)
    assert analyze().read_static_data().equals(results.static_data)


def test_time_points_are_a_data_frame():
    analyzer = analyze()
    points = analyzer.load_timepoints([(0.0, float("inf"))])
    assert type(points) is pd.DataFrame and len(points) > 1 and points.timestamp.is_monotonic_increasing
    assert points.main_ram.max() == analyzer.overall_timepoint_results().loc["main_ram", "max"]
    nothing = analyzer.load_timepoints([])
    assert len(nothing) == 0 and list(nothing.columns) == list(points.columns)


def test_results_equal_json_and_text_of_the_program():
    """The same test without pandas is in tests/python/test_sub_tracker.py."""
    results = analyze().sub_tracking_results()
    done = subprocess.run([sys.executable, "-c", """
import sys
sys.modules["pandas"] = None
import json, gpu_tracker
print(json.dumps(gpu_tracker.SubTrackingAnalyzer("tracking.csv", "phases.csv").sub_tracking_results().to_json()))
"""], check=True, text=True, stdout=subprocess.PIPE)
    assert results.to_json() == json.loads(done.stdout)
    assert json.loads(json.dumps(results.to_json())) == results.to_json()
    assert str(results) == (GOLDEN / "analyze.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickled_results_can_be_compared(protocol, tmp_path):
    results = analyze().sub_tracking_results()
    data = pickle.dumps(results, protocol)
    assert b"pandas" not in data
    assert pickle.loads(data).overall.equals(results.overall) and str(pickle.loads(data)) == str(results)
    (tmp_path / "a.pkl").write_bytes(data)
    (tmp_path / "b.json").write_text(json.dumps(results.to_json()), encoding="utf-8")
    comparison = gpu_tracker.TrackingComparison({"A": "a.pkl", "B": "b.json"})
    assert comparison.results_map["A"].overall.equals(results.overall)
    compared = comparison.compare("max").overall_resource_usage["main_ram"]
    assert type(compared) is pd.Series
    assert compared.to_dict() == dict.fromkeys("AB", results.overall.loc["main_ram", "max"])


def test_import_and_tracking_do_not_import_pandas():
    subprocess.run([sys.executable, "-c", """
import sys, gpu_tracker
with gpu_tracker.Tracker(sleep_time=0.1, disable_logs=True) as tracker:
    pass
str(tracker), tracker.resource_usage, gpu_tracker.SubTrackingAnalyzer
assert "pandas" not in sys.modules and "numpy" not in sys.modules
"""], check=True)


def test_tables_of_spoor_can_be_converted_to_data_frames():
    with spoor.Tracker(interval=0.02, samples="samples.csv") as tracker:
        sum(range(10 ** 6))
    result = tracker.result
    curve = result.curve.to_pandas()
    assert type(curve) is pd.DataFrame and curve["seconds"].is_monotonic_increasing
    assert curve["job_rss_bytes"].max() > 0
    assert len(result.processes.to_pandas()) == 1
    assert len(result.samples.to_pandas()) == len(result.samples)
    other = pd.api.interchange.from_dataframe(result.curve)
    assert other["seconds"].tolist() == curve["seconds"].tolist()
