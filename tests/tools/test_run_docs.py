# SPDX-License-Identifier: Apache-2.0
"""run-docs finds faults in a page, and updates the page."""
import pathlib
import subprocess

import pytest

RUN_DOCS = pathlib.Path(__file__).resolve().parent.parent.parent / "tools/run-docs"
SPOOR = """#!/bin/sh
if [ "$1" = run ]; then printf 'Elapsed    %s s  and more\\nHost  x\\n' $$; else exit 3; fi
"""
GOOD = """# Page

```sh
# job.sh
echo it works
```

```console
$ spoor run -- true
Elapsed    12 s  some remark
Network    none here
$ sh job.sh | \\
    tr a-z A-Z
IT WORKS
$ spoor fail
$ echo $?
3
```

Text after.
"""


@pytest.fixture
def run_docs(tmp_path):
    spoor, page = tmp_path / "fake", tmp_path / "page.md"
    spoor.write_text(SPOOR)
    spoor.chmod(0o755)

    def run(text, *options):
        page.write_text(text)
        done = subprocess.run([RUN_DOCS, *options, spoor, page], text=True, check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        return done.returncode, done.stdout, page.read_text()

    return run


def test_good_page_passes_and_is_unchanged(run_docs):
    assert run_docs(GOOD) == (0, "", GOOD)


@pytest.mark.parametrize("old, new, message", [
    ("Elapsed ", "Duration ", "page.md:9: 'spoor run -- true' does not print ['Duration']"),
    ("IT WORKS", "IT FAILS", "does not print ['FAILS']"),
    ("$ echo $?\n3\n", "", "'spoor fail' exits with 3"),
    ("```console\n", "```console\nno command\n", "a console block begins with '$ '"),
    ("```console\n", "```\n", "shows no command"),
    ("$ spoor fail\n", "$ exit 0\n", "'echo $?' did not run"),
])
def test_error_in_a_page_of_the_documentation_is_reported(run_docs, old, new, message):
    status, output, _ = run_docs(GOOD.replace(old, new))
    assert status == 1
    assert message in output


def test_update_replaces_the_output_and_nothing_else(run_docs):
    stale = GOOD.replace("Elapsed    12 s  some remark\nNetwork    none here\n", "Old\n").replace("IT WORKS\n", "")
    status, output, page = run_docs(stale, "--update")
    assert (status, output) == (0, "")
    lines = page.splitlines()
    assert lines[:9] == GOOD.splitlines()[:9]
    assert lines[9].startswith("Elapsed") and lines[10] == "Host  x"
    assert "\n".join(lines[11:]) + "\n" == GOOD[GOOD.index("$ sh job.sh"):]


def test_update_keeps_omissions(run_docs):
    page = "```console\n$ seq 9\n1\n...\n8\n9\n```\n"
    assert run_docs(page, "--update") == (0, "", page)
