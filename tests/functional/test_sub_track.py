# SPDX-License-Identifier: Apache-2.0
"""gpu-tracker sub-track: files of code blocks combined, analysed and compared."""
import json
import sqlite3
import statistics

import pytest

from sub_tracking import (GOLDEN, STATISTICS, close_to, golden, read_events, refused, succeeded,
                          tracking_tables, write_events, write_tracking_sqlite)

pytestmark = pytest.mark.any_user


def analyze(sub_track, events, *options, tracking=GOLDEN / "tracking.csv"):
    return json.loads(succeeded(sub_track("analyze", "--tf", tracking, "--stf", events, "-f",
                                          "json", *options)))


# analyze

@pytest.mark.parametrize("kind", ["csv", "sqlite"])
def test_analysis_is_written_as_text_and_json(sub_track, tmp_path, kind):
    tracking, events = GOLDEN / "tracking.csv", GOLDEN / "phases.csv"
    if kind == "sqlite":
        events = write_events(tmp_path / "phases.sqlite", read_events(events))
        tracking = write_tracking_sqlite(tmp_path / "tracking.sqlite")
    files = (f"--tf={tracking}", f"--stf={events}")
    assert succeeded(sub_track("analyze", *files)) == golden("analyze.txt") + "\n"
    # docopt accepts options before the command, abbreviated, and separated from their values by a
    # space.
    assert succeeded(sub_track(*files, "analyze", "--form", "text")) == golden("analyze.txt") + "\n"
    assert succeeded(sub_track("analyze", *files, "--output=r.txt")) == ""
    assert (tmp_path / "r.txt").read_text() == golden("analyze.txt")
    text = succeeded(sub_track("analyze", *files, "-fjson"))
    assert text == json.dumps(json.loads(text), indent=1) + "\n"
    close_to(json.loads(text), json.loads(golden("analyze.json")))
    assert succeeded(sub_track("analyze", *files, "-f", "json", "-o", "r.json")) == ""
    assert (tmp_path / "r.json").read_text() == text.removesuffix("\n")


def test_statistics_equal_the_results_of_python(sub_track):
    result = analyze(sub_track, GOLDEN / "phases.csv")
    _, (header, *rows) = tracking_tables()
    for i, name in enumerate(header[:-1]):
        values = [float(row[i]) for row in rows]
        assert [result["overall"][name][key] for key in STATISTICS] == pytest.approx(
            [min(values), max(values), statistics.fmean(values), statistics.pstdev(values)])
    blocks = {block["name"]: block for block in result["code_block_results"]}
    assert list(blocks) == sorted(blocks)
    assert blocks["load"]["num_timepoints"] == 2 and blocks["load"]["num_calls"] == 2
    assert blocks["load"]["num_non_empty_calls"] == 1
    assert blocks["load"]["compute_time"]["total"] == pytest.approx(1.45)


@pytest.mark.parametrize("count", ["1e300", "-3", "2.5", "18446744073709551615"])
def test_an_impossible_count_is_shown_unchanged(sub_track, tmp_path, count):
    tracking = tmp_path / "tracking.csv"
    lines = (GOLDEN / "tracking.csv").read_text().split("\n")
    lines[1] = ",".join([*lines[1].split(",")[:5], count, *lines[1].split(",")[6:]])
    tracking.write_text("\n".join(lines))
    result = analyze(sub_track, GOLDEN / "phases.csv", tracking=tracking)
    assert result["static_data"]["system_core_count"] == float(count)


def test_statistics_of_a_block_without_samples_are_null(sub_track):
    result = analyze(sub_track, GOLDEN / "phases.csv")
    block = next(b for b in result["code_block_results"] if b["name"] == "never sampled")
    assert (block["num_timepoints"], block["num_calls"], block["num_non_empty_calls"]) == (0, 1, 0)
    assert block["compute_time"]["total"] == 0.5
    assert block["resource_usage"]["main_ram"] == dict.fromkeys(STATISTICS)


def test_analysis_without_code_blocks_is_empty(sub_track, tmp_path):
    for name in ("empty.csv", "empty.sqlite"):
        events = write_events(tmp_path / name, [])
        assert analyze(sub_track, events)["code_block_results"] == []
        text = succeeded(sub_track("analyze", "--tf", GOLDEN / "tracking.csv", "--stf", events))
        assert text.endswith("Code Block Results:\n\n")


@pytest.mark.parametrize("kind", ["csv", "sqlite"])
def test_recursive_blocks_and_lost_stops_are_counted(sub_track, tmp_path, kind):
    events = write_events(tmp_path / f"e.{kind}", [
        (7, "nested", 0, 0.0), (7, "nested", 0, 1.0), (7, "nested", 1, 3.0), (7, "nested", 1, 4.0),
        (7, "lost", 0, 0.0), (7, "lost", 0, 1.0), (7, "lost", 1, 3.0), (7, "open", 0, 5.0)])
    blocks = {block["name"]: block for block in analyze(sub_track, events)["code_block_results"]}
    assert blocks["nested"]["num_calls"] == 2 and blocks["nested"]["compute_time"]["total"] == 6
    assert blocks["lost"]["num_calls"] == 1 and blocks["lost"]["compute_time"]["total"] == 2
    assert blocks["open"]["num_calls"] == 0
    assert blocks["open"]["compute_time"] == {**dict.fromkeys(STATISTICS), "total": 0.0}


@pytest.mark.parametrize("kind", ["csv", "sqlite"])
def test_ten_thousand_events_are_counted(sub_track, tmp_path, kind):
    names = ["plain", "it's", 'say "x"', "a,b", "é"]
    events = [(7, names[i // 2 % 5], i % 2, 1746129779.0 + i / 4096) for i in range(10_000)]
    result = analyze(sub_track, write_events(tmp_path / f"e.{kind}", events))
    assert {block["name"]: block["num_calls"] for block in result["code_block_results"]} == \
        dict.fromkeys(sorted(names), 1000)
    for block in result["code_block_results"]:
        assert block["compute_time"]["total"] == pytest.approx(1000 / 4096)


def test_contradictory_rows_are_refused(sub_track, tmp_path):
    def check(events, message):
        (tmp_path / "bad.csv").unlink(missing_ok=True)
        write_events(tmp_path / "bad.csv", events)
        refused(sub_track("analyze", "--tf", GOLDEN / "tracking.csv", "--stf", "bad.csv"),
                "Sub-tracking file is invalid. Detected " + message)
    check([(7, "b", 1, 1.5), (7, "b", 0, 2.0)],
          "timestamp pair (1.5, 2.0) of process ID 7 with a start time greater than the stop time.")
    check([(7, "b", 0, 1.0), (7, "b", 1, 2.0), (7, "b", 1, 3.0), (8, "b", 0, 1.25)],
          "timestamp pair (3.0, 1.25) with differing process IDs: 7 and 8.")


# combine

EVENTS = [[(7, "a", 0, 1745449609.7528222), (7, "a", 1, 1745449613.5325918)],
          [(8, 'q"u,o', 0, 1745449624.6481984), (8, 'q"u,o', 1, 1745449624.4954815)],
          [(9, "é", 0, 0.1), (9, "é", 1, 1e-05)]]


@pytest.mark.parametrize("kind", ["csv", "sqlite"])
def test_combined_files_keep_every_digit(sub_track, tmp_path, kind):
    (tmp_path / "parts").mkdir()
    for i, events in enumerate(EVENTS):
        write_events(tmp_path / f"parts/{i}'s.{kind}", events)
    parts = [word for i in (0, 2, 1) for word in ("-p", f"parts/{i}'s.{kind}")]
    assert succeeded(sub_track("combine", f"--stf=some.{kind}", *parts)) == ""
    assert read_events(tmp_path / f"some.{kind}") == EVENTS[0] + EVENTS[2] + EVENTS[1]
    # A single path is a folder: all its files are combined in sorted order, except the files that
    # SQLite creates next to them.
    if kind == "sqlite":
        for suffix in ("journal", "wal", "shm"):
            (tmp_path / f"parts/0's.sqlite-{suffix}").write_bytes(b"")
    assert succeeded(sub_track("combine", "-pparts", "--stf", f"all.{kind}")) == ""
    assert read_events(tmp_path / f"all.{kind}") == sum(EVENTS, [])
    if kind == "csv":
        assert (tmp_path / "all.csv").read_bytes().startswith(
            b"process_id,code_block_name,position,timestamp\n7,a,0,1745449609.7528222\n")
    else:
        database = sqlite3.connect(tmp_path / "all.sqlite")
        assert database.execute("SELECT typeof(process_id), typeof(code_block_name), "
                                "typeof(position), typeof(timestamp) FROM data").fetchone() == \
            ("integer", "text", "integer", "real")
        database.close()


def test_combine_refuses_invalid_use(sub_track, tmp_path):
    write_events(tmp_path / "a.csv", EVENTS[0])
    write_events(tmp_path / "b.sqlite", EVENTS[1])
    (tmp_path / "bad.csv").write_text("process_id,position\n1,2\n")
    (tmp_path / "empty").mkdir()
    refused(sub_track("combine", "--stf=a.csv", "-p", "a.csv", "-p", "a.csv"),
            "Cannot create sub-tracking file a.csv. File already exists.")
    refused(sub_track("combine", "--stf=new.csv", "-p", "a.csv", "-p", "b.sqlite"),
            "File b.sqlite does not end with the same extension as new.csv. Must end in \".csv\".")
    refused(sub_track("combine", "--stf=new.sqlite", "-p", "b.sqlite", "-p", "a.csv"),
            "File a.csv does not end with the same extension as new.sqlite. Must end in "
            "\".sqlite\".")
    refused(sub_track("combine", "--stf=new.txt", "-p", "a.csv", "-p", "a.csv"),
            "Invalid file name: \"new.txt\". Valid file extensions are \".csv\" and \".sqlite\".")
    refused(sub_track("combine", "--stf=new.csv", "-p", "a.csv", "-p", "none.csv"),
            "File none.csv: No such file or directory")
    refused(sub_track("combine", "--stf=new.csv", "-p", "a.csv", "-p", "bad.csv"),
            "File bad.csv, line 1: missing column \"code_block_name\"")
    refused(sub_track("combine", "--stf=new.csv", "-p", "a.csv"),
            "a single -p must name a directory of files to combine: a.csv: Not a directory")
    refused(sub_track("combine", "--stf=new.csv", "-p", "empty"),
            "the directory empty has no files to combine")
    refused(sub_track("combine", "--stf=no/new.csv", "-p", "a.csv", "-p", "a.csv"),
            "File no/new.csv: No such file or directory")
    assert not list(tmp_path.glob("new*"))


# compare

@pytest.fixture
def sessions(tmp_path):
    """Returns the golden analysis as A; and as B with figures half as large and one block on
    another line."""
    result = json.loads(golden("analyze.json"))

    def halve(value):
        if isinstance(value, dict):
            return {key: halve(inner) for key, inner in value.items()}
        return value / 2 if isinstance(value, float) else value
    other = {"overall": halve(result["overall"]), "static_data": result["static_data"],
             "code_block_results": [halve(block) for block in result["code_block_results"]]}
    other["code_block_results"][-1]["name"] = "train.py:12"
    (tmp_path / "A.json").write_text(json.dumps(result))
    (tmp_path / "B.json").write_text(json.dumps(other))
    return result, other


LINES_DIFFER = (
    'WARNING:root:Code block name "train.py:9" of tracking session "A" matched with code block '
    'name "train.py:12" of tracking session "B" but they differ by line number. If these code '
    "blocks were not meant to match, their comparison will not be valid and their names must be "
    "disambiguated.\n")


def test_comparison_is_written_as_text_and_json(sub_track, tmp_path, sessions):
    maps = ("-m", "A=A.json", "-mB=B.json")
    assert succeeded(sub_track("compare", *maps), LINES_DIFFER) == golden("compare.txt") + "\n"
    assert succeeded(sub_track("compare", *maps, "-oc.txt"), LINES_DIFFER) == ""
    assert (tmp_path / "c.txt").read_text() == golden("compare.txt")
    for statistic in STATISTICS:
        text = succeeded(sub_track("compare", *maps, "-f", "json", f"--stat={statistic}"),
                         LINES_DIFFER)
        assert text == json.dumps(json.loads(text), indent=1) + "\n"
        check_comparison(json.loads(text), dict(zip("AB", sessions)), statistic)


def check_comparison(found, sessions, statistic):
    """Compares the output with the results themselves; smaller figures come first, unknown ones
    last."""
    def lined_up(get):
        values = {name: get(result) for name, result in sessions.items()}
        return dict(sorted(values.items(),
                           key=lambda item: (item[1] is None, item[1] or 0)))
    labels = ["cut short", "load", "never sampled", 'say "x", twice',
              "train.py:12 -> train.py:9"]
    measurements = list(sessions["A"]["overall"])
    expected = {
        "overall_resource_usage": {
            name: lined_up(lambda r, name=name: r["overall"][name][statistic])
            for name in measurements},
        "code_block_resource_usage": {
            name: {label: lined_up(lambda r, i=i, name=name:
                                   r["code_block_results"][i]["resource_usage"][name][statistic])
                   for i, label in enumerate(labels)} for name in measurements},
        "code_block_compute_time": {
            label: lined_up(lambda r, i=i: r["code_block_results"][i]["compute_time"][statistic])
            for i, label in enumerate(labels)}}
    assert json.dumps(found) == json.dumps(expected)


def test_a_config_names_the_sessions_and_options_override_it(sub_track, tmp_path, sessions):
    (tmp_path / "c.json").write_text(json.dumps(
        {"file_path_map": {"A": "A.json", "B": "none.json"}, "statistic": "max"}))
    done = sub_track("compare", "--cconfig=c.json", "-m", "B=B.json", "-f", "json")
    check_comparison(json.loads(succeeded(done, LINES_DIFFER)), dict(zip("AB", sessions)), "max")
    done = sub_track("compare", "--cc", "c.json", "-mB=B.json", "--stat", "min", "-fjson")
    check_comparison(json.loads(succeeded(done, LINES_DIFFER)), dict(zip("AB", sessions)), "min")


def test_sessions_without_code_blocks_can_be_compared(sub_track, tmp_path, sessions):
    for name, result in zip("AB", sessions):
        result["code_block_results"] = []
        (tmp_path / f"{name}.json").write_text(json.dumps(result))
    maps = ("-m", "A=A.json", "-m", "B=B.json")
    assert succeeded(sub_track("compare", *maps)).endswith(
        "Code Block Resource Usage:\nCode Block Compute Time:\n\n")
    found = json.loads(succeeded(sub_track("compare", *maps, "-fjson")))
    assert found["code_block_resource_usage"] == found["code_block_compute_time"] == {}
    assert list(found["overall_resource_usage"]["main_ram"]) == ["B", "A"]


def test_line_numbers_are_ordered_as_numbers(sub_track, tmp_path, sessions):
    block = sessions[0]["code_block_results"][1]
    for name, lines in (("A", ("100", "9", "x")), ("B", ("9", "x", "100"))):
        sessions[0]["code_block_results"] = [{**block, "name": f"t.py:{line}"} for line in lines]
        (tmp_path / f"{name}.json").write_text(json.dumps(sessions[0]))
    done = sub_track("compare", "-m", "A=A.json", "-m", "B=B.json", "-fjson")
    assert list(json.loads(succeeded(done))["code_block_compute_time"]) == \
        ["t.py:9", "t.py:100", "t.py:x"]


def test_compare_refuses_invalid_use(sub_track, tmp_path, sessions):
    def rewrite(change):
        result = json.loads(json.dumps(sessions[1]))
        change(result["code_block_results"])
        (tmp_path / "C.json").write_text(json.dumps(result))
    both = ("-m", "A=A.json", "-m", "C=C.json")
    refused(sub_track("compare"),
            "A mapping of tracking session name to file path must be provided either through the "
            "-m option or a config file.")
    refused(sub_track("compare", "-m", "A=A.json", "--stat=median"),
            "Invalid summary statistic 'median'. Valid values are min max mean std.")
    rewrite(lambda blocks: blocks.pop())
    refused(sub_track("compare", *both),
            "All sub-tracking results must have the same number of code blocks. The first has 5 "
            'code blocks but tracking session "C" has 4 code blocks.')
    rewrite(lambda blocks: blocks[-1].update(name="trainer.py:9"))
    refused(sub_track("compare", *both),
            'Code block name "train.py:9" of tracking session "A" does not match code block name '
            '"trainer.py:9" of tracking session "C"')
    rewrite(lambda blocks: blocks[-1].update(name="train.py:abc"))
    refused(sub_track("compare", *both),
            'Code block name "train.py:9" of tracking session "A" does not match code block name '
            '"train.py:abc" of tracking session "C"')
    refused(sub_track("compare", "-m", "A=none.json"), "File none.json: No such file or directory")
    for text in ("", "{", "[]", "{}", "\x80\x04pickle", json.dumps({"overall": {}}),
                 json.dumps({**sessions[0], "code_block_results": [{"name": "b"}]})):
        (tmp_path / "bad.pkl").write_text(text, encoding="latin-1")
        done = sub_track("compare", "-m", "A=bad.pkl")
        assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
        assert "bad.pkl is not a result of 'gpu-tracker sub-track analyze" in done.stderr
    for text in ("{", "[]", '{"file_path_map": 1}', '{"file_path_map": {"A": 1}}',
                 '{"file_path_map": {"A=B": "A.json"}}', '{"statistic": 1}', '{"other": 1}'):
        (tmp_path / "c.json").write_text(text)
        done = sub_track("compare", "--cconfig=c.json")
        assert done.returncode == 1 and done.stderr.startswith("ERROR:root:c.json:")
    refused(sub_track("compare", "--cconfig=none.json", "-m", "A=A.json"),
            "config file 'none.json': No such file or directory")
