"""The commands that work on the series, as a person or a script sees them: text, JSON, exit codes."""

from __future__ import annotations

import json

import pytest
from factories import (
    EXECUTOR,
    SCHEDULER,
    Change,
    add_series,
    commit,
    invoke,
    launchguard,
    make_tree,
    message_for,
    numbered,
)
from series_factories import (
    NEW,
    ONE,
    SLUGS,
    TWO,
    add_next,
    add_three,
    applied_tree,
    change_base,
    edit_patch,
    everything,
    in_core,
    in_provider,
    series_bytes,
    subjects,
)

PROVIDER_YAML = "providers/cncf/kubernetes/provider.yaml"
MINE = numbered("line", _3='line_3 = "one"', _30='line_30 = "three"', _20="mine = 1")


@pytest.fixture
def folder(three):
    return three.track_folder("1.2.0")


@pytest.fixture
def failing(project):
    """A project whose series meets every outcome but a clean one on some file."""
    add_series(
        project,
        ONE,
        TWO,
        Change("gone", {PROVIDER_YAML: "name: k8s\n", "task-sdk/tests/test_sdk.py": "def test_sdk(): ...\n"}),
        Change("moved", {EXECUTOR: numbered("step", _5='step_5 = "two"', _38="x = 38")}),
        Change("more", {SCHEDULER: numbered("line", _3="y = 3")}),
        Change("broken", {SCHEDULER: numbered("line", _3="z = 3")}),
    )
    edit_patch(project.track_folder("1.2.0") / "broken.patch", "\n+z = 3", "\nz = 3")
    provider = in_provider(_5='step_5 = "two"', _30="", _31="") | {"provider.yaml": None}
    change_base(project, core=in_core(_2="import os"), provider=provider)
    return project


class TestApply:
    def test_text(self, project):
        add_three(project)
        ended = invoke("apply", project=project)
        tree = make_tree(project)
        head = tree.git.resolve("HEAD")[:12]
        assert (ended.code, ended.err) == (0, "")
        assert ended.out == f"3 patches applied in {tree.git.folder} ({head})\n"
        again = invoke("apply", project=project)
        assert again.out == f"3 patches already applied in {tree.git.folder} ({head})\n"

    def test_json(self, project):
        add_three(project)
        ended = invoke("apply", "--json", project=project)
        told = json.loads(ended.out)
        assert (ended.code, told["failed"]) == (0, False)
        result = told["result"]
        assert result["slugs"] == list(SLUGS)
        assert (result["track"], result["unchanged"], result["backup"]) == ("1.2.0", False, None)
        assert result["head"] == make_tree(project).git.resolve("HEAD")
        assert result["trials"][2] == {
            "slug": "three",
            "files": [
                {"path": NEW, "outcome": "clean", "detail": "", "follows": None},
                {"path": SCHEDULER, "outcome": "clean", "detail": "", "follows": None},
            ],
        }
        assert json.loads(invoke("apply", "--json", project=project).out)["result"]["unchanged"] is True

    def test_until(self, three):
        assert invoke("apply", "--until", "two", project=three).out.startswith("2 patches applied in ")
        ended = invoke("apply", "--until", "nine", project=three)
        assert (ended.code, ended.out) == (1, "")
        assert ended.err == "error: the series has no patch 'nine'; it has: one, two, three\n"

    def test_every_failing_file_in_text(self, failing):
        ended = invoke("apply", project=failing)
        assert ended.code == 1
        assert ended.err == "the series does not apply; nothing was changed:\n"
        assert ended.out.splitlines() == [
            f"  one: {SCHEDULER}: conflict (patch failed: {SCHEDULER}:1)",
            f"  two: {EXECUTOR}: already applied (patch failed: {EXECUTOR}:2)",
            f"  gone: {PROVIDER_YAML}: missing file ({PROVIDER_YAML}: does not exist in index)",
            f"  more: {SCHEDULER}: conflict (patch failed: {SCHEDULER}:1; one failed on it before)",
            *ended.out.splitlines()[4:],
        ]
        (last,) = ended.out.splitlines()[4:]
        assert last.startswith("  broken: the patch: corrupt (corrupt patch at ")

    def test_every_file_in_json(self, failing):
        ended = invoke("apply", "--json", project=failing)
        told = json.loads(ended.out)
        assert (ended.code, ended.err, told["failed"]) == (1, "", True)
        files = {
            (trial["slug"], file["path"]): (file["outcome"], file["follows"])
            for trial in told["result"]["trials"]
            for file in trial["files"]
        }
        assert files == {
            ("one", SCHEDULER): ("conflict", None),
            ("two", EXECUTOR): ("already applied", None),
            ("gone", PROVIDER_YAML): ("missing file", None),
            ("gone", "task-sdk/tests/test_sdk.py"): ("clean", None),
            ("moved", EXECUTOR): ("offset", None),
            ("more", SCHEDULER): ("conflict", "one"),
            ("broken", ""): ("corrupt", None),
        }
        assert (told["result"]["head"], told["result"]["slugs"]) == ("", [])

    def test_offsets_are_warnings_with_the_lines(self, three, folder):
        edit_patch(folder / "three.patch", "@@ -27,7 +27,7 @@", "@@ -25,7 +25,7 @@")
        ended = invoke("apply", project=three)
        assert ended.code == 0
        assert ended.err == f"warning: three: {SCHEDULER}: hunks moved by +2 lines; refresh writes it straight\n"

    def test_unknown_work_is_refused_and_force_keeps_it(self, three):
        tree = applied_tree(three)
        (tree.git.folder / SCHEDULER).write_text(MINE)
        ended = invoke("apply", "--until", "one", project=three)
        assert ended.code == 1
        assert ended.err.startswith(
            f"error: {tree.git.folder} holds uncommitted changes; keep them with `launchguard refresh`"
        )
        assert len(ended.err.splitlines()) == 1
        forced = invoke("apply", "--until", "one", "--force", project=three)
        assert forced.code == 0
        (line,) = forced.err.splitlines()
        ref = line.removeprefix("what was discarded is kept at ")
        assert tree.git.run("show", f"{ref}:{SCHEDULER}").text == MINE

    def test_a_listed_patch_that_is_missing(self, three, folder):
        (folder / "two.patch").unlink()
        ended = invoke("apply", project=three)
        assert ended.code == 1
        assert ended.err == f"error: the series names two, but there is no two.patch in {folder}\n"

    def test_a_patch_name_with_brackets_is_printed_as_it_stands(self, project):
        add_series(project, Change("one", {"task-sdk/[red]x[/red].py": numbered("line")}))
        change_base(project, task_sdk={"[red]x[/red].py": "other\n"})
        assert "one: task-sdk/[red]x[/red].py: conflict" in invoke("apply", project=project).out

    def test_as_a_process(self, three):
        ended = launchguard("apply", "--until", "one", "--json", project=three)
        assert (ended.code, json.loads(ended.out)["result"]["slugs"]) == (0, ["one"])
        assert launchguard("apply", "--until", "nine", project=three).code == 1


class TestRefresh:
    def test_text(self, three):
        tree = applied_tree(three)
        tree.git.run("reset", "--quiet", "--hard", "HEAD~1")
        (tree.git.folder / EXECUTOR).write_text(numbered("step", _5="y = 5"))
        tree.git.run("commit", "--quiet", "--all", "--amend", "--no-edit")
        commit(tree.git, {SCHEDULER: MINE}, message_for("four"))
        ended = invoke("refresh", project=three)
        assert (ended.code, ended.err) == (0, "")
        assert ended.out.splitlines() == [
            "added four.patch",
            "changed two.patch",
            "removed three.patch",
            "1 patches unchanged",
        ]

    def test_json(self, three):
        tree = applied_tree(three)
        commit(tree.git, {SCHEDULER: MINE}, message_for("four"))
        told = json.loads(invoke("refresh", "--json", project=three).out)
        assert told == {"track": "1.2.0", "added": ["four"], "changed": [], "removed": [], "kept": list(SLUGS)}

    def test_a_refusal_is_told_on_stderr(self, three, folder):
        tree = applied_tree(three)
        before = series_bytes(folder)
        commit(tree.git, {SCHEDULER: MINE}, "Quick fix\n")
        ended = invoke("refresh", "--json", project=three)
        assert (ended.code, ended.out) == (1, "")
        assert ended.err.startswith(
            "error: commits that cannot be exported (git commit --amend, or rebase -i):\n  'Quick"
        )
        assert series_bytes(folder) == before


class TestEdit:
    def test_kept(self, three):
        applied_tree(three)
        ended = invoke("edit", "two", "-c", "echo x > task-sdk/x.txt", project=three)
        assert (ended.code, ended.out) == (0, "changed two.patch\n2 patches unchanged\n")

    def test_discarded(self, three):
        tree = applied_tree(three)
        ended = invoke("edit", "--command", "echo x > task-sdk/x.txt; exit 7", project=three)
        assert ended.code == 0
        ref = ended.out.strip().removeprefix("discarded; a copy is kept at ")
        assert tree.git.run("show", f"{ref}:task-sdk/x.txt").text == "x\n"
        assert invoke("edit", "-c", "false", project=three).out == "discarded\n"

    def test_a_conflict_ends_with_1_and_the_way_on(self, three):
        applied_tree(three)
        command = f"sed -i 's/^line_30 = 30$/line_30 = 0/' {SCHEDULER}"
        ended = invoke("edit", "two", "-c", command, project=three)
        assert ended.code == 1
        assert "git cherry-pick --continue), then `launchguard refresh`" in ended.err

    def test_an_unknown_patch(self, three):
        applied_tree(three)
        ended = invoke("edit", "nine", "-c", "true", project=three)
        assert (ended.code, ended.err) == (1, "error: the series has no patch 'nine'; it has: one, two, three\n")


class TestRebase:
    def test_text(self, three):
        applied_tree(three)
        add_next(three, core=in_core(_1="x = 1", _30="y = 30"), provider=in_provider(_5='step_5 = "two"'))
        ended = invoke("-t", "1.2.0", "rebase", "--onto", "1.3.0", project=three)
        assert ended.code == 1
        assert ended.out.splitlines() == [
            "one: merged by three-way",
            f"    one: {SCHEDULER}: conflict (patch failed: {SCHEDULER}:1)",
            "two: already upstream",
            "    the new base already holds its whole change",
            f"    two: {EXECUTOR}: already applied (patch failed: {EXECUTOR}:2)",
            "three: needs work",
            f"    conflicts in {SCHEDULER}",
            f"    three: {SCHEDULER}: conflict (patch failed: {SCHEDULER}:27; one failed on it before)",
        ]

    def test_clean_and_written(self, three, folder):
        applied_tree(three)
        add_next(three)
        ended = invoke("-t", "1.2.0", "rebase", "--onto", "1.3.0", "--write", project=three)
        assert ended.code == 0
        assert ended.out.splitlines() == [
            "one: clean",
            "two: clean",
            "three: clean",
            "wrote 4 files into track 1.3.0; nothing was dropped",
        ]
        assert series_bytes(three.track_folder("1.3.0")) == series_bytes(folder)

    def test_json(self, three):
        applied_tree(three)
        add_next(three, provider=in_provider(_5='step_5 = "two"'))
        ended = invoke("-t", "1.2.0", "rebase", "--onto", "1.3.0", "--json", project=three)
        told = json.loads(ended.out)
        assert (ended.code, told["track"], told["onto"], told["written"]) == (1, "1.2.0", "1.3.0", [])
        assert [patch["outcome"] for patch in told["patches"]] == ["clean", "already upstream", "clean"]
        assert told["patches"][1]["evidence"] == [
            {"evidence": "the new base already holds its whole change", "commit": None}
        ]
        assert told["patches"][1]["trial"]["files"][0]["outcome"] == "already applied"

    def test_an_unknown_track(self, three):
        ended = invoke("rebase", "--onto", "9.9", project=three)
        assert (ended.code, ended.out) == (1, "")
        assert "there is no track '9.9'; tracks here: 1.2.0" in ended.err

    def test_the_newest_track_is_not_carried_onto_itself(self, three):
        add_next(three)
        ended = invoke("rebase", "--onto", "1.3.0", project=three)
        assert (ended.code, ended.out) == (1, "")
        assert "launchguard --track TRACK rebase --onto" in ended.err

    def test_over_a_series_of_its_own(self, three):
        applied_tree(three)
        add_next(three)
        add_three(three, track="1.3.0")
        ended = invoke("--track", "1.2.0", "rebase", "--onto", "1.3.0", "--write", project=three)
        assert (ended.code, ended.out) == (1, "")
        assert ended.err == "error: track 1.3.0 has a series of its own; empty its series file first\n"


def test_a_track_of_its_own_for_each_command(three):
    tree = applied_tree(three)
    add_next(three)
    before = everything(tree.git)
    assert invoke("apply", project=three).out.startswith("0 patches ")
    assert invoke("--track", "1.2.0", "apply", "--until", "one", project=three).out.startswith("1 patches applied")
    assert everything(tree.git) != before
    assert len(subjects(tree)) == 1
