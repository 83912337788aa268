"""Finds a distribution's files on a package index: the user's own, as pip and uv are told of it."""

from __future__ import annotations

import configparser
import os
import tomllib
from pathlib import Path

import requests
import truststore
from pypi_simple import NoSuchProjectError, PyPISimple
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from launchguard.errors import LaunchguardError

PYPI = "https://pypi.org/simple/"
VARIABLES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")


def index_url() -> str:
    """Give the package index to use: uv's or pip's variables, then their settings files, then PyPI."""
    for name in VARIABLES:
        if os.environ.get(name):
            return os.environ[name].rpartition("=")[2] if name == "UV_DEFAULT_INDEX" else os.environ[name]
    return _uv_setting() or _pip_setting() or PYPI


def _uv_setting() -> str | None:
    base = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    for path in (Path(os.environ.get("UV_CONFIG_FILE") or base / "uv/uv.toml"), Path("/etc/uv/uv.toml")):
        if path.is_file():
            settings = tomllib.loads(path.read_text(encoding="utf-8"))
            named = [entry["url"] for entry in settings.get("index", []) if entry.get("default")]
            if named or settings.get("index-url"):
                return str(named[0] if named else settings["index-url"])
    return None


def _pip_setting() -> str | None:
    base = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    named = os.environ.get("PIP_CONFIG_FILE")
    usual = ("/etc/xdg/pip/pip.conf", "/etc/pip.conf", Path.home() / ".pip/pip.conf", base / "pip/pip.conf")
    parser = configparser.RawConfigParser()
    parser.read([*usual, *([named] if named else [])], encoding="utf-8")
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
        page = PyPISimple(index, session=session).get_project_page(distribution)
    except NoSuchProjectError as error:
        raise LaunchguardError(f"{_plain(index)} has no {distribution}; is it the right index?") from error
    except requests.RequestException as error:
        raise LaunchguardError(
            f"cannot reach the package index {_plain(index)}: {_reason(error)}; "
            "set UV_DEFAULT_INDEX or PIP_INDEX_URL to one that this machine can reach"
        ) from error
    for package in page.packages:
        if package.filename == file:
            return package.url
    raise LaunchguardError(f"{_plain(index)} has no file {file} of {distribution}; check the version in track.toml")


def _plain(url: str) -> str:
    """Leave a password out of a message."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"


def _reason(error: Exception) -> str:
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__
