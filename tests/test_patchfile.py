from __future__ import annotations

import pytest

from launchguard.errors import LaunchguardError
from launchguard.patchfile import parse_patch, read_patch

ZERO = "0" * 40
FIRST = f"From {ZERO} Mon Sep 17 00:00:00 2001\n"
HEAD = f"{FIRST}From: Ada Example <ada@example.org>\nDate: Mon, 15 Jun 2026 10:00:00 +0200\n"
DIFF = "diff --git a/f b/f\nindex 1..2 100644\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n"


def parsed(header: str, body: str = "", diff: str = DIFF, head: str = HEAD):
    return parse_patch("slug", f"{head}{header}\n\n{body}{diff}".encode())


def test_the_parts_of_a_patch():
    patch = parsed("Subject: Hold", "Because.\n\nRules: R1\nLaunchguard-Slug: slug\n\n")
    assert (patch.author, patch.date) == ("Ada Example <ada@example.org>", "Mon, 15 Jun 2026 10:00:00 +0200")
    assert (patch.subject, patch.message) == ("Hold", "Because.\n\nRules: R1\nLaunchguard-Slug: slug\n\n")
    assert patch.diff == DIFF.encode()
    assert patch.trailers == [("Rules", "R1"), ("Launchguard-Slug", "slug")]


@pytest.mark.parametrize(
    ("header", "subject"),
    [
        ("Subject: [core] hold", "[core] hold"),
        ("Subject: a long one that\n goes on here\n and here", "a long one that goes on here and here"),
        ("Subject: Ärger mit Übergängen → 発射", "Ärger mit Übergängen → 発射"),
        ("Subject: " + "Ärger " * 20 + "\n" + " Übergang" * 8, "Ärger " * 20 + " Übergang" * 8),
        ("Subject: =?UTF-8?q?=C3=84rger?= here", "Ärger here"),
        ("MIME-Version: 1.0\nSubject: hold: it\nContent-Type: text/plain; charset=UTF-8", "hold: it"),
    ],
)
def test_subjects(header, subject):
    assert " ".join(parsed(header).subject.split()) == " ".join(subject.split())


def test_a_non_ascii_author_is_read_as_it_stands():
    head = HEAD.replace("Ada Example", "Jürgen Groß")
    assert parsed("Subject: a", head=head).author == "Jürgen Groß <ada@example.org>"


@pytest.mark.parametrize("line", ["---", "--- ", "--- a/file", "diff -r a b", "Index: f", "@@ -1,2 +3,4 @@"])
def test_a_message_ends_where_git_ends_it(line):
    patch = parsed("Subject: a", f"before\n\n{line}\nafter\n\n")
    assert patch.message == "before\n\n"
    assert patch.diff.startswith(line.encode())


@pytest.mark.parametrize("line", ["----", "---x", " ---", "    diff --git a/f b/f", "different -", "> Index: f"])
def test_what_only_looks_like_a_cut_stays_in_the_message(line):
    assert parsed("Subject: a", f"before\n\n{line}\nafter\n\n").message == f"before\n\n{line}\nafter\n\n"


def test_trailers_are_those_of_the_last_paragraph():
    patch = parsed("Subject: a", "Rules: R9\n\nRules: R1\nnot a trailer\nOther-Key:  padded  \n\n")
    assert patch.trailers == [("Rules", "R1"), ("Other-Key", "padded")]
    assert patch.trailer("Rules") == "R1"
    assert patch.trailer("Missing") is None


def test_no_trailers_in_a_message_of_one_line():
    assert parsed("Subject: a").trailers == []


@pytest.mark.parametrize(
    "content", [b"", b"From me\n\nno diff here\n", DIFF.encode(), b"\n\n", b"Subject: a\n\n" + DIFF.encode()]
)
def test_what_is_no_patch(content):
    with pytest.raises(LaunchguardError, match=r"odd\.patch is not a patch as git format-patch writes it"):
        parse_patch("odd", content)


def test_a_listed_patch_without_a_file(tmp_path):
    with pytest.raises(LaunchguardError, match=r"the series names gone, but there is no gone\.patch in "):
        read_patch(tmp_path, "gone")


def test_bytes_that_are_no_utf8_do_not_stop_the_reading():
    content = f"{HEAD}Subject: a\n\nb".encode() + b"\xff\n\n" + DIFF.encode() + b"+\xfe\n"
    patch = parse_patch("slug", content)
    assert patch.message == "b\ufffd\n\n"
    assert patch.diff.endswith(b"+\xfe\n")
