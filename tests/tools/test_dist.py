# SPDX-License-Identifier: Apache-2.0
"""The source archive of a small repository."""
import os
import pathlib
import shutil
import subprocess
import tarfile

import pytest

TOOL = pathlib.Path(__file__).resolve().parent.parent.parent / "tools/make-dist"


def git(folder, *arguments):
    subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@example.org", *arguments],
                   cwd=folder, check=True, stdout=subprocess.DEVNULL)


@pytest.fixture
def repository(tmp_path):
    top = tmp_path / "top"
    (top / "tools").mkdir(parents=True)
    (top / "meson.build").write_text("project('spoor', 'c',\n  version: '1.2.3')\n")
    (top / "b.txt").write_text("b\n")
    (top / "a.sh").write_text("#!/bin/sh\n")
    (top / "a.sh").chmod(0o755)
    shutil.copy(TOOL, top / "tools/make-dist")
    (tmp_path / "report.html").write_text("<html>")
    git(top, "init", "-q")
    git(top, "add", "-A")
    git(top, "commit", "-qm", "first")
    return top


def make(top, name, umask=0o022, **environment):
    folder = top.parent / name
    done = subprocess.run([top / "tools/make-dist", top.parent / "report.html", folder], check=True,
                          text=True, capture_output=True, umask=umask,
                          env={**os.environ, **environment})
    assert done.stdout == f"{folder}/spoor-1.2.3.tar.gz\n"
    assert [path.name for path in folder.iterdir()] == ["spoor-1.2.3.tar.gz"]
    return folder / "spoor-1.2.3.tar.gz", done.stderr


def test_archives_are_reproducible(repository):
    first, _ = make(repository, "first", TZ="UTC")
    for path in repository.rglob("*.txt"):
        os.utime(path, (1, 1))
    second, _ = make(repository, "second", umask=0o077, TZ="Asia/Tokyo", LC_ALL="C.UTF-8")
    assert first.read_bytes() == second.read_bytes()


def test_archive_contains_the_commit_id_and_the_page(repository):
    (repository / "b.txt").write_text("changed\n")
    path, warning = make(repository, "dist")
    assert "b.txt" in warning
    with tarfile.open(path) as archive:
        members = {member.name: member for member in archive.getmembers()}
        assert archive.extractfile("spoor-1.2.3/b.txt").read() == b"b\n"
        assert archive.extractfile("spoor-1.2.3/web/report/dist/report.html").read() == b"<html>"
    assert list(members) == sorted(members, key=lambda name: name.split("/"))
    assert {(m.uid, m.gid, m.uname, m.gname) for m in members.values()} == {(0, 0, "", "")}
    assert len({m.mtime for m in members.values()}) == 1
    assert members["spoor-1.2.3/a.sh"].mode == 0o755 and members["spoor-1.2.3/b.txt"].mode == 0o644
