from __future__ import annotations

import json

import pytest
from factories import SCHEDULER, Change, add_series, edit_track, invoke, make_tree, message_for, numbered
from series_factories import applied_tree, change_base, edit_patch, everything, series_bytes
from series_factories import check_failing as failing
from series_factories import check_faults as faults

from launchguard.check import CHECKS, check

NAMES = (
    "series file and patch files",
    "patch headers",
    "applies without fuzz",
    "import and export return every byte",
    "patched files keep Airflow's rules",
    "no type errors that the base has not",
    "generated models are in step",
)


@pytest.fixture
def folder(three):
    return three.track_folder("1.2.0")


def test_a_good_series_passes_every_check(three):
    assert faults(three) == {name: [] for name in NAMES}
    assert len(CHECKS) == len(NAMES)


def test_an_empty_series_passes(project):
    assert failing(project) == {}


def test_checking_changes_nothing(three):
    tree = applied_tree(three)
    (tree.git.folder / SCHEDULER).write_text("work\n")
    before = everything(tree.git), series_bytes(three.track_folder("1.2.0"))
    check(three, tree)
    assert (everything(tree.git), series_bytes(three.track_folder("1.2.0"))) == before


def test_the_series_file(three, folder):
    (folder / "series").write_text("one\ntwo\nthree\nabsent\n")
    (folder / "stray.patch").write_bytes(b"")
    assert faults(three) == {
        NAMES[0]: ["series: absent is listed, but absent.patch is missing", "stray.patch is not listed in series"]
    }


class TestHeaders:
    def test_all_faults_of_all_patches_at_once(self, three, folder):
        edit_patch(folder / "one.patch", "Upstream-Status: pending\n", "")
        edit_patch(folder / "one.patch", "Rules: R1", "Rules: none")
        edit_patch(folder / "two.patch", "Launchguard-Slug: two", "Launchguard-Slug: tow")
        (folder / "three.patch").write_bytes(b"From me\n\nnothing\n")
        found = faults(three)
        assert list(found) == list(NAMES[:2])
        assert [fault.split(" (")[0].split("; wanted")[0] for fault in found[NAMES[1]]] == [
            "one.patch: no Upstream-Status trailer",
            "one.patch: Rules is 'none'",
            "two.patch: Launchguard-Slug is 'tow'; the file's name says 'two'",
            "three.patch is not a patch as git format-patch writes it; write it with refresh",
        ]

    def test_a_merged_patch_that_is_still_there(self, three, folder):
        edit_patch(folder / "two.patch", "Status: pending", f"Status: merged 3.4.0 {'a' * 40}")
        assert failing(three) == {
            NAMES[1]: ["two.patch: merged upstream, yet still in the series; drop it, or correct its Upstream-Status"]
        }

    @pytest.mark.parametrize("line", ["---", "diff -u a b", "Index: file"])
    def test_a_message_that_git_cuts(self, three, folder, line):
        edit_patch(folder / "two.patch", "It did not.", f"It did not:\n{line}\nmore")
        (fault,) = failing(three)[NAMES[1]]
        assert fault == f"two.patch: the message has the line {line!r}, where git cuts it; indent or reword that line"


class TestApplies:
    def test_every_file_that_does_not_go(self, three, folder):
        change_base(three, core={"src/airflow/jobs/scheduler.py": numbered("line", _2="import os")})
        edit_patch(folder / "two.patch", "executor.py b/", "gone.py b/")
        edit_patch(folder / "two.patch", "kubernetes/executor.py\nindex", "kubernetes/gone.py\nindex")
        edit_patch(
            folder / "two.patch",
            "--- a/providers/cncf/kubernetes/src/airflow/providers/cncf/kubernetes/executor",
            "--- a/x",
        )
        found = faults(three)
        assert list(found) == list(NAMES[:3])
        assert found[NAMES[2]][0] == f"one: {SCHEDULER}: conflict (patch failed: {SCHEDULER}:1)"
        assert found[NAMES[2]][1].startswith("two: ")

    def test_an_offset_is_only_a_warning_here_but_no_byte_wise_return(self, three, folder):
        edit_patch(folder / "three.patch", "@@ -27,7 +27,7 @@", "@@ -25,7 +25,7 @@")
        done = {one.name: one for one in check(three, make_tree(three))}
        assert done[NAMES[2]].faults == ()
        assert done[NAMES[2]].warnings == (
            f"three: {SCHEDULER}: offset (hunks moved by +2 lines); refresh writes it straight",
        )
        (fault,) = done[NAMES[3]].faults
        assert fault.startswith("three.patch: line ")
        assert (
            r"'@@ -25,7 +25,7 @@ line_26 = 26\n', an export gives '@@ -27,7 +27,7 @@ line_26 = 26\n'; run refresh"
            in fault
        )
        assert done[NAMES[4]].faults == ()

    def test_fuzz(self, three, folder):
        edit_patch(folder / "one.patch", " line_1 = 1\n", " line_one = 1\n")
        assert failing(three)[NAMES[2]] == [f"one: {SCHEDULER}: conflict (patch failed: {SCHEDULER}:1)"]


class TestRoundTrip:
    @pytest.mark.parametrize(
        ("old", "new", "told"),
        [
            ("\nindex ", "\nindex f", "line 14 is 'index f"),
            ("It did not.\n", "It did not.\n\n\n", r"line 8 is '\n', an export gives 'Launchguard-Slug: one\n'"),
            ("Subject: Make", "Subject:  Make", "line 4 is 'Subject:  Make one hold"),
            ("00:00:00 +0000\nSubject", "00:00:00 GMT\nSubject", "line 3 is 'Date: Thu, 1 Jan 2026 00:00:00 GMT"),
            (f"From {'0' * 40}", f"From {'1' * 40}", "line 1 is 'From 11111"),
        ],
    )
    def test_the_first_line_that_differs_is_named(self, three, folder, old, new, told):
        edit_patch(folder / "one.patch", old, new)
        (fault,) = failing(three)[NAMES[3]]
        assert fault.startswith(f"one.patch: {told}")
        assert fault.endswith("; run refresh")

    def test_a_refresh_mends_it(self, three, folder):
        edit_patch(folder / "one.patch", "Subject: Make", "Subject:  Make")
        assert invoke("apply", project=three).code == 0
        assert invoke("refresh", project=three).code == 0
        assert failing(three) == {}


class TestCommand:
    def test_good(self, three):
        ended = invoke("check", project=three)
        assert ended.code == 0
        assert [line for line in ended.out.splitlines() if line] == [f"ok  {name}" for name in NAMES]

    def test_faults_are_listed_under_their_check(self, three, folder):
        edit_patch(folder / "two.patch", "Rules: R1", "Rules: none")
        ended = invoke("check", project=three)
        assert ended.code == 1
        assert ended.out.splitlines() == [
            "ok  series file and patch files",
            "FAIL  patch headers",
            "      two.patch: Rules is 'none'; wanted: R8 R9 R10",
        ]

    def test_json(self, three, folder):
        edit_patch(folder / "three.patch", "@@ -27,7 +27,7 @@", "@@ -25,7 +25,7 @@")
        ended = invoke("check", "--json", project=three)
        told = json.loads(ended.out)
        assert (ended.code, told["good"]) == (1, False)
        assert [one["name"] for one in told["checks"]] == list(NAMES)
        assert [len(one["faults"]) for one in told["checks"]] == [0, 0, 0, 1, 0, 0, 0]
        assert len(told["checks"][2]["warnings"]) == 1

    def test_a_warning_alone_is_no_problem(self, three, folder):
        from launchguard.check import Checked  # noqa: PLC0415
        from launchguard.views import show_checked  # noqa: PLC0415

        assert show_checked([Checked("a", (), ("moved",))], as_json=False) == 0

    def test_an_unknown_lane_for_the_prefixes(self, three):
        ended = invoke("check", "--prefixes", "--lane", "odd", project=three)
        assert ended.code == 1
        assert "track 1.2.0 has no lane 'odd'; it has head" in ended.err


def test_the_messages_of_the_factory_pass(project):
    add_series(project, Change("only", {SCHEDULER: numbered("line", _3="x = 1")}, message_for("only", Rules="R8 P2")))
    edit_track(project, 'suites = ["series"]', "suites = []")
    assert failing(project) == {}
