# SPDX-License-Identifier: Apache-2.0
"""What bash offers after a Tab. It splits --option=value into three words."""
import subprocess

import pytest


@pytest.fixture
def complete(spoor, tmp_path):
    """complete(word, ...): what is offered for the last word."""

    def run(program, *words):
        script = tmp_path / "completion"
        script.write_text(spoor("--completion", program).stdout)
        typed = " ".join(f"'{word}'" for word in [program, *words])
        done = subprocess.run(
            ["bash", "-c", f"source {script}; COMP_WORDS=({typed}); COMP_CWORD={len(words)}; "
                           f"_{program.replace('-', '_')}; printf '%s\\n' \"${{COMPREPLY[@]}}\""],
            check=True, capture_output=True, text=True, cwd=tmp_path)
        assert done.stderr == ""
        return done.stdout.splitlines()

    return run


@pytest.mark.parametrize("words, choices", [
    (["--dis"], ["--disable-logs"]), (["-e", "true", "--ru", "=", "meg"], ["megabytes"]),
    (["--tu", "="], ["seconds", "minutes", "hours", "days"]), (["sub"], ["sub-track"]),
    (["sub-track", "com"], ["combine", "compare"]), (["sub-track", "compare", "--sta"], ["--stat"]),
    (["-f", "j"], ["json"]), (["--p"], ["--propagate"]), (["--n_join"], [""]),
], ids=str)
def test_gpu_tracker(complete, words, choices):
    assert complete("gpu-tracker", *words) == choices


@pytest.mark.parametrize("words, choices", [
    (["at"], ["attach"]), (["ag"], [""]), (["--v"], ["--version"]),
    (["run", "--interv"], ["--interval"]), (["run", "--format", "j"], ["json"]),
    (["run", "-f", "c"], ["csv"]), (["run", "--format", "=", "t"], ["text"]),
    (["info", "--format", ""], ["text", "json"]), (["attach", "--wa"], [""]),
    (["phase", "st"], ["start", "stop"]), (["run", "-o", "comp"], ["completion"]),
    (["report", "comp"], ["completion"]), (["recommend", "--for", "sn"], ["snakemake"]),
], ids=str)
def test_spoor(complete, words, choices):
    assert complete("spoor", *words) == choices


@pytest.mark.parametrize("options", [["--interval", "=", "5", "-q"], ["--name", "x", "--"]], ids=str)
def test_arguments_of_the_command(complete, options):
    assert "completion" in complete("spoor", "run", *options, "sleep", "comp")
    assert "--name" not in complete("spoor", "run", *options, "sleep", "--na")


def test_spoor_offers_processes(complete):
    assert "1" in complete("spoor", "attach", "1")
    assert "1" in complete("spoor", "attach", "--pid", "1")
