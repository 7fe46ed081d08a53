# SPDX-License-Identifier: Apache-2.0
"""spoor compare and spoor check: compare several runs. tests/unit/test_statistics.c tests the
statistics."""
import copy
import csv
import io
import json
import random

import pytest

from conftest import load

pytestmark = pytest.mark.any_user

MEMORY = "memory.combined.total_rss_bytes"
STARTED = 1.7e9


@pytest.fixture(name="store")
def fixture_store(spoor):
    """Stores reports of made-up runs in one file, in the order of their start times."""
    path = spoor.new_path("original.json")
    spoor("run", "-q", "-o", path, "--", "true")
    original = load(path)
    started = [0]

    def make(seconds, memory, low=None, high=None, **run):
        report = copy.deepcopy(original)
        started[0] += 60
        minute, second = divmod(started[0], 60)
        hour, minute = divmod(minute, 60)
        report["run"].update({"id": f"{random.getrandbits(128):032x}", "elapsed_seconds": seconds, "exit_code": 0,
                              "started_at": f"2026-01-{1 + hour // 24:02}T{hour % 24:02}:{minute:02}:{second:02}.000Z",
                              **run})
        section, key = report["memory"]["combined"], "total_rss_bytes"
        section[key] = {"value": memory, "source": "example", "exact": low is None}
        if low is not None:
            section[key].update(low=low, high=high)
        report["curve"] = None
        return report

    def store(*reports):
        to = spoor.new_path("runs.json")
        to.write_text("\n".join(json.dumps(report) for report in reports))
        return to

    store.make = make
    return store


def compare(spoor, *arguments):
    done = spoor("compare", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def changes(spoor, *arguments):
    """Maps figures to their changes in a comparison."""
    report = json.loads(compare(spoor, "-f", "json", *arguments))
    return {change["figure"]: change for change in report["changes"]}


def normal(spoor_store, seed, count, mean=10.0, memory=100e6, name=None):
    source = random.Random(seed)
    return [spoor_store.make(source.gauss(mean, mean / 50), memory * source.gauss(1, 0.01), name=name)
            for _ in range(count)]


def test_single_runs_differ_only_if_their_bounds_do_not_overlap(spoor, store):
    first = store(store.make(10, 100e6, 95e6, 120e6))
    overlapping = store(store.make(10, 110e6, 105e6, 130e6))
    above = store(store.make(10, 130e6, 121e6, 140e6))
    change = changes(spoor, first, overlapping)["memory"]
    assert (change["verdict"], change["reason"]) == ("same", "the bounds overlap")
    change = changes(spoor, first, above)["memory"]
    assert (change["verdict"], change["reason"]) == ("differs", "the bounds do not overlap")
    assert change["ratio"] == pytest.approx(1.3)
    text = compare(spoor, first, overlapping)
    assert "no difference" in text and "100 MB (95.0 MB to 120 MB)" in text
    assert "a difference may be chance" in text


def test_a_difference_of_microseconds_is_ignored(spoor, store):
    first, second = store(store.make(10, 1e6)), store(store.make(10.00002, 1e6))
    assert changes(spoor, first, second)["time"]["verdict"] == "same"
    assert "0.0 %" in compare(spoor, first, second) and "-0.0" not in compare(spoor, second, first)


def test_many_runs_are_compared_by_rank(spoor, store):
    first, second = store(*normal(store, 1, 12)), store(*normal(store, 2, 12, mean=11))
    change = changes(spoor, first, second)
    assert change["time"]["verdict"] == "differs"
    assert change["time"]["p"] < 0.01
    assert change["time"]["ratio_low"] < 1.1 < change["time"]["ratio_high"]
    assert change["memory"]["verdict"] == "same"


def test_too_few_runs_give_no_verdict(spoor, store):
    first, second = store(*normal(store, 1, 2)), store(*normal(store, 2, 2, mean=50))
    change = changes(spoor, first, second)["time"]
    assert (change["verdict"], change["p"]) == ("unknown", None)
    assert "too few runs" in compare(spoor, first, second)


def test_one_run_is_compared_with_the_range_of_many(spoor, store):
    many = store(*normal(store, 3, 20))
    usual, unusual = store(store.make(10.2, 100e6)), store(store.make(14, 100e6))
    assert changes(spoor, many, usual)["time"]["verdict"] == "same"
    assert changes(spoor, many, unusual)["time"]["verdict"] == "differs"
    assert "outside the usual range" in compare(spoor, many, unusual)


def test_runs_of_one_file_are_grouped_by_a_property(spoor, store):
    runs = [store.make(seconds, 1e6, name=name, tags={"v": tag})
            for name, tag, seconds in (("a", "1", 1), ("b", "1", 2), ("a", "2", 1), ("b", "2", 2))]
    together = store(*runs)
    header, *_ = compare(spoor, "--figures", "time", together).splitlines()
    assert header.split() == ["FIGURE", "a", "b", "CHANGE", "RESULT"]
    rows = list(csv.DictReader(io.StringIO(compare(spoor, "-f", "csv", "--by", "tag.v", together))))
    assert [float(row["percent"]) for row in rows if row["figure"] == "Time"] == [0]
    done = spoor("compare", "--by", "host", together)
    assert done.returncode == 125 and "nothing to compare" in done.stderr
    done = spoor("compare", "--by", "colour", together)
    assert done.returncode == 125 and "unknown property 'colour'" in done.stderr


def test_comparison_of_different_machines_is_pointed_out(spoor, store):
    first, second = store.make(1, 1e6), store.make(1, 1e6)
    second["host"]["cpu_model"] = "Another CPU"
    text = compare(spoor, store(first), store(second))
    assert "different machines" in text and "Another CPU" in " ".join(text.split())  # lines are wrapped
    assert "different machines" not in compare(spoor, store(first), store(first))


def test_all_formats_contain_the_same_figures(spoor, store):
    first, second = store(store.make(10, 100e6, name="a|b")), store(store.make(20, 50e6))
    rows = list(csv.DictReader(io.StringIO(compare(spoor, "-f", "csv", first, second))))
    assert rows[0] == {"figure": "Time", "first": "10", "other": "20", "percent": "100", "result": "differs"}
    markdown = compare(spoor, "-f", "markdown", first, second)
    assert "| Time | 10.0 s | 20.0 s | +100 % | differs |" in markdown
    three = compare(spoor, first, second, first)
    assert three.count("Time") == 2
    page = spoor.new_path("page.html")
    assert compare(spoor, "-o", page, first, second) == ""
    assert page.read_text().count('"elapsed_seconds"') >= 2


def test_hostile_names_are_escaped(spoor, store):
    report = store.make(1, 1e6, name="a\x1b[31m|b")
    report["host"]["cpu_model"] = "CPU\x1b]0;x\x07"
    path = spoor.new_path("evil\x1b[2J|.json")
    path.write_text(json.dumps(report))
    for arguments in ([path, store(store.make(1, 1e6))], ["--by", "name", path, store(store.make(1, 1e6, name="c"))]):
        for form in ("text", "markdown", "csv", "json"):
            assert "\x1b" not in compare(spoor, "-f", form, *arguments)
    assert "\\|.json" in compare(spoor, "-f", "markdown", path, store(store.make(1, 1e6)))
    assert "\x1b" not in check(spoor, "--max", "time=0.5", path)[1]


def test_unknown_figures_are_refused(spoor, store):
    done = spoor("compare", "--figures", "colour", store(store.make(1, 1)), store(store.make(1, 1)))
    assert done.returncode == 125
    assert "unknown figure 'colour': use time, cpu, memory" in done.stderr


# ---- check

def check(spoor, *arguments):
    done = spoor("check", *arguments)
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_values_above_a_limit_fail_the_check(spoor, store):
    run = store(store.make(90, 3 << 30, name="train"))
    assert check(spoor, "--max", "memory=3GiB", "--max", "time=1.5m", run) == (0, "")
    code, text = check(spoor, "--max", "memory=2GiB", "--max", "time=89", "--max", MEMORY + "=4G", run)
    assert (code, text.splitlines()) == (1, ["train: memory: 3.22 GB is more than 2.15 GB",
                                             "train: time: 1 min 30 s is more than 1 min 29 s"])
    code, text = check(spoor, "--max", "memory=2GiB", "-f", "json", run)
    assert code == 1 and [finding["name"] for finding in json.loads(text)] == ["train"]
    assert json.loads(check(spoor, "--max", "memory=4GiB", "-f", "json", run)[1]) == []


def test_limit_on_an_unknown_figure_fails_the_check(spoor, store):
    report = store.make(1, 1)
    report["memory"]["combined"]["total_rss_bytes"] = {"value": None, "reason": "nobody looked"}
    code, text = check(spoor, "--max", "memory=1T", store(report))
    assert code == 1 and "memory is unknown (nobody looked)" in text


@pytest.mark.parametrize("limit", ["memory", "memory=", "=1", "memory=-1", "memory=1X", "time=1GiB", "colour=1",
                                   "memory=1GiBx", "time=abc"])
def test_invalid_limits_are_refused(spoor, store, limit):
    done = spoor("check", "--max", limit, store(store.make(1, 1)))
    assert done.returncode == 125 and "--max" in done.stderr


def test_a_regression_is_found_against_earlier_runs(spoor, store):
    earlier = normal(store, 5, 20)
    baseline = store(*earlier)
    usual = store(store.make(10.1, 100.5e6))
    slow, large = store(store.make(11, 100e6)), store(store.make(10, 110e6))
    assert check(spoor, "--baseline", baseline, "--figures", "time,memory", usual) == (0, "")
    code, text = check(spoor, "--baseline", baseline, "--figures", "time,memory", slow)
    assert code == 1 and "time: 11.0 s is more than" in text and "memory" not in text
    code, text = check(spoor, "--baseline", baseline, "--figures", "time,memory", large)
    assert code == 1 and "memory: 110 MB is more than" in text and "20 runs" in text
    # A decrease is no regression, and a tolerance allows a larger increase.
    assert check(spoor, "--baseline", baseline, "--figures", "time", store(store.make(5, 1e6))) == (0, "")
    assert check(spoor, "--baseline", baseline, "--figures", "memory", "--tolerance", "15", large) == (0, "")


def test_baseline_contains_only_comparable_runs(spoor, store):
    earlier = normal(store, 6, 6)
    failed = [store.make(1000, 1e12, exit_code=1) for _ in range(20)]
    others = [store.make(1000, 1e12) for _ in range(20)]
    for other in others:
        other["host"]["cpu_model"] = "Another CPU"
    run = store.make(20, 100e6)
    later = [store.make(1000, 1e12) for _ in range(20)]
    baseline = store(*earlier, *failed, *others, *later, run)
    code, text = check(spoor, "--baseline", baseline, "--figures", "time", store(run))
    assert code == 1 and "6 runs" in text
    done = spoor("check", "--baseline", store(*earlier[:3]), store(run))
    assert done.returncode == 125 and "3 comparable runs" in done.stderr
    done = spoor("check", "--baseline", store(*failed), store(run))
    assert done.returncode == 125 and "no run to compare with" in done.stderr
    code, _ = check(spoor, "--baseline", store(*earlier[:3]), "--tolerance", "5%", "--figures", "time", store(run))
    assert code == 1


def test_check_needs_something_to_check(spoor, store):
    done = spoor("check", store(store.make(1, 1)))
    assert done.returncode == 125 and "nothing to check" in done.stderr


def test_reports_in_a_directory_are_compared_as_a_set_of_runs(spoor, store):
    folder = spoor.new_path("folder")
    folder.mkdir()
    for index in range(3):
        (folder / f"{index}.json").write_text(json.dumps(store.make(100, 1e6, name=str(index))))
    (folder / "notes.txt").write_text("not a report")
    assert check(spoor, "--max", "time=1", folder)[1].splitlines() == [
        f"{index}: time: 1 min 40 s is more than 1.00 s" for index in range(3)]
    empty = spoor.new_path("empty")
    empty.mkdir()
    done = spoor("check", "--max", "time=1", empty)
    assert done.returncode == 125 and "has no reports" in done.stderr


def test_runs_of_the_history_are_compared_and_checked(spoor):
    history = f"--history={spoor.new_path('history')}/"
    for size in (20, 20, 60):
        spoor("run", "-q", history, "--name", "grow", "--", "sh", "-c", f"head -c {size}000000 /dev/zero | tail -c {size}000000")
    change = changes(spoor, history, "--figures", "memory", "@previous", "@last")["memory"]
    assert change["verdict"] == "differs" and 2 < change["ratio"] < 4
    code, text = check(spoor, history, "--baseline", "@name=grow", "--tolerance", "50", "--figures", "memory", "@last")
    assert code == 1 and "grow: memory: " in text and "the median of 2 runs" in text
