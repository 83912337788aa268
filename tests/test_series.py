from __future__ import annotations

import pytest

from launchguard.errors import LaunchguardError
from launchguard.series import cut_series, parse_series, read_series, rewrite_series, series_faults

TEXT = """\
# launchguard's series
# first things first
one

# needs one
two  # a note
three
# the end
"""


def test_slugs_stand_in_order_without_comments_and_blank_lines():
    assert parse_series(TEXT) == ["one", "two", "three"]


def test_a_missing_file_is_an_empty_series(tmp_path):
    assert read_series(tmp_path) == []


@pytest.mark.parametrize(("until", "wanted"), [(None, ["a", "b", "c"]), ("a", ["a"]), ("c", ["a", "b", "c"])])
def test_cut(until, wanted):
    assert cut_series(["a", "b", "c"], until) == wanted


@pytest.mark.parametrize(("slugs", "told"), [(["a", "b"], "it has: a, b"), ([], "it has: none")])
def test_cut_at_an_unknown_patch_lists_the_known_ones(slugs, told):
    with pytest.raises(LaunchguardError, match=told):
        cut_series(slugs, "x")


class TestRewrite:
    def test_the_same_order_keeps_every_byte(self):
        assert rewrite_series(TEXT, ["one", "two", "three"]) == TEXT

    def test_comments_move_with_the_slug_below_them_and_the_last_ones_stay_last(self):
        assert rewrite_series(TEXT, ["two", "one", "three"]) == (
            "\n# needs one\ntwo  # a note\n# launchguard's series\n# first things first\none\nthree\n# the end\n"
        )

    def test_a_removed_slug_takes_its_comments_with_it(self):
        assert rewrite_series(TEXT, ["one", "three"]) == (
            "# launchguard's series\n# first things first\none\nthree\n# the end\n"
        )

    def test_a_new_slug_stands_where_its_commit_stands(self):
        assert rewrite_series("a\nb\n", ["a", "new", "b", "last"]) == "a\nnew\nb\nlast\n"

    def test_text_without_a_final_newline(self):
        assert rewrite_series("a\nb", ["a", "b", "c"]) == "a\nb\nc\n"


def test_all_faults_between_series_and_files_at_once(tmp_path):
    (tmp_path / "series").write_text("one\ntwo\nBad_Slug\ntwo\nabsent\n")
    for slug in ("one", "two", "Bad_Slug", "stray"):
        (tmp_path / f"{slug}.patch").write_bytes(b"")
    assert series_faults(tmp_path) == [
        "series: 'Bad_Slug' is no slug (lower-case words joined by hyphens)",
        "series: two is listed 2 times",
        "series: absent is listed, but absent.patch is missing",
        "stray.patch is not listed in series",
    ]


@pytest.mark.parametrize("slug", ["-a", "a-", "a--b", "A", "a_b", "a b", "é", "../a"])
def test_what_is_no_slug(tmp_path, slug):
    (tmp_path / "series").write_text(f"{slug}\n")
    assert f"{slug!r} is no slug" in series_faults(tmp_path)[0]


def test_a_good_series_has_no_faults(tmp_path):
    (tmp_path / "series").write_text("a\nb-2\n")
    (tmp_path / "a.patch").touch()
    (tmp_path / "b-2.patch").touch()
    assert series_faults(tmp_path) == []
