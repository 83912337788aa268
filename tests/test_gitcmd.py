from __future__ import annotations

import pytest
from factories import SCHEDULER, commit, make_tree, message_for
from series_factories import applied_tree

from launchguard import gitcmd
from launchguard.errors import LaunchguardError
from launchguard.gitcmd import Git, init_repository, require_git, sealed_environment
from launchguard.process import CommandError, Completed


def test_nothing_of_the_users_reaches_git_but_what_it_needs(monkeypatch):
    for name in ("GIT_DIR", "GIT_CONFIG_COUNT", "XDG_CONFIG_HOME", "LANGUAGE", "EMAIL", "MY_OWN", "GIT_SSH_COMMAND"):
        monkeypatch.setenv(name, "x")
    environment = sealed_environment(MORE="y")
    assert not {"GIT_DIR", "GIT_CONFIG_COUNT", "XDG_CONFIG_HOME", "LANGUAGE", "EMAIL", "MY_OWN"} & set(environment)
    assert {environment[name] for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "LC_ALL", "TZ")} == {
        "/dev/null", "1", "C", "UTC",
    }  # fmt: skip
    assert (environment["GIT_SSH_COMMAND"], environment["MORE"]) == ("x", "y")
    assert "PATH" in environment


def test_an_error_shows_the_command_as_a_person_would_type_it(tmp_path):
    git = init_repository(tmp_path / "repository")
    with pytest.raises(CommandError) as error:
        git.run("checkout", "nowhere")
    first, *rest = str(error.value).splitlines()
    assert first == f"command failed with code 1: git -C {git.folder} checkout nowhere"
    assert any("nowhere" in line for line in rest)


def test_a_failure_may_be_asked_for(tmp_path):
    assert init_repository(tmp_path / "repository").run("checkout", "nowhere", check=False).code == 1


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(LaunchguardError, match="there is no folder "):
        Git(tmp_path / "absent").run("status")


@pytest.mark.parametrize("version", ["2.30.2", "2.39.5 (Apple Git-154)", "2.47.1.windows.2", "3.0.0"])
def test_a_git_that_is_new_enough(monkeypatch, version):
    answer(monkeypatch, version)
    require_git()


@pytest.mark.parametrize("version", ["2.29.9", "1.8.3.1"])
def test_a_git_that_is_too_old(monkeypatch, version):
    answer(monkeypatch, version)
    with pytest.raises(LaunchguardError, match=rf"git {version} is too old; install 2\.30 or newer"):
        require_git()


def answer(monkeypatch, version):
    told = Completed(("git", "--version"), 0, f"git version {version}\n".encode(), b"")
    monkeypatch.setattr(gitcmd, "run", lambda *_: told)


class TestResolve:
    def test_commits_and_blobs(self, three):
        git = applied_tree(three).git
        head = git.resolve("HEAD")
        assert git.resolve("launchguard") == head == git.resolve(head[:10])
        assert git.blob("HEAD", SCHEDULER) == git.line("rev-parse", f"HEAD:{SCHEDULER}")
        assert git.blob("HEAD", "no/such/file") is None

    @pytest.mark.parametrize("name", ["nowhere", "--all", "", "HEAD:README.md", "a b"])
    def test_what_names_no_commit(self, three, name):
        assert applied_tree(three).git.resolve(name) is None


def test_changes_name_every_file(project):
    git = make_tree(project).git
    assert git.changes() == []
    (git.folder / "README.md").unlink()
    (git.folder / "new folder").mkdir()
    (git.folder / "new folder" / "größe.txt").write_text("x")
    (git.folder / "task-sdk" / "__pycache__").mkdir()
    (git.folder / "task-sdk" / "__pycache__" / "a.pyc").write_text("x")
    assert git.changes() == [" D README.md", r'?? "new folder/gr\303\266\303\237e.txt"']


class TestOpenOperation:
    def test_none(self, three):
        assert applied_tree(three).git.open_operation() is None

    @pytest.mark.parametrize(
        ("words", "name"), [(("cherry-pick", "side"), "cherry-pick"), (("merge", "side"), "merge")]
    )
    def test_in_the_tree_and_not_in_a_linked_one(self, three, tmp_path, words, name):
        git = applied_tree(three).git
        git.run("worktree", "add", "--quiet", "-b", "side", tmp_path / "linked", "HEAD~2")
        linked = Git(tmp_path / "linked")
        commit(linked, {SCHEDULER: "side\n"}, message_for("side"))
        assert git.run(*words, check=False).code
        assert git.open_operation() == name
        assert linked.open_operation() is None


def test_borrowed_objects_can_be_read_and_are_not_kept(three, tmp_path):
    lender = applied_tree(three).git
    head = lender.resolve("HEAD")
    git = init_repository(tmp_path / "repository")
    assert git.resolve(head) is None
    assert Git(git.folder, borrowed=lender.folder).resolve(head) == head
    assert git.resolve(head) is None


def test_an_index_of_ones_own(three, tmp_path):
    git = applied_tree(three).git
    before = git.run("ls-files", "--stage").out
    own = Git(git.folder, index=tmp_path / "index")
    own.run("read-tree", "refs/launchguard/base")
    assert own.run("ls-files", "--stage").out != before
    assert git.run("ls-files", "--stage").out == before
