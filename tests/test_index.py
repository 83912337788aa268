from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest
from fakeindex import Fault, Index

from launchguard.errors import LaunchguardError
from launchguard.index import PYPI, file_url, index_url, web_session

NAME = "apache-airflow-core"
FILE = "apache_airflow_core-1.2.0.tar.gz"
BASIC = "Basic " + base64.b64encode(b"me:secret").decode()


def config(path: str, text: str) -> Path:
    file = Path(os.environ["XDG_CONFIG_HOME"]) / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


@pytest.fixture
def _nothing_of_the_machine(monkeypatch):
    """The files in /etc are the machine's; these settings keep them out."""
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("UV_CONFIG_FILE", os.devnull)


@pytest.fixture
def served(index: Index) -> Index:
    index.files[FILE] = b"content"
    return index


def find(distribution: str = NAME, file: str = FILE) -> str:
    with web_session() as session:
        return file_url(session, distribution, file)


def refusal(distribution: str = NAME, file: str = FILE) -> str:
    with pytest.raises(LaunchguardError) as caught:
        find(distribution, file)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)
    return str(caught.value)


@pytest.mark.usefixtures("_nothing_of_the_machine")
@pytest.mark.parametrize(
    ("variables", "url"),
    [
        ({}, PYPI),
        ({"UV_DEFAULT_INDEX": "https://a/simple"}, "https://a/simple"),
        ({"UV_DEFAULT_INDEX": "mirror=https://a/simple"}, "https://a/simple"),
        ({"UV_DEFAULT_INDEX": "https://me:pa=ss@a/simple"}, "https://me:pa=ss@a/simple"),
        ({"UV_DEFAULT_INDEX": "mirror=https://a/simple?key=x"}, "https://a/simple?key=x"),
        ({"UV_INDEX_URL": "https://b/simple"}, "https://b/simple"),
        ({"PIP_INDEX_URL": "https://c/simple"}, "https://c/simple"),
        ({"PIP_INDEX_URL": "https://c", "UV_INDEX_URL": "https://b", "UV_DEFAULT_INDEX": "https://a"}, "https://a"),
        ({"PIP_INDEX_URL": "https://c", "UV_INDEX_URL": "https://b"}, "https://b"),
        ({"PIP_INDEX_URL": "https://c", "UV_INDEX_URL": ""}, "https://c"),
    ],
)
def test_variables(variables, url, monkeypatch):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert index_url() == url


@pytest.mark.parametrize(
    "text",
    [
        'index-url = "https://a/simple"\n',
        '[[index]]\nurl = "https://a/simple"\ndefault = true\n',
        '[[index]]\nurl = "https://other"\n[[index]]\nname = "x"\nurl = "https://a/simple"\ndefault = true\n',
    ],
)
def test_uvs_settings_file(text, monkeypatch):
    file = config("uv/uv.toml", text)
    config("pip/pip.conf", "[global]\nindex-url = https://pip/simple\n")
    assert index_url() == "https://a/simple"
    named = file.rename(file.with_name("elsewhere.toml"))
    assert index_url() == "https://pip/simple"
    monkeypatch.setenv("UV_CONFIG_FILE", str(named))
    assert index_url() == "https://a/simple"


def test_settings_without_a_default_index_say_nothing(monkeypatch):
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    config("uv/uv.toml", '[[index]]\nurl = "https://extra"\n')
    config("pip/pip.conf", "[global]\nindex-url = https://not-read\n")
    assert index_url() == PYPI


def test_pips_settings_files_the_last_one_wins(monkeypatch):
    old = Path(os.environ["HOME"]) / ".pip/pip.conf"
    old.parent.mkdir()
    old.write_text("[global]\nindex-url = https://old/100%/simple\n")
    assert index_url() == "https://old/100%/simple"
    config("pip/pip.conf", "[global]\nindex-url = https://new/simple\n")
    assert index_url() == "https://new/simple"
    named = config("named.conf", "[global]\nindex_url = x\nindex-url = https://named/simple\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(named))
    assert index_url() == "https://named/simple"


@pytest.mark.parametrize(
    ("path", "text", "told"),
    [
        ("uv/uv.toml", "index-url = ", "uv.toml cannot be read"),
        ("pip/pip.conf", "index-url = x\n", "pip's settings cannot be read"),
        ("pip/pip.conf", "[global]\nindex-url = a\nindex-url = b\n", "pip's settings cannot be read"),
    ],
)
def test_settings_that_cannot_be_read_are_told_in_one_line(path, text, told):
    config(path, text)
    with pytest.raises(LaunchguardError) as caught:
        index_url()
    assert told in str(caught.value)
    assert path in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("html", [False, True], ids=["json", "html"])
def test_a_file_is_found(html, served):
    served.html = html
    assert find().partition("#")[0] == served.url.replace("/simple/", f"/files/{FILE}")


def test_an_address_without_its_last_slash_will_do(served, monkeypatch):
    monkeypatch.setenv("UV_DEFAULT_INDEX", served.url.rstrip("/"))
    assert find().endswith(FILE)


def test_a_server_error_is_tried_again(served):
    served.faults[NAME] += [Fault.ERROR]
    assert find().endswith(FILE)
    assert len(served.asked) == 2


def test_a_missing_distribution(served):
    assert refusal("no-such-thing") == f"{served.url} has no no-such-thing; is it the right index?"


def test_a_missing_version(served):
    missing = "apache_airflow_core-1.2.1.tar.gz"
    assert refusal(file=missing) == f"{served.url} has no file {missing} of {NAME}; check the version in track.toml"


def test_an_index_that_cannot_be_reached(monkeypatch):
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://me:secret@127.0.0.1:1/simple")
    monkeypatch.setattr("urllib3.util.retry.time.sleep", lambda _seconds: None)
    told = refusal()
    assert told.startswith("cannot reach the package index http://127.0.0.1:1/simple: ")
    assert told.endswith("; set UV_DEFAULT_INDEX or PIP_INDEX_URL to one that this machine can reach")


@pytest.mark.parametrize("url", ["nonsense", "file:///tmp/index", "http://[broken"])
def test_an_address_that_is_none(url, monkeypatch):
    monkeypatch.setenv("UV_DEFAULT_INDEX", url)
    assert refusal().startswith(f"cannot reach the package index {url}: ")


def test_the_password_is_used_and_never_told(served, monkeypatch):
    monkeypatch.setenv("UV_DEFAULT_INDEX", served.url.replace("://", "://me:secret@"))
    served.authorization = BASIC
    assert find().endswith(FILE)
    assert refusal("no-such-thing").startswith(f"{served.url} has no ")
    assert refusal(file="other").startswith(f"{served.url} has no file")
    served.authorization = "another"
    assert "401 Client Error" in refusal()


@pytest.mark.parametrize(
    "page",
    [
        (b"hello", "text/plain"),
        (b"{", "application/vnd.pypi.simple.v1+json"),
        (b'{"files": []}', "application/vnd.pypi.simple.v1+json"),
        (b'{"meta": {"api-version": "2.0"}, "name": "x", "files": []}', "application/vnd.pypi.simple.v1+json"),
    ],
)
def test_an_answer_that_is_no_index_page(page, served):
    served.pages[NAME] = page
    assert refusal().startswith(f"{served.url} does not answer as a package index: ")
