from __future__ import annotations

import pytest
from factories import EXECUTOR, SCHEDULER, Change, add_series, make_tree, numbered
from series_factories import NEW, ONE, SLUGS, TWO, add_three, change_base, edit_patch, everything, outcomes

from launchguard.trial import Outcome, failures, touched_paths, try_series


def trials_of(project, *slugs):
    tree = make_tree(project)
    return try_series(tree.git, tree.base, project.track_folder("1.2.0"), slugs)


def scheduler(**changed):
    return {"src/airflow/jobs/scheduler.py": numbered("line", **changed)}


def executor(**changed):
    return {"src/airflow/providers/cncf/kubernetes/executor.py": numbered("step", **changed)}


def test_a_clean_series(three):
    trials = trials_of(three, *SLUGS)
    assert outcomes(trials) == {
        ("one", SCHEDULER): "clean",
        ("two", EXECUTOR): "clean",
        ("three", SCHEDULER): "clean",
        ("three", NEW): "clean",
    }
    assert failures(trials) == []
    assert all(trial.applies for trial in trials)


def test_nothing_to_try(project):
    assert trials_of(project) == []


def test_a_trial_leaves_the_tree_alone(project):
    add_three(project)
    tree = make_tree(project)
    before = everything(tree.git)
    try_series(tree.git, tree.base, project.track_folder("1.2.0"), SLUGS)
    assert everything(tree.git) == before


def test_offsets_tell_the_lines_of_every_hunk(project):
    add_series(project, Change("one", {SCHEDULER: numbered("line", _10="x = 1", _30="y = 1")}))
    change_base(
        project, core={"src/airflow/jobs/scheduler.py": "a = 1\nb = 1\n" + numbered("line", _19="", _20="", _21="")}
    )
    (trial,) = trials_of(project, "one")
    assert outcomes([trial]) == {("one", SCHEDULER): "offset"}
    assert trial.files[0].detail == "hunks moved by +2, -1 lines"
    assert trial.applies


def test_offsets_are_told_of_the_right_file_whatever_its_name(project):
    odd, last = 'providers/cncf/kubernetes/odd "ü" name.py', "task-sdk/z.py"
    start, changed = numbered("odd"), numbered("odd", _30="x")
    add_series(project, Change("base", {odd: start, last: start}), Change("one", {odd: changed, last: changed}))
    path = project.track_folder("1.2.0") / "base.patch"
    first, second, third = path.read_bytes().split(b"@@ -0,0 +1,40 @@\n")
    path.write_bytes(first + b"@@ -0,0 +1,42 @@\n+a\n+b\n" + second + b"@@ -0,0 +1,41 @@\n+a\n" + third)
    base, one = trials_of(project, "base", "one")
    assert outcomes([base]) == {("base", odd): "clean", ("base", last): "clean"}
    assert outcomes([one]) == {("one", odd): "offset", ("one", last): "offset"}
    assert [file.detail for file in one.files] == ["hunks moved by +2 lines", "hunks moved by +1 lines"]


# One line of context differs: patch(1) takes it with fuzz, git does not.
def test_fuzz_is_a_conflict(project):
    add_series(project, ONE)
    change_base(project, core=scheduler(_1="import os"))
    (trial,) = trials_of(project, "one")
    assert outcomes([trial]) == {("one", SCHEDULER): "conflict"}
    assert trial.files[0].detail == f"patch failed: {SCHEDULER}:1"


def test_other_white_space_is_a_conflict_whatever_the_repository_says(project):
    add_series(project, ONE)
    change_base(project, core=scheduler(_1="line_1  =  1"))
    tree = make_tree(project)
    tree.git.run("config", "apply.ignoreWhitespace", "change")
    (trial,) = try_series(tree.git, tree.base, project.track_folder("1.2.0"), ["one"])
    assert outcomes([trial]) == {("one", SCHEDULER): "conflict"}


def test_every_outcome_in_one_report_and_what_follows_what(project):
    extra = "task-sdk/tests/test_sdk.py"
    add_series(
        project,
        ONE,
        TWO,
        Change("gone", {"providers/cncf/kubernetes/provider.yaml": "name: k8s\n", extra: "def test_sdk(): ...\n"}),
        Change("again", {EXECUTOR: numbered("step", _5='step_5 = "two"', _38='step_38 = "again"')}),
        Change("more", {SCHEDULER: numbered("line", _3='line_3 = "more"')}),
        Change("broken", {SCHEDULER: numbered("line", _3='line_3 = "broken"')}),
    )
    edit_patch(project.track_folder("1.2.0") / "broken.patch", "\n+line_3", "\nline_3")
    change_base(
        project,
        core=scheduler(_2="import os"),
        provider={**executor(_5='step_5 = "two"', _30="", _31="", _32=""), "provider.yaml": None},
    )
    trials = trials_of(project, "one", "two", "gone", "again", "more", "broken")
    assert outcomes(trials) == {
        ("one", SCHEDULER): "conflict",
        ("two", EXECUTOR): "already applied",
        ("gone", "providers/cncf/kubernetes/provider.yaml"): "missing file",
        ("gone", extra): "clean",
        ("again", EXECUTOR): "offset",
        ("more", SCHEDULER): "conflict",
        ("broken", ""): "corrupt",
    }
    details = {(trial.slug, file.path): file for trial in trials for file in trial.files}
    assert details["more", SCHEDULER].follows == "one"
    assert details["one", SCHEDULER].follows is None
    assert details["gone", "providers/cncf/kubernetes/provider.yaml"].detail == (
        "providers/cncf/kubernetes/provider.yaml: does not exist in index"
    )
    assert "corrupt patch at line" in details["broken", ""].detail
    assert details["again", EXECUTOR].detail == "hunks moved by -3 lines"
    assert [trial.slug for trial in failures(trials)] == ["one", "two", "gone", "more", "broken"]
    assert outcomes(trials)["two", EXECUTOR] == "already applied"


def test_a_file_that_a_failed_patch_would_have_made_is_missing_and_says_after_whom(project):
    add_series(project, Change("maker", {NEW: "a = 1\n"}), Change("user", {NEW: "a = 2\n"}))
    change_base(project, core={"src/airflow/jobs/launch.py": "other = 1\n"})
    trials = trials_of(project, "maker", "user")
    assert outcomes(trials) == {("maker", NEW): "conflict", ("user", NEW): "conflict"}
    assert trials[1].files[0].follows == "maker"
    edit_patch(project.track_folder("1.2.0") / "maker.patch", "+++ b/", "+++ c/")
    trials = trials_of(project, "user")
    assert trials[0].files[0].follows is None


def test_a_patch_that_fails_on_one_file_still_goes_on_its_others(project):
    add_series(
        project,
        Change("both", {SCHEDULER: numbered("line", _3="x = 1"), EXECUTOR: numbered("step", _5="y = 1")}),
        Change("next", {EXECUTOR: numbered("step", _5="y = 2")}),
    )
    change_base(project, core=scheduler(_2="import os"))
    assert outcomes(trials_of(project, "both", "next")) == {
        ("both", SCHEDULER): "conflict",
        ("both", EXECUTOR): "clean",
        ("next", EXECUTOR): "clean",
    }


CUT_OFF = {
    "empty": lambda content: b"",
    "a message only": lambda content: content.partition(b"diff --git")[0],
    "a hunk cut short": lambda content: content[:-30],
    "no mail around the diff": lambda content: b"diff --git" + content.partition(b"diff --git")[2],
    "not text": lambda content: bytes(range(256)) * 4,
}


@pytest.mark.parametrize("how", CUT_OFF)
def test_what_is_corrupt(three, how):
    folder = three.track_folder("1.2.0")
    path = folder / "two.patch"
    path.write_bytes(CUT_OFF[how](path.read_bytes()))
    trials = trials_of(three, *SLUGS)
    assert outcomes(trials)["two", ""] == "corrupt"
    assert trials[1].files[0].detail
    assert [trial.slug for trial in failures(trials)] == ["two"]


def test_a_damaged_binary_patch_is_corrupt(project):
    add_series(project, Change("one", {"providers/cncf/kubernetes/logo.png": bytes(range(256)) * 4}))
    path = project.track_folder("1.2.0") / "one.patch"
    lines = path.read_bytes().splitlines(keepends=True)
    spot = next(n for n, line in enumerate(lines) if line.startswith(b"literal")) + 1
    lines[spot] = lines[spot][:-5] + b"\n"
    path.write_bytes(b"".join(lines))
    assert outcomes(trials_of(project, "one"))["one", ""] == "corrupt"


@pytest.mark.parametrize(
    "name", ["a b.py", "ünï.py", "a[1].py", "star*.py", "qu?.py", "back\\slash.py", 'quo"te.py', "tab\t.py"]
)
def test_odd_file_names_are_tried_one_by_one(project, name):
    odd, like = f"task-sdk/{name}", "task-sdk/starfish.py"
    add_series(project, Change("one", {odd: "a\n", like: "b\n", SCHEDULER: numbered("line", _3="x")}))
    change_base(project, core=scheduler(_3="y"), task_sdk={"starfish.py": "else\n"} if name != "starfish.py" else {})
    assert outcomes(trials_of(project, "one")) == {
        ("one", odd): "clean",
        ("one", like): "conflict",
        ("one", SCHEDULER): "conflict",
    }


def test_deletions_modes_and_empty_files_already_applied(project):
    new = "task-sdk/empty.py"
    add_series(project, Change("one", {"providers/cncf/kubernetes/provider.yaml": None, new: ""}))
    change_base(project, provider={"provider.yaml": None}, task_sdk={"empty.py": ""})
    (trial,) = trials_of(project, "one")
    assert outcomes([trial]) == {
        ("one", "providers/cncf/kubernetes/provider.yaml"): "already applied",
        ("one", new): "already applied",
    }


def test_touched_paths(project):
    folder = add_three(project)
    tree = make_tree(project)
    assert touched_paths(tree.git, folder / "three.patch") == [NEW, SCHEDULER]
    (folder / "three.patch").write_text("nothing")
    assert touched_paths(tree.git, folder / "three.patch") is None


def test_the_outcomes_that_apply():
    assert [outcome for outcome in Outcome if outcome.applies] == [Outcome.CLEAN, Outcome.OFFSET]
