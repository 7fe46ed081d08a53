# SPDX-License-Identifier: Apache-2.0
"""The pictures of record-terminal, tested without a terminal emulator."""
import importlib.machinery
import importlib.util
import pathlib
import re
import xml.etree.ElementTree

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
SVG = "{http://www.w3.org/2000/svg}"


def load():
    loader = importlib.machinery.SourceFileLoader("record_terminal", str(TOP / "tools/record-terminal"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def row(text):
    return ((text, "default", False),)


def test_row_is_visible_from_when_it_appears_until_it_changes():
    frames = [(0.0, (row("$ a"), ())), (1.0, (row("$ a"), row("one"))), (2.0, (row("$ a"), row("two")))]
    assert load().spans(frames) == [(1, row("one"), 1.0, 2.0), (0, row("$ a"), 0.0, None), (1, row("two"), 2.0, None)]


def test_picture_is_xml_and_escapes_text():
    module = load()
    root = xml.etree.ElementTree.fromstring(module.svg([(0.0, ((("<&> ", "red", True), ("x", "default", False)),))], 9, 1))
    text = next(root.iter(f"{SVG}text"))
    assert "".join(text.itertext()) == "<&> x"
    assert module.COLORS["red"] in text.find(f"{SVG}tspan").get("style")


def test_still_picture_is_the_last_frame():
    picture = load().svg([(0.0, (row("first"),)), (4.0, (row("last"),))], 9, 1)
    still = re.findall(r"<g class='last'>.*?</g>", picture)
    assert len(still) == 1 and "last</text>" in still[0]
    assert "40%{visibility:hidden}" in picture  # of ten seconds, which include the pause at the end


def test_picture_of_the_readme_shows_the_current_program():
    """The recording must match this program: its commands and the labels of its report."""
    picture = (TOP / "docs/images/terminal.svg").read_text()
    text = "\n".join("".join(element.itertext())
                     for element in xml.etree.ElementTree.fromstring(picture).iter(f"{SVG}text"))
    for words in ("spoor run --live", "Elapsed", "CPU cores", "Memory", "tracker", "#SBATCH --mem="):
        assert words in text
