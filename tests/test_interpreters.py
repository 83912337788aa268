from __future__ import annotations

import os
from pathlib import Path

import pytest

from launchguard.errors import Exit, LaunchguardError
from launchguard.interpreters import find_python, pyenv_folders

WORKS = "#!/bin/sh\nexit 0\n"
LACKS_MODULES = "#!/bin/sh\nexit 1\n"
# Answers as uv: `python find` tells what is in `found`, `python install` puts it there or fails.
UV = """#!/bin/sh
echo "$*" >> {folder}/asked
case "$1 $2" in
"python find") cat {folder}/found 2> /dev/null ;;
"python install") {install} ;;
esac
"""


@pytest.fixture(autouse=True)
def _alone(tmp_path, monkeypatch):
    """Only what a test puts on PATH is there, and nothing is remembered from another test."""
    find_python.cache_clear()
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    yield
    find_python.cache_clear()


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def uv(tmp_path):
    """Stand in for uv; `install` is what its download does."""

    def make(install: str = "exit 2", found: str = "") -> Path:
        if found:
            (tmp_path / "found").write_text(found)
        return program(tmp_path / "bin/uv", UV.format(folder=tmp_path, install=install))

    return make


def test_path_comes_first(tmp_path):
    wanted = program(tmp_path / "bin/python9.1", WORKS)
    program(tmp_path / "pyenv/versions/9.1.2/bin/python9.1", WORKS)
    assert find_python("9.1") == str(wanted)


def test_one_that_lacks_modules_is_passed_over(tmp_path):
    program(tmp_path / "bin/python9.1", LACKS_MODULES)
    program(tmp_path / "pyenv/versions/9.1.9/bin/python9.1", LACKS_MODULES)
    wanted = program(tmp_path / "pyenv/versions/9.1.2/bin/python9.1", WORKS)
    assert find_python("9.1") == str(wanted)


def test_pyenvs_newest_comes_first(tmp_path):
    for version in ("9.1.2", "9.1.10", "9.1.9", "9.2.0", "system-9"):
        program(tmp_path / f"pyenv/versions/{version}/bin/python{version[:3]}", WORKS)
    assert [path.parent.name for path in pyenv_folders()][:4] == ["9.2.0", "9.1.10", "9.1.9", "9.1.2"]
    assert "/9.1.10/" in find_python("9.1")


def test_pyenv_is_found_in_the_home_folder(monkeypatch):
    monkeypatch.delenv("PYENV_ROOT")
    wanted = program(Path(os.environ["HOME"]) / ".pyenv/versions/9.1.2/bin/python9.1", WORKS)
    assert find_python("9.1") == str(wanted)


def test_uvs_own_is_next(uv, tmp_path):
    uv(found="/uv/python9.1\n")
    assert find_python("9.1") == "/uv/python9.1"
    assert (tmp_path / "asked").read_text() == "python find 9.1\n"


def test_uvs_download_is_last(uv, tmp_path):
    uv(install=f"echo /uv/new/python9.1 > {tmp_path}/found")
    assert find_python("9.1") == "/uv/new/python9.1"
    assert (tmp_path / "asked").read_text() == "python find 9.1\npython install 9.1\npython find 9.1\n"


def test_none_at_all_is_a_question_that_cannot_be_answered(uv):
    uv(install="echo 'some line' >&2; echo 'no route to host' >&2; exit 2")
    with pytest.raises(LaunchguardError) as caught:
        find_python("9.1")
    assert caught.value.code is Exit.CANNOT_TELL
    assert str(caught.value) == ("no Python 9.1 on PATH, in pyenv or from uv (no route to host); install python9.1")


def test_the_answer_is_remembered(uv, tmp_path):
    uv(found="/uv/python9.1\n")
    assert find_python("9.1") == find_python("9.1")
    assert (tmp_path / "asked").read_text().count("find") == 1
