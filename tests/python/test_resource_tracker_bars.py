# SPDX-License-Identifier: Apache-2.0
"""resource_tracker.tiny_bars: templates."""
import time

import pytest

from resource_tracker.tiny_bars import render_template
from resource_tracker.tiny_data_frame import TinyDataFrame

CONTEXT = {
    "name": "<b>'A' & \"B\"</b>", "zero": 0, "none": None, "number": 1234567.5, "mib": 300,
    "list": [3, 4], "empty": [], "server": {"cpu": 2, "disk": {"gb": 10}},
    "rows": TinyDataFrame({"a": [1, 2], "b": ["x", "y"]}), "complex": 3 + 4j}


@pytest.mark.parametrize("template, text", [
    ("", ""), ("plain { } text\n", "plain { } text\n"),
    ("{{zero}}{{ zero }}", "00"),
    ("{{name}}", "&lt;b&gt;&#x27;A&#x27; &amp; &quot;B&quot;&lt;/b&gt;"),
    ("{{{name}}}", "<b>'A' & \"B\"</b>"),
    ("{{server.cpu}} {{server.disk.gb}} {{complex.imag}}", "2 10 4.0"),
    ("{{rows.a | index:1}} {{list|index:0}} {{server | index:cpu}}", "2 3 2"),
    ("{{none}} {{server.x}}", "[Error: none - none not found in none] "
                              "[Error: server.x - x not found in server.x]"),
    ("{{zero | nothing}}", "[Error: zero | nothing - unknown filter 'nothing']"),
    ("{{name | divide:2}}", "[Error: name | divide:2 - unsupported operand type(s) for /: "
                            "'str' and 'float']"),
    ("{{number | pretty_number}} {{number|pretty_number:2}} {{mib | pretty_number:3}}",
     "1,234,568 1,234,567.5 300"),
    ("{{number | divide:1000 | round:1}} {{mib | round_memory}}", "1234.6 512"),
    ("{{#if mib}}yes{{/if}}{{#if zero}}no{{/if}}{{#if missing.x}}no{{/if}}", "yes"),
    ("{{#if zero}}a{{#else}}b{{/if}}{{#if mib}}c{{#else}}d{{/if}}", "bc"),
    ("{{#if mib}}{{#if zero}}a{{#else}}b{{/if}}c{{#else}}{{#if mib}}d{{#else}}e{{/if}}{{/if}}", "bc"),
    ("{{#if zero}}{{#if mib}}a{{#else}}b{{/if}}{{missing}}{{#each x as y}}{{/each}}{{/if}}.", "."),
    ("{{#each list as x}}<{{x}}{{#if x}}!{{/if}}>{{/each}}.", "<3!><4!>."),
    ("{{#each empty as x}}<{{x}}>{{/each}}.", "."),
    ("{{#each rows as row}}{{row.b}}{{#each list as x}}{{x}}{{/each}} {{/each}}", "x34 y34 "),
    ("{{#each missing as x}}<{{x}}>{{/each}}.",
     "[Error: #each missing as x - missing not found in missing]."),
    ("{{#each list}}<{{x}}>{{/each}}.", "[Error: #each list - expected LIST as NAME]."),
    ("{{#if mib}}open", "open"), ("a{{/if}}b{{#else}}c", "abc")])
def test_templates(template, text):
    assert render_template(template, CONTEXT) == text


def test_times_are_local(monkeypatch):
    monkeypatch.setenv("TZ", "XYZ-2")
    time.tzset()
    try:
        assert render_template("{{zero | unix_timestamp_to_local_tz_string}}", CONTEXT) == \
            "1970-01-01 02:00:00 XYZ"
    finally:
        monkeypatch.undo()
        time.tzset()
