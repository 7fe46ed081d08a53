# SPDX-License-Identifier: Apache-2.0
"""Each check in tools/ passes a good tree and fails on a planted fault."""
import json
import os
import pathlib
import subprocess

import pytest

TOOLS = pathlib.Path(__file__).resolve().parent.parent.parent / "tools"
def board(query, legend="{{run_id}}"):
    """Returns a dashboard with one panel."""
    panel = {"id": 1, "type": "stat", "title": "t", "gridPos": {}, "datasource": {"uid": "${datasource}"},
             "targets": [{"expr": query, "legendFormat": legend}]}
    return json.dumps({"panels": [panel], "templating": {"list": [{"name": "datasource"}]}})


LONG = "int long_one(int x)\n{\n" + "    x++;\n" * 60 + "    return x;\n}\n"
COMPLEX = "int tangled(int x)\n{\n" + "    if (x > 1)\n        x++;\n" * 15 + "    return x;\n}\n"

TABLE = "| job | figure | true |\n|---|---|\n| a | b | 1 MB |\n"
PAGES = {"FROM-GNU-TIME": TABLE + "| c | d | 2 MB |\n", "SECURITY": "https://a.example\n",
         "FAQ": "| an NVIDIA H200 | 0.19 % of a core |\n",
         "GPU": "| a job | CPU time of the tracker | | 0.19 % of a core |\n"}


def check(name, folder):
    return subprocess.run([TOOLS / f"check-{name}", folder], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)


@pytest.fixture
def tree(tmp_path):
    """plant(path, text) writes a file of a small, good tree."""

    def plant(path, text):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
        return tmp_path

    plant("include/spoor/spoor.h", "/* Opens. */\nSPOOR_API int spoor_open(void);\n"
          "SPOOR_API int spoor_open_too(void);\n")
    plant("src/base/text.c", '#include "base/text.h"\n')
    plant("src/sample/metric.c", '[METRIC_A] = { { "a_bytes", "help" } },\n')
    plant("docs/METRICS.md", "| `a_bytes` | gauge |\n\n- `spoor_a_bytes` (gauge), `a.b`\n- `spoor_b_total` (counter), `b`\n")
    plant("share/grafana/spoor.json", board('sum by (host) (rate(spoor_b_total{name=~"x"}[1m])) + spoor_a_bytes'))
    plant("README.md", "[index](docs/README.md) [code](src/base/text.c) [host](https://example.org)\n`[no](link)`\n"
          + TABLE)
    for name, text in PAGES.items():
        plant(f"docs/{name}.md", text)
    plant("docs/README.md", "[METRICS.md](METRICS.md) [columns](DIALECTS.md#columns)\n```\n[no](link)\n```\n"
          "[a](ARCHITECTURE.md) [b](INTERNALS.md)\n" + "".join(f"[p]({name}.md)\n" for name in PAGES))
    plant("docs/ARCHITECTURE.md", "`source/proc/stat.c`, `src/base/text.c`, `stat.h`\n")
    plant("docs/INTERNALS.md", "`f()` in `source/proc/stat.c`\n")
    plant("docs/DIALECTS.md", "## Columns\n\n| `a_bytes` | x | y | `b_bytes` |\n\n## Differences\n")
    plant("tests/replay/expected/m.resource-tracker", '"a_bytes","process_b_bytes"\n1,2\n')
    plant("src/front/spoor/main.c", '#include "spoor/spoor.h"\n#include "run/process.h"\n')
    plant("src/source/proc/stat.c", '#include "base/text.h"\n#include "source/proc/stat.h"\n'
          "/* sprintf() in a comment is no call */\nint f(void)\n{\n    return 0;\n}\n")
    plant("src/services/keeper.h", '#define KEEPER_URL "https://a.example"\n')
    plant("src/text/json_writer.c", 'buffer_add(out, ",", 1);\n')
    plant("src/output/text.c", '    puts("constant");\n    fprintf(stderr, "%d", x->y);\n'
          '    buffer_format(out, "%s, %s", rows[i].name, number_bytes(record->bytes).text);\n'
          '    buffer_add_text(out, rows[i].name);\n    page_escape(page, record->name, out);\n')
    plant("src/compat/tracking/table.c", 'error_set(err, EINVAL, "must be {\\"a\\": 1}, not %s, %d", a, b);\n')
    for folder in ("tests", "tools", "examples"):
        (tmp_path / folder).mkdir(exist_ok=True)
    return plant


@pytest.mark.parametrize("name", ["layers", "sizes", "banned", "escaping", "docs", "links", "dashboards"])
def test_check_accepts_a_good_tree(tree, tmp_path, name):
    done = check(name, tmp_path)
    assert (done.returncode, done.stdout) == (0, "")


FAULTS = {
    "upward include": ("layers", "src/base/bad.c", '#include "source/proc/stat.h"\n'),
    "front past the header": ("layers", "src/front/spoor/bad.c", '#include "session/session.h"\n'),
    "front includes compat": ("layers", "src/front/spoor/bad.c",
                              '#include "compat/gpu_tracker/program.h"\n'),
    "output includes compat": ("layers", "src/output/bad.c", '#include "compat/dialect_columns.h"\n'),
    "services include compat": ("layers", "src/services/upload/bad.c",
                                '#include "compat/tracking/table.h"\n'),
    "a second file that knows all fronts": ("layers", "src/bad.c",
                                            '#include "front/spoor/program.h"\n'),
    "front includes a front": ("layers", "src/front/bad.c",
                               '#include "front/spoor/settings.h"\n'),
    "compat includes the other front": ("layers", "src/compat/gpu_tracker/subtrack/bad.c",
                                        '#include "front/spoor/settings.h"\n'),
    "text past base": ("layers", "src/text/bad.c", '#include "sample/metric.h"\n'),
    "record includes output": ("layers", "src/record/bad.c", '#include "output/format.h"\n'),
    "record includes session": ("layers", "src/record/bad.c", '#include "session/session.h"\n'),
    "output looks at the job": ("layers", "src/output/bad.c", '#include "job/job.h"\n'),
    "output looks at a source": ("layers", "src/output/bad.c", '#include "source/host/facts.h"\n'),
    "run past the header": ("layers", "src/run/bad.c", '#include "job/job.h"\n'),
    "services past the header": ("layers", "src/services/bad.c", '#include "series/series.h"\n'),
    "run includes a front": ("layers", "src/run/bad.h", '#include "front/option.h"\n'),
    "include without a folder": ("layers", "src/job/bad.c", '#include "bad.h"\n'),
    "folder of no layer": ("layers", "src/utils/bad.c", "int x;\n"),
    "long function": ("sizes", "src/base/bad.c", LONG),
    "tangled function": ("sizes", "src/base/bad.c", COMPLEX),
    "long file": ("sizes", "src/base/bad.h", "int x;\n" * 1001),
    "sprintf": ("banned", "src/base/bad.c", '    sprintf(buf, "%d", x);\n'),
    "sscanf": ("banned", "src/base/bad.c", '    if (sscanf(text, "%d", &x) == 1)\n'),
    "system": ("banned", "tests/bad.c", '    system("ls");\n'),
    "atoi": ("banned", "src/front/spoor/bad.c", "    x = atoi(text);\n"),
    "JSON by hand": ("banned", "src/front/bad.c",
                     '    printf("{\\"event\\":\\"%s\\"", event);\n'),
    "a JSON key by hand": ("banned", "src/output/bad.c", '    fputs("\\": ", out);\n'),
    "JSON by jansson": ("banned", "src/front/bad.c", "    json_dumpf(json, out, 0);\n"),
    "a JSON escape by hand": ("banned", "src/output/bad.c",
                              '    buffer_format(out, "\\\\u%04x", c);\n'),
    "CSV by hand": ("banned", "src/compat/tracking/bad.c", '    fprintf(out, "%d,%s\\r\\n", x, text);\n'),
    "a CSV cell by hand": ("banned", "src/compat/tracking/bad.c", '    fprintf(out, "%lld,", x);\n'),
    "a comma by hand": ("banned", "src/compat/tracking/bad.c", "    fputc(',', out);\n"),
    "a comma in a buffer": ("banned", "src/output/bad.c", '    buffer_add(out, ",", 1);\n'),
    "a name printed": ("escaping", "src/front/spoor/bad.c", '    printf("%s\\n", argv[1]);\n'),
    "a name put": ("escaping", "src/front/spoor/bad.c", "    puts(name);\n"),
    "a message to stderr": ("escaping", "src/run/bad.c", '    fprintf(stderr, "%s", err.message);\n'),
    "a message of errno": ("escaping", "src/run/bad.c", "    perror(path);\n"),
    "a name in a report": ("escaping", "src/output/bad.c",
                           '    buffer_format(out, "%d: %s",\n                  i, block->name);\n'),
    "a name added to a report": ("escaping", "src/output/bad.c",
                                 "    buffer_add_text(out, record->name);\n"),
    "an element of a list": ("escaping", "src/output/bad.c",
                             '    buffer_format(out, "%s", record->command[i]);\n'),
    "undocumented function": ("docs", "include/spoor/spoor.h", "SPOOR_API int spoor_x(void);\n"),
    "column not in the page": ("docs", "tests/replay/expected/n.resource-tracker-rs", "c_bytes\n1\n"),
    "link to a file that does not exist": ("links", "docs/METRICS.md", "[no](NO.md)\n"),
    "link to a heading that does not exist": ("links", "docs/METRICS.md", "[no](DIALECTS.md#no-column)\n"),
    "page that no page links to": ("links", "docs/LOST.md", "# Lost\n"),
    "function that does not exist": ("docs", "docs/INTERNALS.md", "`g()`\n"),
    "file that does not exist": ("docs", "docs/ARCHITECTURE.md", "`source/proc/gone.c`\n"),
    "row of another measurement": ("docs", "README.md", TABLE.replace("1 MB", "3 MB")),
    "another cost of a GPU": ("docs", "docs/FAQ.md", "| an NVIDIA H200 | 0.57 % of a core |\n"),
    "server that is not named": ("docs", "src/services/bad.c", '#define OTHER_URL "https://b.example"\n'),
    "metric of a dashboard": ("dashboards", "share/grafana/spoor.json", board("spoor_c_bytes")),
    "rate of a gauge": ("dashboards", "share/grafana/spoor.json", board("rate(spoor_a_bytes[1m])")),
    "label of a query": ("dashboards", "share/grafana/spoor.json", board('spoor_a_bytes{pid="1"}')),
    "label of a group": ("dashboards", "share/grafana/spoor.json", board("sum by (pid) (spoor_a_bytes)")),
    "label of a legend": ("dashboards", "share/grafana/spoor.json", board("spoor_a_bytes", "{{pid}}")),
    "variable of a dashboard": ("dashboards", "share/grafana/spoor.json", board('spoor_a_bytes{name="$n"}')),
    "metric not in the page": ("docs", "docs/METRICS.md", "| `b_bytes` | gauge |\n"),
}


@pytest.mark.parametrize("name, path, text", FAULTS.values(), ids=FAULTS)
def test_check_reports_a_fault(tree, name, path, text):
    done = check(name, tree(path, text))
    assert done.returncode != 0 and done.stdout != ""


@pytest.mark.parametrize("fault, status", [("", 0), ("bad.c", 1)])
def test_clang_sees_each_file_once_with_the_flags_of_the_build(tmp_path, monkeypatch, fault, status):
    """A stand-in for clang records its arguments, and reports a fault in one file."""
    (tmp_path / "clang").write_text(f'#!/bin/sh\necho "$@" >>calls\ncase "$*" in *bad.c*) '
                                    f'echo "bad.c: warning"; exit {status};; esac\n')
    (tmp_path / "clang").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    entries = [{"directory": str(tmp_path), "file": file,
                "command": f"ccache cc -Isrc -Wall -MD -MQ a.o -MF a.d -o a.o -c {file}"}
               for file in ("good.c", "bad.c", "good.c", "header.S")]
    (tmp_path / "compile_commands.json").write_text(json.dumps(entries))
    done = check("clang", tmp_path)
    assert (done.returncode, done.stdout) == (status, "bad.c: warning\n" if fault else "")
    calls = sorted((tmp_path / "calls").read_text().splitlines())
    assert [call.split(" -fsyntax-only -Werror ")[0] for call in calls] == \
        ["-Isrc -Wall bad.c", "-Isrc -Wall good.c"]
