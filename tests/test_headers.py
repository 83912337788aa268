from __future__ import annotations

import pytest
from factories import message_for

from launchguard.headers import TRAILERS, header_faults, is_merged
from launchguard.patchfile import PatchFile

DIFF = b"diff --git a/f b/f\n"
COMMIT = "0123456789" * 4


def patch(message: str | None = None, **fields) -> PatchFile:
    body = (message_for("slug") if message is None else message).partition("\n\n")[2]
    values = {"slug": "slug", "author": "A <a@b>", "date": "", "subject": "Hold", "message": body, "diff": DIFF}
    return PatchFile(**(values | fields))


def faults(*arguments, **fields) -> list[str]:
    return list(header_faults(patch(*arguments, **fields)))


def test_a_good_header():
    assert faults() == []


KEYS = [trailer.key for trailer in TRAILERS]


@pytest.mark.parametrize("key", KEYS)
def test_each_trailer_missing(key):
    message = "".join(line for line in message_for("slug").splitlines(keepends=True) if not line.startswith(key))
    (fault,) = faults(message)
    assert fault.startswith(f"slug.patch: no {key} trailer (for example {key}: ")


@pytest.mark.parametrize("key", KEYS)
def test_each_trailer_twice(key):
    message = message_for("slug")
    line = next(line for line in message.splitlines() if line.startswith(key))
    assert faults(f"{message}{line}\n") == [f"slug.patch: {key} stands 2 times; keep one"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("Launchguard-Slug", "Not_A_Slug"),
        ("Upstream-Status", "queued"),
        ("Upstream-Status", "Pending"),
        ("Upstream-Status", "pending soon"),
        ("Upstream-Status", "submitted"),
        ("Upstream-Status", "submitted #123"),
        ("Upstream-Status", "submitted https://example.org/1 and more"),
        ("Upstream-Status", "merged"),
        ("Upstream-Status", "merged 3.4.0"),
        ("Upstream-Status", "merged 3.4.0 0123abc"),
        ("Upstream-Status", f"merged {COMMIT}"),
        ("Upstream-Status", f"merged 3.4.0 {COMMIT.replace('0', 'A')}"),
        ("Upstream-Status", "never"),
        ("Upstream-Issue", "69760"),
        ("Upstream-Issue", "see https://example.org"),
        ("Rules", "8"),
        ("Rules", "R8, R9"),
        ("Rules", "R8 and R9"),
        ("Rules", "Q1"),
    ],
)
def test_each_trailer_malformed(key, value):
    found = faults(message_for("slug", **{key.replace("-", "_"): value}))
    assert f"slug.patch: {key} is {value!r}; wanted: " in found[0]


@pytest.mark.parametrize(
    ("status", "merged"),
    [
        ("pending", False),
        ("submitted https://github.com/apache/airflow/pull/1", False),
        (f"merged 3.4.0 {COMMIT}", True),
        ("never upstream wants another way", False),
    ],
)
def test_the_forms_of_a_status(status, merged):
    message = message_for("slug", Upstream_Status=status)
    assert faults(message) == []
    assert is_merged(patch(message)) is merged


@pytest.mark.parametrize("rules", ["R1", "R1 R10 R14", "P2", "R3 P1"])
def test_the_forms_of_rules(rules):
    assert faults(message_for("slug", Rules=rules)) == []


def test_a_slug_that_is_not_the_files_name():
    assert faults(message_for("other")) == ["slug.patch: Launchguard-Slug is 'other'; the file's name says 'slug'"]


def test_all_faults_of_a_header_at_once():
    found = faults(
        "Hold\n\nFrom: me\n\nRules: none\nUpstream-Status: queued\nLaunchguard-Slug: other\n",
        subject=" ",
        author="nobody",
    )
    for told in ("'other'", "'queued'", "no Upstream-Issue", "'none'", "'From: me'", "no subject", "'nobody'"):
        assert sum(told in fault for fault in found) == 1, told
    assert len(found) == 7


CUTS = ["---", "--- a/f", "diff -u a b", "Index: f", "@@ -1 +1 @@", "From me Mon Sep 17 00:00:00 2001"]


@pytest.mark.parametrize("line", CUTS)
def test_a_line_at_which_git_cuts_the_message(line):
    (fault,) = faults(diff=f"{line}\nmore\n".encode())
    assert fault == f"slug.patch: the message has the line {line!r}, where git cuts it; indent or reword that line"


def test_a_quoted_diff_cuts_the_message_too_although_it_looks_like_the_diff():
    trailers = message_for("slug").rpartition("\n\n")[2]
    (fault,) = faults("Hold\n\nsee\n", diff=b"diff --git a/x b/x\n\n" + trailers.encode() + b"\n" + DIFF)
    assert "the message has the line 'diff --git a/x b/x', where git cuts it" in fault


@pytest.mark.parametrize("line", ["From: Joe <joe@x.y>", "Subject: other", "date: today", "[PATCH] other", ">From me"])
def test_a_first_line_that_git_takes_for_a_header(line):
    message = message_for("slug").replace("It did not.", f"{line}\n\nIt did not.")
    (fault,) = faults(message)
    assert fault == f"slug.patch: git reads the message's first line {line!r} as a header; reword it"


@pytest.mark.parametrize("line", ["From here on", "Subjects: two", "To: be", "fix: From: Joe"])
def test_a_first_line_that_git_leaves_alone(line):
    assert faults(message_for("slug").replace("It did not.", line)) == []


@pytest.mark.parametrize("author", ["", "Ada", "ada@example.org", "Ada <ada>"])
def test_an_author_that_git_would_not_take(author):
    assert faults(author=author) == [f"slug.patch: From is {author!r}; wanted a name and <mail>"]
