# SPDX-License-Identifier: Apache-2.0
"""resource_tracker.tiny_data_frame: TinyDataFrame and StatSpec."""
import http.server
import logging
import pickle
import threading

import pytest

from resource_tracker.tiny_data_frame import StatSpec, TinyDataFrame

pytestmark = pytest.mark.any_user

TABLE = {"name": ["a", "b", "c"], "n": [1, 2, 3], "x": [0.5, None, 2.5]}


@pytest.fixture
def frame():
    return TinyDataFrame(TABLE)


def test_frame_can_be_created_from_a_dict_of_lists(frame):
    assert frame.columns == ["name", "n", "x"] and len(frame) == 3
    assert frame[0] == {"name": "a", "n": 1, "x": 0.5} and frame[-1]["n"] == 3
    assert list(frame) == frame.to_dict() == [frame[0], frame[1], frame[2]]
    assert frame._data == list(TABLE.values())


def test_frame_can_be_created_from_a_list_of_dicts():
    frame = TinyDataFrame([{"b": 1}, {"a": 2, "b": 3}])
    assert frame.columns == ["b", "a"] and frame["b"] == [1, 3] and frame["a"] == [None, 2]


@pytest.mark.parametrize("arguments", [
    {}, {"data": {}, "csv_file_path": "x"}, {"data": "text"}, {"data": {"a": 1}}, {"data": [1]},
    {"csv_file_path": 5}])
def test_wrong_arguments_are_refused(arguments):
    with pytest.raises(AssertionError):
        TinyDataFrame(**arguments)


def test_columns_are_not_copied_on_access(frame):
    frame["n"][0] = 10
    assert frame["n"] == [10, 2, 3] and frame[["n"]]["n"] is frame["n"]
    assert frame[["x", "n"]].columns == ["x", "n"] and len(frame[["x"]]) == 3
    assert TABLE["n"] == [1, 2, 3]


def test_rows_can_be_sliced(frame):
    assert frame[1:]["n"] == [2, 3] and frame[:-1]["name"] == ["a", "b"] and len(frame[5:]) == 0
    assert frame.head(2)["n"] == [1, 2] and frame.tail(2)["n"] == [2, 3]
    assert len(frame.head()) == len(frame.tail()) == 3 and len(frame.tail(0)) == 0
    with pytest.raises(IndexError):
        frame[3]


def test_invalid_keys_are_refused(frame):
    with pytest.raises(KeyError, match="Column 'z' not found"):
        frame["z"]
    for key in (1.5, None, ["n", 1]):
        with pytest.raises(TypeError, match="Invalid key type"):
            frame[key]
    with pytest.raises(TypeError):
        frame[1] = [1, 2, 3]
    with pytest.raises(ValueError):
        frame["m"] = [1, 2]
    with pytest.raises(KeyError, match="Column 'z' not found"):
        frame.rename({"n": "m", "z": "y"})
    assert frame.columns == ["name", "n", "x"]


def test_columns_can_be_set_and_renamed(frame):
    frame["m"] = [7, 8, 9]
    assert frame[2] == {"name": "c", "n": 3, "x": 2.5, "m": 9}
    assert frame.rename({"n": "number"}) is frame
    assert frame.columns == ["name", "number", "x", "m"] and frame["number"] == [1, 2, 3]


def test_empty_frames_are_independent():
    """Bug W18 of the predecessor: data written to one empty frame appeared in all later ones."""
    first = TinyDataFrame({})
    first["a"] = [1, 2]
    assert len(first) == 2 and first[1] == {"a": 2}
    assert TinyDataFrame({}).columns == [] and TinyDataFrame([]).columns == []
    assert len(TinyDataFrame({})) == 0


def test_frame_is_written_as_csv(frame, tmp_path):
    quoted = '"name","n","x"\r\n"a",1,0.5\r\n"b",2,""\r\n"c",3,2.5\r\n'
    assert frame.to_csv() == quoted
    assert frame.to_csv(quote_strings=False) == "name,n,x\r\na,1,0.5\r\nb,2,\r\nc,3,2.5\r\n"
    path = tmp_path / "frame.csv"
    assert frame.to_csv(str(path)) is None and path.read_bytes() == quoted.encode()
    again = TinyDataFrame(csv_file_path=str(path))
    assert again.columns == frame.columns and again["x"] == [0.5, "", 2.5] and again["n"] == [1, 2, 3]


def test_csv_files_of_other_programs_can_be_read(tmp_path):
    path = tmp_path / "other.csv"
    path.write_text('"a","b"\n1,"x, y"\n2.5\n\n1e3,nan\n')
    frame = TinyDataFrame(csv_file_path=path)
    assert frame["a"] == [1, 2.5, 1000.0] and frame["b"][:2] == ["x, y", None]
    path.write_text("a,b\n")
    assert len(TinyDataFrame(csv_file_path=path)) == 0
    path.write_text("")
    assert TinyDataFrame(csv_file_path=path).columns == []


def test_corrupt_or_missing_csv_is_an_error(tmp_path, monkeypatch):
    path = tmp_path / "corrupt.csv"
    path.write_text("a,b\n1,2,3\n")
    slept = []
    monkeypatch.setattr("time.sleep", slept.append)
    with pytest.raises(RuntimeError) as error:
        TinyDataFrame(csv_file_path=str(path), retries=2, retry_delay=0.1)
    assert str(error.value) == f"Failed to read CSV file after 3 attempts: {path}"
    assert isinstance(error.value.__cause__, ValueError)
    assert str(error.value.__cause__) == "Corrupt CSV file with unknown column names."
    assert slept == [0.1, 0.2]
    with pytest.raises(RuntimeError, match="after 1 attempts"):
        TinyDataFrame(csv_file_path="missing.csv")


def test_csv_can_be_read_from_a_url():
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"a,b\n1,x\n")

        def log_message(self, *arguments):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        frame = TinyDataFrame(csv_file_path=f"http://127.0.0.1:{server.server_port}/x.csv")
        thread.join()
    assert frame[0] == {"a": 1, "b": "x"}


def test_repr_shows_rows_and_columns(frame):
    assert repr(frame) == ("TinyDataFrame with 3 rows and 3 columns. First row as a dict: "
                           "{'name': 'a', 'n': 1, 'x': 0.5}")
    assert repr(TinyDataFrame({"a": []})).startswith("TinyDataFrame with 0 rows and 1 columns")
    assert repr(TinyDataFrame({})).startswith("TinyDataFrame with 0 rows and 0 columns")


def test_str_returns_a_table(frame):
    assert str(frame).splitlines() == [
        "TinyDataFrame with 3 rows and 3 columns:",
        "name | n | x  ",
        "-----+---+----",
        "a    | 1 | 0.5",
        "b    | 2 |    ",
        "c    | 3 | 2.5"]
    assert str(TinyDataFrame({})) == "TinyDataFrame with 0 rows and 0 columns:\nEmpty dataframe"
    assert str(TinyDataFrame({"a": []})) == \
        "TinyDataFrame with 0 rows and 1 columns:\nEmpty dataframe"
    long = str(TinyDataFrame({"a": list(range(11))})).splitlines()
    assert len(long) == 3 + 10 + 1 and long[-1] == "..." and long[-2] == "9"


def test_statistics_are_computed_by_column(frame):
    stats = frame.stats([StatSpec("n", max), StatSpec("n", sum, "total"),
                         StatSpec("x", lambda values: sum(values) / 7, "part", 2),
                         StatSpec(column="x", agg=len, agg_name="known")])
    assert stats == {"n": {"max": 3, "total": 6}, "x": {"part": 0.43, "known": 2}}
    assert stats["other"] == {}


def test_a_statistic_that_fails_is_left_out(frame, caplog):
    with caplog.at_level(logging.WARNING, "resource_tracker"):
        stats = frame.stats([StatSpec("name", sum), StatSpec("n", max)])
    assert stats == {"n": {"max": 3}} and "sum of column 'name' failed" in caplog.text


def test_a_statistic_of_an_unknown_column_is_left_out(frame, caplog):
    with caplog.at_level(logging.WARNING, "resource_tracker"):
        stats = frame.stats([StatSpec("z", max), StatSpec("n", max)])
    assert stats == {"n": {"max": 3}} and "max of column 'z' failed: no such column" in caplog.text


def test_pickles_of_the_predecessor_are_loaded():
    """The predecessor's frames have the attributes columns and _data; an empty frame has
    neither."""
    name = b"cresource_tracker.tiny_data_frame\nTinyDataFrame\n"
    frame = pickle.loads(b"\x80\x02" + name + b")\x81}(X\x07\0\0\0columns](X\x01\0\0\0aX\x01"
                         b"\0\0\0beX\x05\0\0\0_data](](K\x01K\x02e](K\x03Neeub.")
    assert frame.to_dict() == [{"a": 1, "b": 3}, {"a": 2, "b": None}]
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        empty = pickle.loads(pickle.dumps(TinyDataFrame({}), protocol))
        assert empty.columns == [] and len(empty) == 0
    empty = pickle.loads(b"\x80\x02" + name + b")\x81.")
    empty["a"] = [1]
    assert empty.columns == ["a"] and len(empty) == 1


def test_columns_are_created_on_first_access():
    made = []

    def make(name):
        made.append(name)
        return [1, 2, 3]

    frame = TinyDataFrame._from_functions({name: lambda name=name: make(name) for name in "abc"}, 3)
    part = frame[1:]
    assert len(frame) == 3 and len(part) == 2 and frame.columns == list("abc") and made == []
    assert frame["b"] == [1, 2, 3] and frame["b"] is frame["b"] and made == ["b"]
    assert part["c"] == [2, 3] and part["b"] == [2, 3] and made == ["b", "c"]
    assert frame.rename({"a": "z"})["z"] == [1, 2, 3] and made == ["b", "c", "a"]
