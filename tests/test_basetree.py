from __future__ import annotations

import os
from pathlib import Path

import pytest
from factories import (
    SOURCES,
    TRACK,
    base_commit_of,
    edit_track,
    invoke,
    make_project,
    make_sdist,
    make_tree,
    replace_sdist,
    sdist_name,
    umask,
)

from launchguard.basetree import BASE_REF, INCOMING_REF, import_base
from launchguard.errors import LaunchguardError
from launchguard.gitcmd import Git, init_repository
from launchguard.track import load_track

HOSTILE_CONFIG = """
[user]
    name = Somebody
    email = some@body.example
[core]
    autocrlf = true
    fileMode = false
    hooksPath = {home}/hooks
[commit]
    gpgsign = true
[i18n]
    commitEncoding = ISO-8859-1
[init]
    defaultObjectFormat = sha256
    templateDir = {home}/template
[fetch]
    fsckObjects = true
"""
ODD = {
    "mixed.txt": b"one\r\ntwo\n",
    ".gitattributes": "* text=auto eol=crlf\n*.ident ident\n",
    "x.ident": "$Id$\n",
    'with space and "quote".txt': "odd\n",
    "caf\u00e9/\u65e5\u672c.txt": "names\n",
    "line\nbreak": "name\n",
    "binary": bytes(range(256)),
    "empty": "",
}


def listing(git: Git, revision: str = BASE_REF) -> dict[str, tuple[str, bytes]]:
    """Give mode and content of every file of a commit."""
    found = {}
    for record in git.run("ls-tree", "-r", "-z", revision).text.split("\0")[:-1]:
        (mode, _, blob), path = record.partition("\t")[0].split(), record.partition("\t")[2]
        found[path] = (mode, git.run("cat-file", "blob", blob).out)
    return found


def repository(project, name: str = "repository") -> Git:
    return init_repository(project.root / name)


def test_the_parts_lie_where_the_monorepo_has_them(project):
    git = repository(project)
    import_base(git, project, load_track(project, TRACK))
    found = listing(git)
    assert sorted(found) == [
        "README.md",
        "airflow-core/scripts/start",
        "airflow-core/src/airflow/__init__.py",
        "airflow-core/src/airflow/jobs/scheduler.py",
        "providers/cncf/kubernetes/provider.yaml",
        "providers/cncf/kubernetes/src/airflow/providers/cncf/kubernetes/executor.py",
        "providers/cncf/kubernetes/tests/unit/test_executor.py",
        "pyproject.toml",
        "task-sdk/src/airflow/sdk/__init__.py",
        "task-sdk/tests/test_sdk.py",
    ]
    assert [path for path, (mode, _) in found.items() if mode != "100644"] == ["airflow-core/scripts/start"]
    assert found["airflow-core/scripts/start"] == ("100755", b"#!/bin/sh\n")


def test_the_commit_is_the_one_worked_out_without_git(project):
    """Which makes it the same on every machine: nothing of this one can be in it."""
    git = repository(project)
    assert import_base(git, project, load_track(project, TRACK)) == base_commit_of(TRACK, SOURCES)
    assert git.line("log", "--format=%an %ae %ad %cn %ce %cd", "--date=iso-strict", BASE_REF) == " ".join(
        ["launchguard authors@launchguard.invalid 2026-01-01T00:00:00+00:00"] * 2
    )
    assert git.line("rev-list", "--count", BASE_REF) == "1"


def test_odd_names_and_bytes_come_through(tmp_path):
    sources = SOURCES | {"provider": SOURCES["provider"] | ODD}
    project = make_project(tmp_path, sources=sources)
    git = repository(project)
    import_base(git, project, load_track(project, TRACK))
    found = listing(git)
    for name, content in ODD.items():
        wanted = content.encode() if isinstance(content, str) else content
        assert found[f"providers/cncf/kubernetes/{name}"] == ("100644", wanted)


def test_two_folders_and_a_hostile_user_give_the_same_commit(tmp_path, monkeypatch):
    first = make_tree(make_project(tmp_path / "first", sources=SOURCES | {"provider": ODD}))
    home = Path(os.environ["HOME"])
    (home / "hooks").mkdir()
    (home / "template").mkdir()
    (home / ".gitconfig").write_text(HOSTILE_CONFIG.format(home=home))
    (home / ".config/git").mkdir(parents=True)
    (home / ".config/git/attributes").write_text("* text eol=crlf\n")
    for name, value in (
        ("TZ", "Asia/Tokyo"),
        ("LANG", "de_DE.UTF-8"),
        ("LC_ALL", "tr_TR.UTF-8"),
        ("GIT_AUTHOR_DATE", "2001-01-01T00:00:00+05:00"),
        ("GIT_COMMITTER_NAME", "Somebody"),
        ("GIT_DIR", "/nowhere"),
        ("GIT_DEFAULT_HASH", "sha256"),
        ("SOURCE_DATE_EPOCH", "1"),
    ):
        monkeypatch.setenv(name, value)
    with umask(0o077):
        second = make_tree(make_project(tmp_path / "second/deeper", sources=SOURCES | {"provider": ODD}))
    assert first.base == second.base
    assert listing(first.git) == listing(second.git)
    assert second.git.changes() == []


def test_the_order_of_the_archive_does_not_matter(project):
    first = make_tree(project).base
    turned = dict(reversed(SOURCES["provider"].items()))
    path = make_sdist(project.root / "turned" / sdist_name("provider"), turned)
    replace_sdist(project, "provider", path.read_bytes())
    assert import_base(repository(project), project, load_track(project, TRACK)) == first


def test_a_file_that_two_sdists_bring_alike_is_one(tmp_path):
    sources = SOURCES | {"root": SOURCES["root"] | {"task-sdk/tests/test_sdk.py": "def test_sdk(): pass\n"}}
    project = make_project(tmp_path, sources=sources)
    import_base(repository(project), project, load_track(project, TRACK))


def test_a_file_that_two_sdists_bring_differently_is_refused(tmp_path):
    project = make_project(tmp_path, sources=SOURCES | {"root": {"task-sdk/tests/test_sdk.py": "other"}})
    with pytest.raises(LaunchguardError, match=r"sdists of track 1\.2\.0 bring different task-sdk/tests/test_sdk.py"):
        import_base(repository(project), project, load_track(project, TRACK))


def test_a_wrong_pin_is_refused_and_leaves_nothing(project):
    good = base_commit_of(TRACK, SOURCES)
    edit_track(project, good, "0" * 40)
    ended = invoke("fetch", project=project)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == (
        f"error: the sources give base commit {good}, the pin says {'0' * 40}; if the sdists of track 1.2.0 were "
        "changed on purpose, set base_commit in its track.toml\n"
    )
    assert not project.tree(TRACK, "sdist").exists()


def test_a_wrong_pin_leaves_the_base_of_a_tree_that_is_there(project):
    tree = make_tree(project)
    good = tree.base
    edit_track(project, good, "0" * 40)
    with pytest.raises(LaunchguardError, match="the sources give base commit"):
        make_tree(project)
    assert tree.base == good
    assert tree.git.resolve(INCOMING_REF) is None


def test_a_damaged_sdist_leaves_no_tree(project):
    replace_sdist(project, "core", b"no archive")
    ended = invoke("fetch", project=project)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith(f"error: {sdist_name('core')} is not a whole .tar.gz archive: ")
    assert ended.err.count("\n") == 1
    assert not project.tree(TRACK, "sdist").exists()
