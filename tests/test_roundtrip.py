"""Import and export return every byte, whatever the patch holds and whatever the user's settings are."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from factories import EXECUTOR, SCHEDULER, Change, add_series, commit, make_tree, message_for, numbered
from series_factories import SLUGS, add_three, applied_tree, exported, files_at, series_bytes, with_message

from launchguard.apply import apply, commit_series
from launchguard.errors import LaunchguardError
from launchguard.refresh import refresh
from launchguard.roundtrip import first_difference, round_trip_faults

TASK = "task-sdk"
PNG = bytes(range(256)) * 20
LONG = "Überführung größerer Änderungen → 発射 " * 8 + "ende"

# Files that a patch writes (None: removes), by what is hard about them.
FILES = {
    "crlf": {f"{TASK}/crlf.txt": "one\r\ntwo\r\n", SCHEDULER: numbered("line", _3="x = 1\r")},
    "mixed line ends": {f"{TASK}/mixed.txt": "one\r\ntwo\nthree\rfour\n\r\n"},
    "binary": {f"{TASK}/logo.png": PNG},
    "no final newline": {f"{TASK}/end.txt": "a\nb", SCHEDULER: numbered("line").rstrip("\n")},
    "only a newline": {f"{TASK}/newline.txt": "\n"},
    "empty": {f"{TASK}/empty.py": "", f"{TASK}/folder/empty.txt": ""},
    "spaces in a name": {f"{TASK}/a name with spaces.txt": "x\n"},
    "unicode in a name": {f"{TASK}/größe → 発射.txt": "x\n"},
    "quotes in a name": {f'{TASK}/a "quoted" \\ name\t.txt': "x\n"},
    "latin-1 content": {f"{TASK}/latin.txt": "größe\n".encode("latin-1")},
    "trailing blanks": {f"{TASK}/blanks.txt": "a  \n\t\n\n\n"},
    "diff inside": {f"{TASK}/x.patch": "From 0 Mon Sep 17 00:00:00 2001\n---\ndiff --git a/x b/x\n-- \n2.39.5\n"},
    "no-break space, form feed, nul": {f"{TASK}/odd.txt": "a\u00a0b\x0c\n\u2028\n", f"{TASK}/nul.txt": b"a\0b"},
    "very long line": {f"{TASK}/long.txt": "x" * 20000 + "\n"},
    "rename": {EXECUTOR: None, f"{TASK}/executor.py": numbered("step", _3="x = 1")},
    "removal": {"providers/cncf/kubernetes/provider.yaml": None},
    "file becomes folder": {"airflow-core/scripts/start": None, "airflow-core/scripts/start/now": "x\n"},
}


def body(text):
    return with_message("case", text)


# Commit messages, by what is hard about them.
MESSAGES = {
    "long non-ascii subject": with_message("case", "Body", LONG),
    "long ascii subject": with_message("case", "Body", "word " * 60 + "end"),
    "subject without a break": with_message("case", "Body", "x" * 300),
    "brackets": with_message("case", "Body", "[core] Hold [PATCH 1/2] it"),
    "only brackets": with_message("case", "Body", "[PATCH] hold"),
    "reply": with_message("case", "Body", "Re: hold: it"),
    "double spaces": with_message("case", "Body", "hold  it   there, " + "long " * 20 + "end"),
    "tab": with_message("case", "Body", "hold\tit"),
    "indented diff": body("    diff --git a/x b/x\n    --- a/x\n    +++ b/x\n    @@ -1 +1 @@\n    -a\n    +b"),
    "scissors": body("above\n\n-- >8 --\n\nbelow\n8< ---- cut ---- >8\nend"),
    "signature": body("text\n-- \nsig"),
    "dashes": body("----\n---x ---\n ---\n--"),
    "hash lines": body("# no comment\n#1 is fixed"),
    "mail words": body("text\nFrom here on\nSubject: no\nContent-Type: text/plain\n>From the start"),
    "lists and blanks": body("* one\n  two\n\n\tthree\n\n1. four"),
    "emoji": body("🚀 発射 größe \u00a0 e\u0301"),
    "sign-offs": with_message("case", "Body").rstrip("\n") + "\nSigned-off-by: Jürgen <j@example.org>\n",
    "blank lines at the end": with_message("case", "Body") + "\n\n\n",
    "blanks at line ends": body("one  \ntwo\t"),
    "carriage returns": body("one\r\ntwo"),
}


def assert_returns(project, tree):
    """Refresh, import what was written, and compare commits, files and patches with what there was."""
    git, folder = tree.git, project.track_folder("1.2.0")
    refresh(project, tree)
    written = series_bytes(folder)
    slugs = (folder / "series").read_text().split()
    head = commit_series(tree, folder, slugs)
    assert files_at(git, head) == files_at(git, "HEAD")
    kept = "--format=%an|%ae|%aI|%B"
    assert git.run("log", kept, f"{tree.base}..{head}").out == git.run("log", kept, f"{tree.base}..HEAD").out
    assert exported(tree, head) == {slug: written[f"{slug}.patch"] for slug in slugs}
    assert round_trip_faults(tree, exported(tree)) == []
    apply(project, tree)
    assert refresh(project, tree).kept == tuple(slugs)
    assert series_bytes(folder) == written


@pytest.mark.parametrize("case", FILES)
def test_files(project, case):
    tree = make_tree(project)
    commit(tree.git, FILES[case], message_for("case"))
    assert_returns(project, tree)


def test_a_rename_is_written_in_full(project):
    """Whether git sees a rename depends on settings and versions."""
    tree = make_tree(project)
    commit(tree.git, FILES["rename"], message_for("case"))
    refresh(project, tree)
    text = (project.track_folder("1.2.0") / "case.patch").read_text()
    assert "\nrename from " not in text
    assert (text.count("\n-step_"), text.count("\n+step_")) == (40, 39)


def test_modes(project):
    tree = make_tree(project)
    (tree.git.folder / SCHEDULER).chmod(0o755)
    (tree.git.folder / "airflow-core/scripts/start").chmod(0o644)
    (tree.git.folder / "airflow-core/scripts/start").write_text("#!/bin/bash\n")
    (tree.git.folder / "task-sdk/run").write_text("x\n")
    (tree.git.folder / "task-sdk/run").chmod(0o755)
    (tree.git.folder / "task-sdk/link").symlink_to("run")
    commit(tree.git, {}, message_for("case"))
    assert len(tree.git.run("diff", "--summary", "HEAD~1").text.splitlines()) == 4
    assert_returns(project, tree)


@pytest.mark.parametrize("case", MESSAGES)
def test_messages(project, case):
    tree = make_tree(project)
    (tree.git.folder / SCHEDULER).write_text(numbered("line", _3="x = 1"))
    tree.git.run("commit", "--quiet", "--all", "--file=-", stdin=MESSAGES[case].encode())
    assert_returns(project, tree)


AUTHORS = {
    "Jürgen Groß": "j@example.org",
    "J. R. Hacker (he)": "j.r+x@example.org",
    'The "Quoted", One': "q@example.org",
    "O'Neil <not mail": "o@example.org",
}


@pytest.mark.parametrize("name", AUTHORS)
def test_authors(project, name):
    tree = make_tree(project)
    (tree.git.folder / SCHEDULER).write_text(numbered("line", _3="x = 1"))
    who = {
        "GIT_AUTHOR_NAME": name,
        "GIT_AUTHOR_EMAIL": AUTHORS[name],
        "GIT_AUTHOR_DATE": "2026-06-01T23:59:59-03:30",
    }
    tree.git.run("commit", "--quiet", "--all", "--file=-", stdin=message_for("case").encode(), env=who)
    assert_returns(project, tree)


def test_a_subject_of_two_lines_becomes_one(project):
    tree = make_tree(project)
    commit(tree.git, {SCHEDULER: numbered("line", _3="x = 1")}, with_message("case", "Body", "hold\nit"))
    refresh(project, tree)
    assert b"\nSubject: hold it\n" in (project.track_folder("1.2.0") / "case.patch").read_bytes()
    head = commit_series(tree, project.track_folder("1.2.0"), ["case"])
    assert tree.git.line("log", "-1", "--format=%s", head) == "hold it"
    assert round_trip_faults(tree, exported(tree)) == []


REFUSED = {
    "double spaces where the subject is folded": with_message("case", "Body", "much  " * 20 + "end"),
    "an encoded word": with_message("case", "Body", "=?UTF-8?q?=C3=84rger?= here"),
    "a mail's header first": with_message("case", "From: Joe <joe@example.org>\n\nBody"),
    "a mail's subject first": with_message("case", "Subject: other\n\nBody"),
    "a patch's subject first": with_message("case", "[PATCH] other\n\nBody"),
    "the start of a mail": with_message("case", f"text\n\nFrom {'0' * 40} Mon Sep 17 00:00:00 2001\ntext"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_git_would_not_return_is_refused_at_export(project, case):
    tree = make_tree(project)
    commit(tree.git, {SCHEDULER: numbered("line", _3="x = 1")}, REFUSED[case])
    with pytest.raises(LaunchguardError, match=r"commits that (?:cannot be exported|the next apply would bring back)"):
        refresh(project, tree)
    assert series_bytes(project.track_folder("1.2.0")) == {}


def test_an_author_too_long_for_git_is_refused_at_export(project):
    tree = make_tree(project)
    (tree.git.folder / SCHEDULER).write_text("x\n")
    who = {"GIT_AUTHOR_NAME": "発射 " * 30 + "name"}
    tree.git.run("commit", "--quiet", "--all", "--file=-", stdin=message_for("case").encode(), env=who)
    with pytest.raises(LaunchguardError, match=r"case\.patch: line 2 is 'From: 発射 "):
        refresh(project, tree)


def test_a_message_in_another_encoding(project):
    tree = make_tree(project)
    (tree.git.folder / SCHEDULER).write_text(numbered("line", _3="x = 1"))
    text = with_message("case", "größer", "Übergang").encode("latin-1")
    tree.git.run("-c", "i18n.commitEncoding=ISO-8859-1", "commit", "--quiet", "--all", "--file=-", stdin=text)
    assert b"encoding ISO-8859-1" in tree.git.run("cat-file", "commit", "HEAD").out
    refresh(project, tree)
    assert "Subject: Übergang" in (project.track_folder("1.2.0") / "case.patch").read_text()
    assert_returns(project, tree)


def test_a_series_of_everything(project):
    """All hard files, with a message each, one patch upon the other."""
    messages = list(MESSAGES.values())
    changes = [
        Change(f"case-{n}", files, messages[n % len(messages)].replace("Slug: case", f"Slug: case-{n}"))
        for n, files in enumerate(FILES.values())
    ]
    add_series(project, *changes)
    before = series_bytes(project.track_folder("1.2.0"))
    tree = applied_tree(project)
    assert refresh(project, tree).kept == tuple(change.slug for change in changes)
    assert series_bytes(project.track_folder("1.2.0")) == before


# --- hostile settings

HOSTILE = {
    "diff.noprefix": "true",
    "diff.mnemonicPrefix": "true",
    "diff.context": "1",
    "diff.interHunkContext": "40",
    "diff.algorithm": "patience",
    "diff.renames": "copies",
    "diff.indentHeuristic": "false",
    "diff.suppressBlankEmpty": "true",
    "diff.orderFile": "ORDER",
    "diff.external": "false",
    "diff.submodule": "log",
    "diff.wsErrorHighlight": "all",
    "diff.python.textconv": "tac",
    "diff.srcPrefix": "x/",
    "diff.dstPrefix": "y/",
    "format.attach": "boundary",
    "format.coverLetter": "true",
    "format.encodeEmailHeaders": "true",
    "format.filenameMaxLength": "8",
    "format.forceInBodyFrom": "true",
    "format.from": "Someone <else@example.org>",
    "format.headers": "X-Odd: header\n",
    "format.notes": "true",
    "format.numbered": "true",
    "format.outputDirectory": "/nonexistent",
    "format.pretty": "%H",
    "format.signature": "the signature",
    "format.signOff": "true",
    "format.subjectPrefix": "RFC",
    "format.suffix": ".odd",
    "format.thread": "deep",
    "format.to": "to@example.org",
    "format.cc": "cc@example.org",
    "format.useAutoBase": "true",
    "core.autocrlf": "true",
    "core.eol": "crlf",
    "core.safecrlf": "true",
    "core.abbrev": "4",
    "core.quotePath": "false",
    "core.fileMode": "false",
    "core.commentChar": "I",
    "core.hooksPath": "HOOKS",
    "core.attributesFile": "ATTRIBUTES",
    "core.excludesFile": "EXCLUDES",
    "core.editor": "false",
    "core.pager": "false",
    "core.whitespace": "trailing-space,cr-at-eol,tab-in-indent",
    "color.ui": "always",
    "color.diff": "always",
    "commit.gpgSign": "true",
    "commit.cleanup": "strip",
    "commit.template": "/nonexistent",
    "commit.verbose": "true",
    "tag.gpgSign": "true",
    "gpg.program": "false",
    "user.name": "Someone Else",
    "user.useConfigOnly": "true",
    "am.threeWay": "true",
    "am.keepcr": "false",
    "am.messageId": "true",
    "apply.whitespace": "fix",
    "apply.ignoreWhitespace": "change",
    "mailinfo.scissors": "true",
    "i18n.commitEncoding": "ISO-8859-1",
    "i18n.logOutputEncoding": "ISO-8859-1",
    "log.showSignature": "true",
    "log.date": "raw",
    "log.mailmap": "true",
    "log.follow": "true",
    "log.decorate": "full",
    "mailmap.file": "MAILMAP",
    "merge.conflictStyle": "diff3",
    "merge.ff": "false",
    "rebase.autoStash": "true",
    "rebase.autoSquash": "true",
    "rerere.enabled": "true",
    "status.showUntrackedFiles": "no",
    "status.short": "true",
    "status.branch": "true",
    "status.relativePaths": "false",
    "notes.displayRef": "*",
    "push.default": "nothing",
    "init.defaultBranch": "odd",
    "worktree.guessRemote": "true",
    "checkout.guess": "false",
    "advice.statusHints": "true",
    "alias.am": "status",
}
HOOK = '#!/bin/sh\n[ -f "$1" ] && echo spoiled >> "$1"\necho "$0" >> HOOKS.ran\nexit 1\n'
HOOKS = (
    "applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "commit-msg", "prepare-commit-msg",
    "post-checkout", "post-commit", "post-rewrite", "reference-transaction", "post-index-change", "pre-auto-gc",
)  # fmt: skip
VARIABLES = {
    "GIT_AUTHOR_NAME": "Someone Else",
    "GIT_AUTHOR_DATE": "2001-01-01T00:00:00Z",
    "GIT_COMMITTER_NAME": "Someone Else",
    "GIT_COMMITTER_DATE": "2001-01-01T00:00:00Z",
    "GIT_DIFF_OPTS": "--unified=0",
    "GIT_EXTERNAL_DIFF": "false",
    "GIT_DEFAULT_HASH": "sha256",
    "GIT_EDITOR": "false",
    "GIT_LITERAL_PATHSPECS": "0",
    "GIT_ICASE_PATHSPECS": "1",
    "GIT_NOTES_DISPLAY_REF": "*",
    "GIT_TRACE": "1",
    "GIT_DIR": "/nonexistent",
    "GIT_INDEX_FILE": "/nonexistent/index",
    "GIT_WORK_TREE": "/nonexistent",
    "GIT_OBJECT_DIRECTORY": "/nonexistent",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "diff.noprefix",
    "GIT_CONFIG_VALUE_0": "true",
    "LC_ALL": "C.UTF-8",
    "LANGUAGE": "de",
    "TZ": "Asia/Tokyo",
    "COLUMNS": "20",
}


def spoiling_files(folder):
    """Write what the hostile settings point at."""
    (folder / "hooks").mkdir(parents=True)
    for name in HOOKS:
        (folder / "hooks" / name).write_text(HOOK.replace("HOOKS", str(folder / "hooks")))
        (folder / "hooks" / name).chmod(0o755)
    (folder / "attributes").write_text("* text=auto eol=crlf diff=python ident\n*.py -diff\n")
    (folder / "excludes").write_text("*\n")
    (folder / "order").write_text("*.yaml\n*.txt\n")
    (folder / "mailmap").write_text("Nobody <nobody@example.org> <authors@launchguard.invalid>\n")
    named = {
        "HOOKS": "hooks",
        "ATTRIBUTES": "attributes",
        "EXCLUDES": "excludes",
        "ORDER": "order",
        "MAILMAP": "mailmap",
    }
    return {key: str(folder / named[value]) if value in named else value for key, value in HOSTILE.items()}


def write_settings(path, settings):
    path.parent.mkdir(parents=True, exist_ok=True)
    for key, value in settings.items():
        subprocess.run(("git", "config", "--file", path, key, value), check=True, env={"PATH": os.environ["PATH"]})


def in_home(tmp_path, tree, monkeypatch):
    write_settings(Path.home() / ".gitconfig", spoiling_files(tmp_path / "spoil"))


def in_xdg(tmp_path, tree, monkeypatch):
    """The files that git reads with no setting at all."""
    spoiling_files(tmp_path / "spoil")
    for folder in (Path.home() / ".config" / "git", tmp_path / "xdg" / "git"):
        folder.mkdir(parents=True)
        (folder / "attributes").write_text((tmp_path / "spoil" / "attributes").read_text())
        (folder / "ignore").write_text("*\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))


def in_the_repository(tmp_path, tree, monkeypatch):
    write_settings(tree.git.folder / ".git" / "config", spoiling_files(tmp_path / "spoil"))


def in_the_environment(tmp_path, tree, monkeypatch):
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)


def hard_series():
    """Patches on which each hostile setting would leave its mark if it were minded."""
    hard = {name: content for files in list(FILES.values())[:13] for name, content in files.items()}
    block = "@mark\ndef {}():\n    pass\n\n"  # where a diff that adds one begins is a matter of settings
    blocks = [block.format(name) for name in ("first", "second", "third")]
    return (
        Change("first", hard | {"b.py": blocks[0] + blocks[2]}, named("long non-ascii subject", "first")),
        Change(
            "brackets",
            {SCHEDULER: numbered("line", _5="x  \ny\t"), "b.py": "".join(blocks)},
            named("brackets", "brackets"),
        ),
        Change("hash", {EXECUTOR: numbered("step", _5="x", _15="y")}, named("hash lines", "hash")),
        Change("scissors", {EXECUTOR: None, "n.py": numbered("step", _5="x")}, named("scissors", "scissors")),
    )


def named(case, slug):
    return MESSAGES[case].replace("Slug: case", f"Slug: {slug}")


@pytest.mark.parametrize("hostile", [in_home, in_xdg, in_the_repository, in_the_environment])
def test_the_users_settings_change_no_byte(project, tmp_path, monkeypatch, hostile):
    add_series(project, *hard_series())
    folder = project.track_folder("1.2.0")
    before = series_bytes(folder)
    tree = make_tree(project)
    calm = commit_series(tree, folder, ["first", "brackets", "hash", "scissors"])
    tree.git.run("notes", "add", "-m", "a note that some settings show", calm)
    hostile(tmp_path, tree, monkeypatch)
    assert apply(project, tree).head == calm
    assert tree.git.changes() == []
    assert refresh(project, tree).kept == ("first", "brackets", "hash", "scissors")
    assert series_bytes(folder) == before
    assert round_trip_faults(tree, {slug: before[f"{slug}.patch"] for slug in ("first", "brackets")}) == []
    assert apply(project, tree).unchanged
    assert not (tmp_path / "spoil" / "hooks.ran").exists()


def test_the_hostile_settings_do_spoil_plain_git(three, tmp_path, monkeypatch):
    """What the test above proves is worth nothing unless git minds these settings when it is not sealed."""
    tree = applied_tree(three)
    calm = exported(tree)
    in_the_repository(tmp_path, tree, monkeypatch)
    plain = subprocess.run(
        ("git", "format-patch", "--stdout", "-1", "HEAD"), cwd=tree.git.folder, capture_output=True, check=False
    )
    assert plain.stdout != calm["three"]
    assert b"diff --git a/" not in plain.stdout


class TestFaults:
    def test_none_in_a_good_series(self, three):
        assert round_trip_faults(applied_tree(three), exported(applied_tree(three))) == []

    def test_the_first_line_that_differs_is_named_for_each_patch(self, three):
        tree = applied_tree(three)
        patches = exported(tree)
        patches["one"] = patches["one"].replace(b"\nindex ", b"\nindex 1")
        patches["three"] = patches["three"].replace(b"@@ line_26 = 26\n", b"@@ other\n")
        one, three_ = round_trip_faults(tree, patches)
        assert one.startswith("one.patch: line 14 is 'index 1")
        assert "an export gives 'index " in one
        assert three_.startswith("three.patch: line ")
        assert r"@@ other\n', an export gives '@@ -27,7 +27,7 @@ line_26 = 26\n'" in three_

    def test_a_series_that_git_am_refuses(self, three):
        tree = applied_tree(three)
        patches = exported(tree) | {"two": b"nothing"}
        (fault,) = round_trip_faults(tree, patches)
        assert "git -C" in fault
        assert "core.hooksPath" not in fault
        assert tree.git.open_operation() is None

    def test_a_series_without_slugs(self, three):
        tree = applied_tree(three)
        patches = {"one": exported(tree)["one"].replace(b"Launchguard-Slug", b"Other-Slug")}
        assert "no Launchguard-Slug trailer" in round_trip_faults(tree, patches)[0]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (b"a\nb\n", b"a\nc\n", r"line 2 is 'b\n', an export gives 'c\n'"),
        (b"a\n", b"a\nb\n", r"line 2 is missing, an export gives 'b\n'"),
        (b"a\nb\n", b"a\n", r"line 2 is 'b\n', an export gives missing"),
        (b"a\n", b"a", r"line 1 is 'a\n', an export gives 'a'"),
        (b"a\r\n", b"a\n", r"line 1 is 'a\r\n', an export gives 'a\n'"),
        (b"\xff\n", b"\xfe\n", r"line 1 is '\\xff\n', an export gives '\\xfe\n'"),
        (b"a", b"", "line 1 is 'a', an export gives missing"),
    ],
)
def test_the_first_difference(before, after, told):
    assert first_difference(before, after) == told


def test_a_series_of_three_is_the_same_in_a_tree_of_another_project(project, three):
    add_three(project)
    assert exported(applied_tree(project)) == exported(applied_tree(three))
    assert tuple(exported(applied_tree(three))) == SLUGS
