# SPDX-License-Identifier: Apache-2.0
"""results.py - writes the results of the long tests to docs/RELIABILITY.md.

That page has a section for each test, enclosed in a pair of markers. A test replaces the text
between its own markers and leaves the rest of the page alone:

    results.write("kills", results.table(["killed", "times"], [["job", 125], ["tracker", 125]]))
"""
import os
import pathlib
import re

PAGE = pathlib.Path(__file__).parents[2] / "docs/RELIABILITY.md"


def table(header, rows):
    """Returns a Markdown table. Numbers are written with thousands separators."""
    def line(cells):
        return "| " + " | ".join(f"{cell:,}" if isinstance(cell, int) else str(cell)
                                 for cell in cells) + " |"
    return "\n".join([line(header), "|" + "---|" * len(header), *map(line, rows)])


def replace(page, section, text):
    """Returns the page with `text` between the markers of `section`, which must exist."""
    begin, end = f"<!-- begin {section} -->", f"<!-- end {section} -->"
    if page.count(begin) != 1 or page.count(end) != 1 or page.index(begin) > page.index(end):
        raise ValueError(f"no section '{section}': expected '{begin}' and '{end}', once each")
    if re.search(r"<!-- (begin|end) ", text):
        raise ValueError("the text of a section cannot hold markers")
    before, rest = page.split(begin)
    return before + begin + "\n" + text.strip("\n") + "\n" + end + rest.split(end)[1]


def write(section, text, path=PAGE):
    """Replaces the text of one section, atomically."""
    path = pathlib.Path(path)
    new = path.with_suffix(".new")
    new.write_text(replace(path.read_text(), section, text))
    os.replace(new, path)
