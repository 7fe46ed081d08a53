# SPDX-License-Identifier: Apache-2.0
"""How the long tests write docs/RELIABILITY.md."""
import pathlib
import sys

import pytest

TESTS = pathlib.Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / folder) for folder in ("torture", "fuzz", "privileges")]

import privileges  # noqa: E402: the line above adds its folder to the path
import results  # noqa: E402
import run as fuzzing  # noqa: E402

PAGE = """# Page
<!-- begin one -->
old
<!-- end one -->
between
<!-- begin two -->
<!-- end two -->
"""


def test_only_the_named_section_changes(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(PAGE)
    results.write("one", "new\n", path)
    assert path.read_text() == PAGE.replace("old", "new")
    results.write("two", "a\nb", path)
    assert path.read_text() == PAGE.replace("old", "new").replace("two -->\n", "two -->\na\nb\n", 1)
    assert [found.name for found in tmp_path.iterdir()] == ["page.md"]


@pytest.mark.parametrize("page, section, text", [
    (PAGE, "three", "x"), (PAGE * 2, "one", "x"), (PAGE, "one", "x <!-- end one -->"),
    ("<!-- end one --><!-- begin one -->", "one", "x")])
def test_damaged_pages_are_refused(page, section, text):
    with pytest.raises(ValueError):
        results.replace(page, section, text)


def test_page_has_all_sections_in_order():
    page = results.PAGE.read_text()
    places = [page.index(f"<!-- {word} {section} -->")
              for section in ("fuzz", "failures", "kills", "soak", "load", "privileges")
              for word in ("begin", "end")]
    assert places == sorted(places)


def test_numbers_of_a_table_have_separators():
    assert results.table(["what", "times"], [["a", 12345], ["b", 0.5]]) == \
        "| what | times |\n|---|---|\n| a | 12,345 |\n| b | 0.5 |"


def test_fuzz_targets_are_summed_by_area():
    rows = [["pid_stat", 100, 1, 1, 0], ["cpu_stat", 20, 2, 2, 1], ["pid_io", 3, 3, 3, 2]]
    assert fuzzing.totals(rows) == [[fuzzing.AREAS["proc"], 2, 103, 2], [fuzzing.AREAS["host"], 1, 20, 1],
                                    ["all", 3, 123, 3]]
    files = {file.name for file in (TESTS / "fuzz").glob("targets_*.c")}
    assert {f"targets_{area}.c" for area in fuzzing.AREAS} == files


def test_environments_are_counted_by_source():
    assert privileges.counts(["a", "b", "b"]) == "b (2); a (1)"
