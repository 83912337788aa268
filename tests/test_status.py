from __future__ import annotations

import json

from factories import (
    EXECUTOR,
    SCHEDULER,
    TRACK,
    Change,
    add_series,
    invoke,
    make_tree,
    message_for,
    numbered,
    tree_of,
)

ONE = Change(
    "one",
    {EXECUTOR: numbered("step", _3="x = 1"), "new.txt": "new\n"},
    message_for("one", Rules="R1 R8", Upstream_Status="submitted https://github.com/apache/airflow/pull/1"),
)
TWO = Change("two", {SCHEDULER: numbered("line", _3="x = 1")})


def lines(project, *words: str) -> list[str]:
    ended = invoke("status", *words, project=project)
    assert (ended.code, ended.err) == (0, "")
    return ended.out.splitlines()


def as_json(project) -> dict:
    ended = invoke("status", "--json", project=project)
    assert (ended.code, ended.err) == (0, "")
    return json.loads(ended.out)


def test_versions_and_patches_are_shown(project):
    add_series(project, ONE, TWO)
    first, heading, *rows, last = lines(project)
    assert first.startswith(f"track {TRACK}: apache-airflow 1.2.0, apache-airflow-core 1.2.0, ")
    assert heading.split() == ["patch", "rules", "upstream", "files", "subject"]
    assert [" ".join(row.split()) for row in rows] == [
        "one R1 R8 submitted https://github.com/apache/airflow/pull/1 2 Make one hold",
        "two R1 pending 1 Make two hold",
    ]
    assert last == "no tree yet; `launchguard apply` makes it"


def test_nothing_is_made_by_looking(project):
    before = tree_of(project.root)
    lines(project)
    lines(project, "--source", "git")
    assert tree_of(project.root) == before


def test_how_the_tree_stands(project):
    add_series(project, ONE, TWO)
    folder = make_tree(project).git.folder
    assert lines(project)[-1] == f"{folder}: 0 of 2 patches applied"
    invoke("apply", "--until", "one", project=project)
    assert lines(project)[-1] == f"{folder}: 1 of 2 patches applied"
    invoke("apply", project=project)
    (folder / "mine.txt").write_text("mine")
    (folder / EXECUTOR).write_text("mine")
    assert lines(project)[-1] == f"{folder}: 2 of 2 patches applied, 2 uncommitted changes"
    (folder / ".git/rebase-apply").mkdir()
    assert lines(project)[-1].endswith(", unfinished: git am or rebase")


def test_an_interrupted_apply_is_told(project):
    add_series(project, ONE)
    tree = make_tree(project)
    (tree.git.folder / ".git/launchguard.json").write_text(json.dumps({"head": tree.base, "moving": "0" * 40}))
    assert lines(project)[-1].endswith(", unfinished: launchguard apply (interrupted; run it again)")


def test_json(project):
    add_series(project, ONE)
    folder = project.tree(TRACK, "sdist")
    told = as_json(project)
    assert (told["track"], told["lanes"]) == (TRACK, ["head"])
    assert told["versions"]["apache-airflow-core"] == "1.2.0"
    assert told["patches"] == [
        {
            "slug": "one",
            "subject": "Make one hold",
            "upstream": "submitted https://github.com/apache/airflow/pull/1",
            "issue": "https://github.com/apache/airflow/issues/69760",
            "rules": ["R1", "R8"],
            "files": 2,
        }
    ]
    assert told["tree"] == {"folder": str(folder), "exists": False, "applied": 0, "changes": 0, "operation": None}
    invoke("apply", project=project)
    assert as_json(project)["tree"]["applied"] == 1


def test_a_listed_patch_that_is_missing_is_one_line(project):
    (project.track_folder(TRACK) / "series").write_text("gone\n")
    ended = invoke("status", project=project)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("error: the series names gone, but there is no gone.patch in ")
    assert ended.err.count("\n") == 1
