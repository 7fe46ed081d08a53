# SPDX-License-Identifier: Apache-2.0
"""The first targets of the Makefile that users run."""
import pathlib
import re
import subprocess

TOP = pathlib.Path(__file__).resolve().parent.parent.parent


def commands(target, *variables):
    """Returns the commands that make would run."""
    return subprocess.run(["make", "--dry-run", "--no-print-directory", target, *variables], cwd=TOP, text=True,
                          check=True, stdout=subprocess.PIPE).stdout


def test_make_deps_installs_the_packages_of_a_build(tmp_path):
    assert commands("deps").strip() == "tools/deps build page"
    setup = commands("all", f"BUILD={tmp_path}/build")
    assert "tools/deps --check build\n" in setup and "-Dtests=false" in setup
    packages = [line.split()[:2] for line in (TOP / "tools/packages").read_text("utf-8").splitlines()
                if line and not line.startswith("#")]
    needed = {package for group, package in packages if group == "build"}
    assert not [package for package in needed if re.search("cmocka|pytest|python", package)]


def test_make_suggests_the_next_step(tmp_path):
    last = commands("all", f"BUILD={tmp_path}/build").split("printf")[-1]
    assert "make demo" in last and "sudo make install" in last
