"""Small real things for the tests: sdists, a package index, tracks, series, trees."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from launchguard.__main__ import main as launchguard_main
from launchguard.basetree import import_base
from launchguard.export import FORMAT_OPTIONS
from launchguard.fetch import Tree, fetch
from launchguard.gitcmd import Git, init_repository
from launchguard.project import Project
from launchguard.series import read_series
from launchguard.track import PART_FOLDERS, PARTS, Track, load_track

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    Files = Mapping[str, str | bytes]

TRACK = "1.2.0"
DISTRIBUTIONS = {
    "root": "apache-airflow",
    "core": "apache-airflow-core",
    "task-sdk": "apache-airflow-task-sdk",
    "provider": "apache-airflow-providers-cncf-kubernetes",
}
SCHEDULER = "airflow-core/src/airflow/jobs/scheduler.py"
EXECUTOR = "providers/cncf/kubernetes/src/airflow/providers/cncf/kubernetes/executor.py"
# What the default track's sdists hold, by part; numbered lines give patches their context.
SOURCES: dict[str, dict[str, str | bytes]] = {
    "root": {"pyproject.toml": "[tool.ruff]\nline-length = 110\n", "README.md": "Airflow\n", "PKG-INFO": "Name: a\n"},
    "core": {
        "src/airflow/__init__.py": "",
        "src/airflow/jobs/scheduler.py": "".join(f"line_{n} = {n}\n" for n in range(1, 41)),
        "scripts/start": "#!/bin/sh\n",
        "PKG-INFO": "Name: b\n",
    },
    "task-sdk": {"src/airflow/sdk/__init__.py": "", "tests/test_sdk.py": "def test_sdk(): pass\n"},
    "provider": {
        "provider.yaml": "name: kubernetes\n",
        "src/airflow/providers/cncf/kubernetes/executor.py": "".join(f"step_{n} = {n}\n" for n in range(1, 41)),
        "tests/unit/test_executor.py": "def test_executor(): pass\n",
    },
}
EXECUTABLE = frozenset({"scripts/start"})
# The lane's Python is the one that runs the tests, so that nothing has to be looked for.
RUNNING = f"{sys.version_info.major}.{sys.version_info.minor}"
LANES = """
[[lanes]]
name = "head"
python = "{python}"
airflow = "{track}"
patched = ["core", "task-sdk", "provider"]
suites = ["series"]
"""

# Runs git, and kills launchguard right after the command that it is named with.
DEADLY_GIT = """#!/bin/sh
"{git}" "$@"
code=$?
case " $* " in *" {word} "*) kill -9 $PPID ;; esac
exit $code
"""


def as_bytes(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content


# --- sdists


def make_archive(path: Path, members: Iterable[tuple[tarfile.TarInfo, bytes]]) -> Path:
    """Write a .tar.gz of exactly these members, unsafe ones too."""
    path.parent.mkdir(parents=True, exist_ok=True)
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        for member, content in members:
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    path.write_bytes(gzip.compress(plain.getvalue(), mtime=0))
    return path


def make_sdist(path: Path, files: Files, *, executable: Collection[str] = EXECUTABLE) -> Path:
    """Write an sdist; its top folder is the file's name without `.tar.gz`."""
    members = []
    for name, content in files.items():
        member = tarfile.TarInfo(f"{path.name.removesuffix('.tar.gz')}/{name}")
        member.mode = 0o755 if name in executable else 0o644
        members.append((member, as_bytes(content)))
    return make_archive(path, members)


# --- git ids, worked out without git


def _git_id(kind: str, content: bytes) -> bytes:
    return hashlib.sha1(f"{kind} {len(content)}\0".encode() + content).digest()


def git_tree_id(files: Mapping[str, tuple[str, bytes]]) -> bytes:
    """Give the id of a git tree: `files` maps a path to git's mode and the content."""
    entries: dict[str, tuple[str, bytes]] = {}
    folders: dict[str, dict[str, tuple[str, bytes]]] = {}
    for path, (mode, content) in files.items():
        first, _, rest = path.partition("/")
        if rest:
            folders.setdefault(first, {})[rest] = (mode, content)
        else:
            entries[first] = (mode, _git_id("blob", content))
    entries |= {f"{name}/": ("40000", git_tree_id(inner)) for name, inner in folders.items()}
    lines = [f"{mode} {name.rstrip('/')}\0".encode() + at for name, (mode, at) in sorted(entries.items())]
    return _git_id("tree", b"".join(lines))


def base_commit_of(track: str, sources: Mapping[str, Files]) -> str:
    """Give the id that a track's base commit must have."""
    files = {
        name if part == "root" else f"{PART_FOLDERS[part]}/{name}": (
            "100755" if name in EXECUTABLE else "100644",
            as_bytes(content),
        )
        for part in PARTS
        for name, content in sources[part].items()
        if name != "PKG-INFO"
    }
    who = "launchguard <authors@launchguard.invalid> 1767225600 +0000"
    versions = ", ".join(f"{DISTRIBUTIONS[part]} {version_of(part, track)}" for part in PARTS)
    text = (
        f"tree {git_tree_id(files).hex()}\nauthor {who}\ncommitter {who}\n\n"
        f"Airflow {track} from its sdists\n\n{versions}\n"
    )
    return _git_id("commit", text.encode()).hex()


# --- tracks and projects


def version_of(part: str, track: str) -> str:
    return {"task-sdk": f"0.{track}", "provider": f"10.{track}"}.get(part, track)


def sdist_name(part: str, track: str = TRACK) -> str:
    return f"{DISTRIBUTIONS[part].replace('-', '_')}-{version_of(part, track)}.tar.gz"


def make_project(root: Path, *, sources: Mapping[str, Files] = SOURCES, cached: bool = True) -> Project:
    """Make a project with one track (`TRACK`, no patches); see `add_track`."""
    project = Project(root / "project")
    add_track(project, TRACK, sources=sources, cached=cached)
    return project


def add_track(
    project: Project,
    name: str,
    *,
    sources: Mapping[str, Files] = SOURCES,
    cached: bool = True,
    lanes: str = LANES,
    commits: Mapping[str, str] | None = None,
) -> Track:
    """Add a track whose sdists stand in `<root>/sdists` (for `make_index`), and in the cache too if `cached`.

    Args:
        project: where.
        name: the track's, such as 1.2.0.
        sources: what the sdists hold, by part.
        cached: whether `fetch` shall find the sdists in the cache.
        lanes: TOML text; `{track}` and `{python}` are filled in.
        commits: the pinned git commit of a part, by its tag's part name.
    """
    text = [
        f'name = "{name}"\npython = ">=3.11"\n',
        f'packages_until = "2026-07-20T00:00:00Z"\nbase_commit = "{base_commit_of(name, sources)}"\n',
    ]
    for part in PARTS:
        path = make_sdist(project.root / "sdists" / sdist_name(part, name), sources[part])
        text.append(_part_text(part, name, path, (commits or {}).get(part)))
        if cached:
            put_in_cache(project, path)
    folder = project.track_folder(name)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "track.toml").write_text("".join([*text, lanes.format(track=name, python=RUNNING)]))
    return load_track(project, name)


def _part_text(part: str, track: str, sdist: Path, commit: str | None) -> str:
    content = sdist.read_bytes()
    tag = {"task-sdk": "task-sdk/", "provider": "providers-cncf-kubernetes/"}.get(part, "") + version_of(part, track)
    return (
        f'[[parts]]\nname = "{part}"\ndistribution = "{DISTRIBUTIONS[part]}"\nversion = "{version_of(part, track)}"\n'
        f'tag = "{tag}"\n' + (f'commit = "{commit}"\n' if commit else "") + f'[parts.sdist]\nfile = "{sdist.name}"\n'
        f'size = {len(content)}\nsha256 = "{hashlib.sha256(content).hexdigest()}"\n'
    )


def put_in_cache(project: Project, path: Path) -> None:
    content = path.read_bytes()
    target = project.cache / "sdists" / hashlib.sha256(content).hexdigest() / path.name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)


def edit_track(project: Project, old: str, new: str, *, track: str = TRACK) -> None:
    """Replace text in a track.toml; fails when it is not there."""
    path = project.track_folder(track) / "track.toml"
    text = path.read_text()
    assert old in text, f"{old!r} is not in {path}"
    path.write_text(text.replace(old, new))


def replace_sdist(project: Project, part: str, content: bytes) -> None:
    """Give a part of the default track another sdist, pinned and cached as good ones are."""
    path = project.root / "sdists" / sdist_name(part)
    old = load_track(project, TRACK).part(part).sdist
    path.write_bytes(content)
    put_in_cache(project, path)
    edit_track(
        project,
        f'size = {old.size}\nsha256 = "{old.sha256}"',
        f'size = {len(content)}\nsha256 = "{hashlib.sha256(content).hexdigest()}"',
    )


def make_tree(project: Project, track: str = TRACK) -> Tree:
    """Fetch a track's sdist tree (from the cache)."""
    return fetch(project, load_track(project, track))


# --- patches


def message_for(slug: str, **trailers: str) -> str:
    """Give a commit message with every trailer; keywords replace one, `_` for `-`."""
    wanted = {
        "Launchguard-Slug": slug,
        "Upstream-Status": "pending",
        "Upstream-Issue": "https://github.com/apache/airflow/issues/69760",
        "Rules": "R1",
    } | {key.replace("_", "-"): value for key, value in trailers.items()}
    lines = "\n".join(f"{key}: {value}" for key, value in wanted.items())
    return f"Make {slug} hold\n\nIt did not.\n\n{lines}\n"


def commit(git: Git, files: Mapping[str, str | bytes | None], message: str) -> str:
    """Write (None: remove) files in a work tree and commit all of it; gives the commit's id."""
    for name, content in files.items():
        path = git.folder / name
        if content is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(as_bytes(content))
    git.run("add", "--all", "--force", ".")
    git.run("commit", "--quiet", "--allow-empty", "--no-verify", "--file=-", stdin=message.encode())
    return git.line("rev-parse", "HEAD")


@dataclass(frozen=True)
class Change:
    """One patch to make: the files it writes (None: removes), and its message when not `message_for(slug)`."""

    slug: str
    files: Mapping[str, str | bytes | None]
    message: str | None = None


def add_series(project: Project, *changes: Change, track: str = TRACK) -> list[Path]:
    """Append patches to a track's series, as `refresh` would write them; gives their files."""
    folder = project.track_folder(track)
    before = read_series(folder)
    with tempfile.TemporaryDirectory() as scratch:
        git = init_repository(Path(scratch) / "repository")
        git.run("checkout", "--quiet", "-B", "work", import_base(git, project, load_track(project, track)))
        if before:
            git.run("am", "--quiet", "--keep", "--keep-cr", "--no-scissors", *(folder / f"{s}.patch" for s in before))
        start = git.line("rev-parse", "HEAD")
        for change in changes:
            commit(git, change.files, change.message or message_for(change.slug))
        git.run("format-patch", "--quiet", *FORMAT_OPTIONS, "-o", Path(scratch) / "out", f"{start}..HEAD")
        contents = [path.read_bytes() for path in sorted((Path(scratch) / "out").iterdir())]
    for change, content in zip(changes, contents, strict=True):
        (folder / f"{change.slug}.patch").write_bytes(content)
    (folder / "series").write_text("".join(f"{slug}\n" for slug in [*before, *(one.slug for one in changes)]))
    return [folder / f"{change.slug}.patch" for change in changes]


def numbered(name: str, last: int = 40, **changed: str) -> str:
    """Give `name_1 = 1` to `name_<last>`, as SCHEDULER (name `line`) and EXECUTOR (`step`) hold them; `_3="x"`
    replaces line 3, an empty text removes it.
    """
    lines = [changed.get(f"_{n}", f"{name}_{n} = {n}") for n in range(1, last + 1)]
    return "".join(f"{line}\n" for line in lines if line)


# --- the program


@dataclass(frozen=True)
class Ended:
    """How a run of the program ended."""

    code: int
    out: str
    err: str


def launchguard_environment(project: Project | None, **more: str) -> dict[str, str]:
    """Give the environment that makes `python -m launchguard` work on a project."""
    root = {"LAUNCHGUARD_ROOT": str(project.root)} if project else {}
    return os.environ | root | {"COLUMNS": "200"} | more


def launchguard(*words: str, project: Project | None = None, cwd: Path | None = None, **env: str) -> Ended:
    """Run `python -m launchguard` as a process of its own."""
    ended = subprocess.run(
        (sys.executable, "-m", "launchguard", *words),
        capture_output=True,
        check=False,
        cwd=cwd or (project.root if project else None),
        env=launchguard_environment(project, **env),
        text=True,
        timeout=300,
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr)


def invoke(*words: str, project: Project | None = None) -> Ended:
    """Run the same in this process, which takes milliseconds instead of half a second."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    handler = signal.getsignal(signal.SIGTERM)
    code = 0
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        for name, value in launchguard_environment(project).items():
            patch.setenv(name, value)
        patch.setattr(sys, "argv", ["launchguard", *words])
        try:
            launchguard_main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        finally:
            signal.signal(signal.SIGTERM, handler)
    return Ended(code, *(stream.buffer.getvalue().decode() for stream in (out, err)))


def tree_of(folder: Path) -> dict[str, bytes]:
    """Give every file below a folder with its content."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@contextlib.contextmanager
def umask(mask: int):
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)
