from __future__ import annotations

import pytest
from factories import EXECUTOR, SCHEDULER, Change, add_series, add_track, make_tree, numbered
from series_factories import (
    NEW,
    NEXT,
    ONE,
    SLUGS,
    TWO,
    add_next,
    applied_tree,
    edit_patch,
    everything,
    in_core,
    in_provider,
    make_upstream,
    outcomes,
    series_bytes,
)

from launchguard.apply import apply
from launchguard.errors import LaunchguardError
from launchguard.fetch import fetch
from launchguard.rebase import Carried, rebase
from launchguard.track import load_track
from launchguard.upstreamed import Evidence


def carried(rebased):
    return {patch.slug: patch.outcome for patch in rebased.patches}


def evidence(rebased, slug):
    (patch,) = [patch for patch in rebased.patches if patch.slug == slug]
    return [one.evidence for one in patch.evidence]


def conflicts(rebased):
    return {patch.slug: patch.conflicts for patch in rebased.patches if patch.conflicts}


class TestOutcomes:
    def test_clean(self, three):
        rebased = rebase(three, applied_tree(three), add_next(three))
        assert carried(rebased) == dict.fromkeys(SLUGS, Carried.CLEAN)
        assert (rebased.track, rebased.onto, rebased.needs_work, rebased.written) == ("1.2.0", NEXT, False, ())
        assert all(patch.evidence == () for patch in rebased.patches)

    def test_clean_with_offsets_that_the_trial_tells(self, three):
        onto = add_next(three, core=in_core(_20="a = 20\nb = 20"))
        rebased = rebase(three, applied_tree(three), onto)
        assert carried(rebased) == dict.fromkeys(SLUGS, Carried.CLEAN)
        assert outcomes([patch.trial for patch in rebased.patches])["three", SCHEDULER] == "offset"

    def test_merged_where_only_the_lines_around_it_changed(self, three):
        rebased = rebase(three, applied_tree(three), add_next(three, core=in_core(_1="first = 1")))
        assert carried(rebased) == {"one": Carried.MERGED, "two": Carried.CLEAN, "three": Carried.CLEAN}
        assert rebased.needs_work
        assert outcomes([rebased.patches[0].trial]) == {("one", SCHEDULER): "conflict"}

    def test_merged_on_a_file_that_only_an_earlier_patch_made(self, project):
        """The merge starts from the file as `early` left it, which no base has, nor a tree without the series."""
        early = Change("early", {SCHEDULER: numbered("line", _12="early = 12")})
        late = Change("late", {SCHEDULER: numbered("line", _12="early = 12", _30="late = 30")})
        add_series(project, early, late)
        onto = add_next(project, core=in_core(_28="x = 28"))
        rebased = rebase(project, make_tree(project), onto, write=True)
        assert carried(rebased) == {"early": Carried.CLEAN, "late": Carried.MERGED}
        assert not apply(project, onto).failed
        wanted = numbered("line", _12="early = 12", _28="x = 28", _30="late = 30")
        assert (onto.git.folder / SCHEDULER).read_text() == wanted

    def test_merged_after_a_merged_one(self, three):
        onto = add_next(three, core=in_core(_1="first = 1", _28="x = 28"))
        rebased = rebase(three, applied_tree(three), onto, write=True)
        assert carried(rebased) == {"one": Carried.MERGED, "two": Carried.CLEAN, "three": Carried.MERGED}
        assert not apply(three, onto).failed
        wanted = numbered("line", _1="first = 1", _3='line_3 = "one"', _28="x = 28", _30='line_30 = "three"')
        assert (onto.git.folder / SCHEDULER).read_text() == wanted

    def test_merged_into_a_file_that_a_merge_has_to_read_whole(self, project):
        """Several files at once in a work tree that holds none of them."""
        files = {SCHEDULER: numbered("line", _3="x = 3"), EXECUTOR: numbered("step", _3="y = 3"), NEW: "z = 3\n"}
        add_series(project, Change("one", files), Change("gone", {"providers/cncf/kubernetes/provider.yaml": None}))
        onto = add_next(project, core=in_core(_1="a = 1"), provider=in_provider(_5="b = 5"))
        rebased = rebase(project, applied_tree(project), onto, write=True)
        assert carried(rebased) == {"one": Carried.MERGED, "gone": Carried.CLEAN}
        apply(project, onto)
        assert (onto.git.folder / SCHEDULER).read_text() == numbered("line", _1="a = 1", _3="x = 3")
        assert (onto.git.folder / EXECUTOR).read_text() == numbered("step", _5="b = 5", _3="y = 3")
        assert (onto.git.folder / NEW).read_text() == "z = 3\n"
        assert not (onto.git.folder / "providers/cncf/kubernetes/provider.yaml").exists()

    def test_merged_into_a_renamed_file(self, three):
        moved = EXECUTOR.removeprefix("providers/cncf/kubernetes/").replace("executor.py", "new_name.py")
        provider = {EXECUTOR.removeprefix("providers/cncf/kubernetes/"): None, moved: numbered("step")}
        rebased = rebase(three, applied_tree(three), add_next(three, provider=provider))
        assert carried(rebased)["two"] is Carried.MERGED
        assert outcomes([rebased.patches[1].trial]) == {("two", EXECUTOR): "missing file"}

    def test_needs_work_names_the_conflicts_and_goes_on(self, three):
        rebased = rebase(three, applied_tree(three), add_next(three, core=in_core(_3="other = 3")))
        assert carried(rebased) == {"one": Carried.NEEDS_WORK, "two": Carried.CLEAN, "three": Carried.CLEAN}
        assert conflicts(rebased) == {"one": (SCHEDULER,)}
        assert rebased.needs_work

    def test_needs_work_where_the_file_is_gone(self, three):
        provider = {EXECUTOR.removeprefix("providers/cncf/kubernetes/"): None}
        rebased = rebase(three, applied_tree(three), add_next(three, provider=provider))
        assert carried(rebased) == {"one": Carried.CLEAN, "two": Carried.NEEDS_WORK, "three": Carried.CLEAN}

    def test_several_conflicts_one_after_the_other_do_not_disturb_each_other(self, three):
        add_series(
            three,
            Change("four", {SCHEDULER: numbered("line", _3='line_3 = "one"', _12="x = 12", _30='line_30 = "three"')}),
        )
        onto = add_next(three, core=in_core(_3="a = 3", _30="b = 30"), provider=in_provider(_5="c = 5"))
        rebased = rebase(three, applied_tree(three), onto)
        work = Carried.NEEDS_WORK
        assert carried(rebased) == {"one": work, "two": work, "three": work, "four": Carried.CLEAN}
        assert conflicts(rebased)["two"] == (EXECUTOR,)
        assert conflicts(rebased)["three"] == (SCHEDULER,)


class TestAlreadyUpstream:
    def test_the_new_base_holds_the_change(self, three):
        rebased = rebase(three, applied_tree(three), add_next(three, core=in_core(_3='line_3 = "one"')))
        assert carried(rebased) == {"one": Carried.UPSTREAM, "two": Carried.CLEAN, "three": Carried.CLEAN}
        assert evidence(rebased, "one") == [Evidence.REVERSE_APPLIES]

    def test_the_new_base_holds_the_change_among_others(self, three):
        onto = add_next(three, core=in_core(_3='line_3 = "one"', _1="first = 1"))
        rebased = rebase(three, applied_tree(three), onto)
        assert carried(rebased)["one"] is Carried.UPSTREAM
        assert evidence(rebased, "one") == [Evidence.NOTHING_LEFT]

    def test_half_of_it_is_not_upstream(self, three):
        onto = add_next(three, core={"src/airflow/jobs/launch.py": "launch = 1\n"})
        assert carried(rebase(three, applied_tree(three), onto))["three"] is Carried.NEEDS_WORK


class TestNothingIsDropped:
    def test_without_write_nothing_changes(self, three):
        tree, onto = applied_tree(three), add_next(three, core=in_core(_3="other = 3"))
        folder, target = three.track_folder("1.2.0"), three.track_folder(NEXT)
        before = everything(tree.git), everything(onto.git), series_bytes(folder), series_bytes(target)
        rebase(three, tree, onto)
        assert (everything(tree.git), everything(onto.git), series_bytes(folder), series_bytes(target)) == before
        assert sorted(path.name for path in onto.git.folder.parent.iterdir()) == ["1.2.0", NEXT]

    def test_write_carries_every_patch_and_comment(self, three):
        folder, target = three.track_folder("1.2.0"), three.track_folder(NEXT)
        (folder / "series").write_text("# first\none\n# second\ntwo\nthree\n")
        onto = add_next(three, core=in_core(_3="other = 3"), provider=in_provider(_5='step_5 = "two"'))
        rebased = rebase(three, applied_tree(three), onto, write=True)
        assert carried(rebased) == {"one": Carried.NEEDS_WORK, "two": Carried.UPSTREAM, "three": Carried.CLEAN}
        assert rebased.written == ("one.patch", "two.patch", "three.patch", "series")
        old, new = series_bytes(folder), series_bytes(target)
        assert new["series"] == old["series"]
        assert (new["one.patch"], new["two.patch"]) == (old["one.patch"], old["two.patch"])
        assert new["three.patch"] != old["three.patch"]
        applied = apply(three, onto)
        assert [trial.slug for trial in applied.trials if not trial.applies] == ["one", "two"]
        (target / "series").write_text("three\n")
        assert not apply(three, onto).failed

    def test_write_over_a_series_is_refused(self, three):
        onto = add_next(three)
        add_series(three, TWO, track=NEXT)
        before = series_bytes(three.track_folder(NEXT))
        with pytest.raises(
            LaunchguardError, match=r"track 1\.3\.0 has a series of its own; empty its series file first"
        ):
            rebase(three, applied_tree(three), onto, write=True)
        assert series_bytes(three.track_folder(NEXT)) == before
        assert carried(rebase(three, applied_tree(three), onto))["one"] is Carried.CLEAN

    def test_write_into_a_series_of_comments_only(self, three):
        onto = add_next(three)
        (three.track_folder(NEXT) / "series").write_text("# nothing yet\n")
        rebase(three, applied_tree(three), onto, write=True)
        assert series_bytes(three.track_folder(NEXT)) == series_bytes(three.track_folder("1.2.0"))


class TestRefused:
    def test_onto_itself(self, three):
        """As when the newest track, which is the default one, is the new one."""
        tree = applied_tree(three)
        with pytest.raises(LaunchguardError, match=r"that is track 1\.2\.0 onto itself; name the one to carry"):
            rebase(three, tree, tree)

    def test_a_series_that_does_not_apply_to_its_own_base(self, three):
        edit_patch(three.track_folder("1.2.0") / "one.patch", " line_1 = 1\n", " line_0 = 0\n")
        with pytest.raises(LaunchguardError, match=r"one of track 1\.2\.0 do not apply to their own base"):
            rebase(three, make_tree(three), add_next(three))

    def test_a_series_without_slugs(self, three):
        edit_patch(three.track_folder("1.2.0") / "one.patch", "Launchguard-Slug: one\n", "")
        tree = applied_tree(three)
        with pytest.raises(LaunchguardError, match="no Launchguard-Slug trailer"):
            rebase(three, tree, add_next(three))


def test_an_empty_series(project):
    rebased = rebase(project, make_tree(project), add_next(project), write=True)
    assert (rebased.patches, rebased.needs_work) == ((), False)


# --- with upstream's history


def git_tree(project, url, track="1.2.0"):
    return fetch(project, load_track(project, track), source="git", url=url)


def rebased_with_history(project, tmp_path, *changes):
    url = make_upstream(tmp_path / "upstream", *changes)
    add_track(project, NEXT)
    return rebase(project, git_tree(project, url), git_tree(project, url, NEXT))


class TestWithHistory:
    def test_an_untouched_series_is_clean(self, three, tmp_path):
        rebased = rebased_with_history(three, tmp_path, ("Other work", {"README.md": "Airflow\n\nMore\n"}))
        assert carried(rebased) == dict.fromkeys(SLUGS, Carried.CLEAN)

    def test_the_same_change_reworked_later_is_found_by_patch_id(self, three, tmp_path):
        rebased = rebased_with_history(
            three,
            tmp_path,
            ("Hold launches (#123)", ONE.files),
            ("Rework it (#124)", {SCHEDULER: numbered("line", _3="reworked = 3")}),
        )
        assert carried(rebased)["one"] is Carried.UPSTREAM
        (found,) = rebased.patches[0].evidence
        assert found.evidence is Evidence.PATCH_ID
        assert len(found.commit) == 40

    def test_the_same_change_still_there_is_found_by_both(self, three, tmp_path):
        rebased = rebased_with_history(three, tmp_path, ("Hold launches (#123)", ONE.files))
        assert evidence(rebased, "one") == [Evidence.REVERSE_APPLIES, Evidence.PATCH_ID]

    @pytest.mark.parametrize("subject", ["Make one hold", "Make one hold (#69999)"])
    def test_another_change_of_the_same_subject_is_found_by_it(self, three, tmp_path, subject):
        rebased = rebased_with_history(
            three, tmp_path, (subject, {SCHEDULER: numbered("line", _3="x = 3", _4="y = 4")})
        )
        assert carried(rebased)["one"] is Carried.UPSTREAM
        assert evidence(rebased, "one") == [Evidence.SUBJECT]

    @pytest.mark.parametrize("subject", ["Make one hold again", "make one hold", "Make one hold #69999", "Make one"])
    def test_a_like_subject_is_none(self, three, tmp_path, subject):
        rebased = rebased_with_history(three, tmp_path, (subject, {SCHEDULER: numbered("line", _20="x = 20")}))
        assert carried(rebased)["one"] is Carried.CLEAN

    def test_the_subject_on_other_files_is_none(self, three, tmp_path):
        rebased = rebased_with_history(three, tmp_path, ("Make one hold", {"README.md": "x\n"}))
        assert carried(rebased)["one"] is Carried.CLEAN

    def test_a_three_way_merge(self, three, tmp_path):
        rebased = rebased_with_history(
            three, tmp_path, ("Other", {SCHEDULER: numbered("line", _1="x = 1", _28="y = 28")})
        )
        assert carried(rebased) == {"one": Carried.MERGED, "two": Carried.CLEAN, "three": Carried.MERGED}

    def test_without_a_network_what_is_there_is_enough(self, three, tmp_path):
        url = make_upstream(tmp_path / "upstream", ("Hold launches", ONE.files))
        add_track(three, NEXT)
        tree, onto = git_tree(three, url), git_tree(three, url, NEXT)
        (tmp_path / "upstream").rename(tmp_path / "away")
        rebased = rebase(three, tree, onto)
        assert carried(rebased)["one"] is Carried.UPSTREAM
