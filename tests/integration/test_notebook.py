# SPDX-License-Identifier: Apache-2.0
"""Runs the notebook of examples/ with nbconvert: it shows a result, a data frame, a plot and a page."""
import importlib.util
import json
import os
import subprocess
import sys

import pytest
from conftest import DEADLINE_SECONDS, TOP

NEEDED = ("pandas", "IPython", "nbconvert", "ipykernel", "matplotlib")
MISSING = [name for name in NEEDED if not importlib.util.find_spec(name)]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """Returns the outputs of each cell, by cell id: a list of {MIME type: data}."""
    home = tmp_path_factory.mktemp("notebook")
    subprocess.run([sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--output-dir", home,
                    TOP / "examples/notebook.ipynb"], check=True, timeout=DEADLINE_SECONDS,
                   env={**os.environ, "HOME": str(home)})
    notebook = json.loads((home / "notebook.ipynb").read_text(encoding="utf-8"))
    return {cell["id"]: [output.get("data", {"text": "".join(output.get("text", []))}) for output in cell["outputs"]]
            for cell in notebook["cells"] if cell["cell_type"] == "code"}


def test_tracked_cell_shows_nothing_if_its_result_is_assigned(outputs):
    assert outputs["track"] == []


def test_result_is_shown_as_a_table(outputs):
    html = "".join(outputs["result"][0]["text/html"])
    assert html.startswith("<table>") and "Memory" in html and "CPU time" in html


def test_figures_are_numbers(outputs):
    megabytes = int(outputs["number"][0]["text"].split()[0])
    assert megabytes >= 50


def test_curve_is_a_data_frame(outputs):
    html = "".join(outputs["frame"][0]["text/html"])
    assert 'class="dataframe"' in html and "job_rss_bytes" in html


def test_plot_is_shown_as_a_picture(outputs):
    assert any("image/png" in output for output in outputs["plot"])


def test_page_is_shown_inline(outputs):
    html = "".join(outputs["report"][0]["text/html"])
    assert "<iframe" in html and "spoor" in html
