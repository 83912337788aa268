"""The front door: what it brings, what it makes, and what it says when it cannot."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest
from factories import Ended, tree_of
from fakeindex import Fault, Index

ROOT = Path(__file__).resolve().parents[1]
WHEEL_SCRIPT = ROOT / "scripts/get_pip_wheel.py"
NEEDED = ("justw", "justfile", "pyproject.toml", "uv.lock", "README.md", "scripts", "patches")
# Programs that justw calls beyond Python, uv and just.
SHELL_TOOLS = ("sh", "dirname", "cksum", "cat", "mkdir", "rm", "ln", "chmod")

# A Python with a pip that says what it was told of and brings a tool that does the same.
PYTHON = """#!/bin/sh
case "$1 $2 $3" in
"-c "*) exit {too_old} ;;
"-m pip config") echo "{pip_conf}" ;;
"-m pip install")
    echo "pip ${{PIP_INDEX_URL:-}}" >> "{log}"
    [ -z "{offline}" ] || exit 1
    while [ $# -gt 1 ]; do
        [ "$1" != --target ] || target=$2
        shift
    done
    mkdir -p "$target/bin"
    name=${{1#rust-}}
    cat "{tools}/$name" > "$target/bin/$name"
    chmod +x "$target/bin/$name"
    ;;
esac
"""
UV = """#!/bin/sh
echo "uv $1 ${{UV_DEFAULT_INDEX:-}}" >> "{log}"
case $1 in
venv)
    for folder; do :; done
    mkdir -p "$folder/bin" "$folder/site"
    printf '#!/bin/sh\\necho "%s/site"\\n' "$folder" > "$folder/bin/python"
    chmod +x "$folder/bin/python"
    ;;
pip) [ ! -f "{log}.fail" ] || exit 1 ;;
esac
"""
JUST = '#!/bin/sh\necho "just $*"\n'


@dataclass
class Door:
    """A checkout with justw, and a PATH with stand-ins for what it calls."""

    root: Path
    path: Path
    log: Path
    tools: Path

    def program(self, name: str, text: str) -> None:
        file = self.path / name
        file.write_text(text)
        file.chmod(0o755)

    def python(self, *, too_old: int = 0, pip_conf: str = "", offline: str = "") -> None:
        text = PYTHON.format(too_old=too_old, pip_conf=pip_conf, offline=offline, log=self.log, tools=self.tools)
        self.program("python3", text)

    def on_path(self, *names: str) -> None:
        for name in names:
            self.program(name, (self.tools / name).read_text())

    def run(self, *words: str, **env: str) -> Ended:
        ended = subprocess.run(
            [self.root / "justw", *words],
            capture_output=True,
            check=False,
            env={"PATH": str(self.path), **env},
            text=True,
        )
        return Ended(ended.returncode, ended.stdout, ended.stderr)

    def log_lines(self) -> list[str]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return lines


@pytest.fixture
def door(tmp_path: Path) -> Door:
    door = Door(tmp_path / "a check out", tmp_path / "bin", tmp_path / "log", tmp_path / "tools")
    (door.root / "scripts").mkdir(parents=True)
    shutil.copy(ROOT / "justw", door.root)
    shutil.copy(WHEEL_SCRIPT, door.root / "scripts")
    (door.root / "uv.lock").write_text("version = 1\n")
    door.path.mkdir()
    door.tools.mkdir()
    for name in SHELL_TOOLS:
        (door.path / name).symlink_to(shutil.which(name))
    (door.tools / "uv").write_text(UV.format(log=door.log))
    (door.tools / "just").write_text(JUST)
    return door


def last_line(ended: Ended) -> str:
    return ended.err.splitlines()[-1]


def test_without_a_python_it_says_what_to_install(door):
    ended = door.run("--list")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        "justw: no Python 3.11 or newer on PATH; install it (Debian, Ubuntu: apt install python3), "
        "or name it in LAUNCHGUARD_PYTHON\n"
    )


def test_a_python_that_is_too_old_is_none(door):
    door.python(too_old=1)
    assert door.run("--list").code == 2


def test_a_named_python_comes_first(door, tmp_path):
    door.python(too_old=1)
    (door.path / "python3").rename(tmp_path / "old")
    door.python()
    (door.path / "python3").rename(tmp_path / "mine")
    door.on_path("uv", "just")
    (tmp_path / "old").rename(door.path / "python3")
    assert door.run("--list", LAUNCHGUARD_PYTHON=str(tmp_path / "mine")).code == 0


def test_what_is_on_path_is_used(door):
    door.python()
    door.on_path("uv", "just")
    ended = door.run("lg", "status")
    root = door.root
    assert (ended.code, ended.out) == (0, f"just --justfile {root}/justfile --working-directory {root} lg status\n")
    assert door.log_lines() == ["uv venv ", "uv export ", "uv pip "]
    assert (root / "build/venv/site/launchguard.pth").read_text() == f"{root}/scripts\n"


def test_what_is_missing_is_brought_once(door):
    door.python()
    ended = door.run("--list")
    assert ended.code == 0
    assert ended.err.splitlines() == [
        "justw: bringing uv from the package index",
        "justw: bringing rust-just from the package index",
        "justw: making build/venv",
    ]
    assert door.log_lines() == ["pip ", "pip ", "uv venv ", "uv export ", "uv pip "]
    ended = door.run("--list")
    assert (ended.code, ended.err) == (0, "")
    assert door.log_lines() == []


def test_what_a_killed_run_left_is_brought_anew(door):
    door.python()
    half = door.root / "build/bootstrap/uv/half"
    half.mkdir(parents=True)
    assert door.run("--list").code == 0
    assert not half.exists()


def test_the_environment_is_made_anew_when_the_lock_changed(door):
    door.python()
    door.on_path("uv", "just")
    door.run("--list")
    door.log_lines()
    (door.root / "uv.lock").write_text("version = 2\n")
    (door.root / "build/venv/old").touch()
    assert door.run("--list").err == "justw: making build/venv\n"
    assert not (door.root / "build/venv/old").exists()
    assert door.run("--list").err == ""


def test_the_environment_is_made_anew_when_it_was_not_finished(door):
    door.python()
    door.on_path("uv", "just")
    door.log.with_name("log.fail").touch()
    assert door.run("--list").code != 0
    door.log.with_name("log.fail").unlink()
    ended = door.run("--list")
    assert (ended.code, ended.err) == (0, "justw: making build/venv\n")


def test_without_a_network_it_says_what_to_set(door):
    door.python(offline="yes")
    ended = door.run("--list")
    assert ended.code == 2
    assert last_line(ended) == "justw: could not install uv; check the network, or set PIP_INDEX_URL to your mirror"


@pytest.mark.parametrize(
    ("env", "pip_conf", "pip", "uv"),
    [
        ({}, "", "", ""),
        ({"PIP_INDEX_URL": "https://p/simple"}, "", "https://p/simple", "https://p/simple"),
        ({}, "https://conf/simple", "", "https://conf/simple"),
        ({"UV_DEFAULT_INDEX": "https://u/simple"}, "", "https://u/simple", "https://u/simple"),
        ({"UV_DEFAULT_INDEX": "m=https://u/simple?a=b"}, "", "https://u/simple?a=b", "m=https://u/simple?a=b"),
        ({"UV_DEFAULT_INDEX": "https://u:pa=ss@u/simple"}, "", "https://u:pa=ss@u/simple", "https://u:pa=ss@u/simple"),
        ({"UV_INDEX_URL": "https://old/simple"}, "", "https://old/simple", ""),
        ({"PIP_INDEX_URL": "https://p", "UV_DEFAULT_INDEX": "https://u"}, "", "https://p", "https://u"),
    ],
)
def test_pip_and_uv_tell_each_other_their_index(env, pip_conf, pip, uv, door):
    door.python(pip_conf=pip_conf)
    assert door.run("--list", **env).code == 0
    lines = door.log_lines()
    assert {line for line in lines if line.startswith("pip")} == {f"pip {pip}"}
    assert {line.split(" ", 2)[2] for line in lines if line.startswith("uv")} == {uv}


# --- pip's wheel, for a Python without pip


def wheel(index: Index, target: Path, **env: str) -> Ended:
    ended = subprocess.run(
        [sys.executable, WHEEL_SCRIPT, target],
        capture_output=True,
        check=False,
        env={"PATH": os.environ["PATH"], "PIP_INDEX_URL": index.url} | env,
        text=True,
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr)


@pytest.fixture
def pips(index: Index) -> Index:
    for version in ("25.9", "25.10.1", "24.0", "26.0b1"):
        index.files[f"pip-{version}-py3-none-any.whl"] = version.encode()
    index.files["pip-99.tar.gz"] = b"no wheel"
    return index


@pytest.mark.parametrize("html", [False, True], ids=["json", "html"])
def test_the_newest_release_is_taken(html, pips, tmp_path):
    pips.html = html
    ended = wheel(pips, tmp_path / "new/pip.whl")
    assert (ended.code, ended.err) == (0, "")
    assert tree_of(tmp_path) == {"new/pip.whl": b"25.10.1"}


def test_a_password_is_sent(pips, tmp_path):
    pips.authorization = "Basic " + base64.b64encode(b"me:sec ret").decode()
    url = pips.url.replace("://", "://me:sec%20ret@")
    assert wheel(pips, tmp_path / "pip.whl", PIP_INDEX_URL=url).code == 0


def gone(index: Index) -> None:
    index.files.clear()


def no_wheel(index: Index) -> None:
    index.files = {"pip-1.tar.gz": b""}


def other_hash(index: Index) -> None:
    page = '<a href="/files/pip-25.9-py3-none-any.whl#sha256=00">x</a>'
    index.pages["pip"] = (page.encode(), "text/html")


def broken(index: Index) -> None:
    index.faults["pip"] += [Fault.ERROR]


def cut(index: Index) -> None:
    index.faults["pip-25.10.1-py3-none-any.whl"] += [Fault.TRUNCATE]


def forbidden(index: Index) -> None:
    index.authorization = "another"


@pytest.mark.parametrize("fault", [gone, no_wheel, other_hash, broken, cut, forbidden])
def test_what_cannot_be_had_is_one_line(fault, pips, tmp_path):
    fault(pips)
    ended = wheel(pips, tmp_path / "pip.whl", PIP_INDEX_URL=pips.url.replace("://", "://me:secret@"))
    assert ended.code == 1
    assert ended.err.startswith("get_pip_wheel: cannot get pip from the package index (")
    assert ended.err.endswith("); install python3-pip, or set PIP_INDEX_URL\n")
    assert ended.err.count("\n") == 1
    assert "secret" not in ended.err
    assert tree_of(tmp_path) == {}


# --- the real thing


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The files that justw needs, as a clone would have them, in a folder with a space in its name."""
    folder = tmp_path / "a clone"
    folder.mkdir()
    for name in NEEDED:
        source = ROOT / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, folder / name)
    return folder


def bare_environment(tmp_path: Path, python: Path) -> dict[str, str]:
    """No variable of the user's, no uv and no just: what `env -i` leaves, with one Python."""
    home, path = tmp_path / "home", tmp_path / "path"
    home.mkdir()
    path.mkdir()
    for name in (*SHELL_TOOLS, "git"):
        (path / name).symlink_to(shutil.which(name))
    return {"PATH": str(path), "HOME": str(home), "LAUNCHGUARD_PYTHON": str(python)}


@pytest.mark.network
@pytest.mark.parametrize("pip", [True, False], ids=["with pip", "without pip"])
def test_from_nothing_it_brings_the_tools_and_runs(pip, checkout, tmp_path):
    python = tmp_path / "python"
    venv.create(python, with_pip=pip, symlinks=True)
    env = bare_environment(tmp_path, python / "bin/python")
    for words, told in ((("--list",), "apply-and-test"), (("lg", "status"), ", apache-airflow-core 3.")):
        ended = subprocess.run(["./justw", *words], cwd=checkout, env=env, capture_output=True, check=False, text=True)
        assert ended.returncode == 0, ended.stderr
        assert told in ended.stdout
    assert {path.name for path in (checkout / "build/bootstrap/bin").iterdir()} == {"just", "uv"}
    assert (checkout / "build/bootstrap/pip.whl").exists() != pip
