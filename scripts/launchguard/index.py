"""Finds a distribution's files on a package index: the user's own, as pip and uv are told of it."""

from __future__ import annotations

import configparser
import os
import tomllib
from pathlib import Path
from typing import Any

import requests
import truststore
from pypi_simple import NoSuchProjectError, PyPISimple, UnsupportedRepoVersionError
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from launchguard.errors import LaunchguardError

PYPI = "https://pypi.org/simple/"
VARIABLES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")
TIMEOUT_SECONDS = 30


def index_url() -> str:
    """Give the package index to use: uv's or pip's variables, then their settings files, then PyPI."""
    for name in VARIABLES:
        if os.environ.get(name):
            return _without_name(os.environ[name])
    return _uv_setting() or _pip_setting() or PYPI


def _without_name(index: str) -> str:
    """Cut the name off that uv allows before an index: `mirror=https://...`."""
    name, sign, url = index.partition("=")
    return url if sign and ":" not in name else index


def _uv_setting() -> str | None:
    base = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    named = os.environ.get("UV_CONFIG_FILE")
    for path in [Path(named)] if named else [base / "uv/uv.toml", Path("/etc/uv/uv.toml")]:
        if path.is_file():
            settings = _read_toml(path)
            defaults = [entry["url"] for entry in settings.get("index", []) if entry.get("default")]
            if defaults or settings.get("index-url"):
                return str(defaults[0] if defaults else settings["index-url"])
    return None


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise LaunchguardError(f"{path} cannot be read: {error}; mend it, or set UV_DEFAULT_INDEX") from error


def _pip_setting() -> str | None:
    base = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    named = os.environ.get("PIP_CONFIG_FILE")
    usual = ("/etc/xdg/pip/pip.conf", "/etc/pip.conf", Path.home() / ".pip/pip.conf", base / "pip/pip.conf")
    if named == os.devnull:  # pip's own way to say: no settings at all
        return None
    parser = configparser.RawConfigParser()
    try:
        parser.read([*usual, *([named] if named else [])], encoding="utf-8")
    except (configparser.Error, ValueError) as error:
        reason = str(error).replace("\n", " ")
        raise LaunchguardError(f"pip's settings cannot be read: {reason}; mend them, or set PIP_INDEX_URL") from error
    return parser.get("global", "index-url", fallback=None)


def web_session() -> requests.Session:
    """Make a session that trusts what the machine trusts and tries again where that makes sense."""
    truststore.inject_into_ssl()
    session = requests.Session()
    retry = Retry(total=4, backoff_factor=0.5, status_forcelist=(429, 500, 502, 503, 504))
    session.mount("https://", HTTPAdapter(max_retries=retry))
    session.mount("http://", HTTPAdapter(max_retries=retry))
    return session


def file_url(session: requests.Session, distribution: str, file: str) -> str:
    """Find where `file` of `distribution` can be downloaded.

    Raises:
        LaunchguardError: the index cannot be reached, or lacks the distribution or the file.
    """
    index = index_url()
    try:
        page = PyPISimple(index, session=session).get_project_page(distribution, timeout=TIMEOUT_SECONDS)
    except NoSuchProjectError as error:
        raise LaunchguardError(f"{index} has no {distribution}; is it the right index?") from error
    except (ValueError, UnsupportedRepoVersionError, requests.RequestException) as error:
        raise _unusable(index, error) from error
    for package in page.packages:
        if package.filename == file:
            return package.url
    raise LaunchguardError(f"{index} has no file {file} of {distribution}; check the version in track.toml")


def _unusable(index: str, error: Exception) -> LaunchguardError:
    if isinstance(error, requests.RequestException) and not isinstance(error, requests.JSONDecodeError):
        return LaunchguardError(
            f"cannot reach the package index {index}: {first_line(error)}; "
            "set UV_DEFAULT_INDEX or PIP_INDEX_URL to one that this machine can reach"
        )
    return LaunchguardError(f"{index} does not answer as a package index: {first_line(error)}")


def first_line(error: Exception) -> str:
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__
