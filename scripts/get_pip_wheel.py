"""Download pip's wheel with nothing but the standard library, for a Python that came without pip."""

from __future__ import annotations

import hashlib
import html.parser
import http.client
import json
import os
import re
import sys
import urllib.parse
import urllib.request
from pathlib import Path

ACCEPT = "application/vnd.pypi.simple.v1+json, text/html;q=0.1"
# Releases only: pre-releases have letters in their version.
WHEEL = re.compile(r"pip-(\d+(?:\.\d+)*)-py3-none-any\.whl")


class Links(html.parser.HTMLParser):
    """Collects the link targets of a package index's page, for an index that has no JSON."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        links = dict(attrs)
        if tag == "a" and links.get("href") and "data-yanked" not in links:
            self.found.append(str(links["href"]))


def main(target: Path) -> None:
    """Write the newest pip wheel to `target`, verified against the index's hash."""
    index = os.environ.get("PIP_INDEX_URL") or "https://pypi.org/simple"
    page = f"{index.rstrip('/')}/pip/"
    wheels = {}
    for link in _links(page):
        found = WHEEL.fullmatch(urllib.parse.urlsplit(link).path.rpartition("/")[2])
        if found:
            wheels[tuple(map(int, found[1].split(".")))] = urllib.parse.urljoin(page, link)
    if not wheels:
        raise ValueError("it has no wheel of pip")
    url, _, wanted = wheels[max(wheels)].partition("#sha256=")
    _, content = _get(url)
    if hashlib.sha256(content).hexdigest() != wanted:
        raise ValueError(f"{url.rpartition('/')[2]} does not have the hash that the index names")
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = target.with_suffix(".new")
    aside.write_bytes(content)
    aside.replace(target)


def _links(page: str) -> list[str]:
    kind, content = _get(page)
    if "json" in kind:
        files = [file for file in json.loads(content)["files"] if not file.get("yanked")]
        return [f"{file['url']}#sha256={file['hashes'].get('sha256', '')}" for file in files]
    parser = Links()
    parser.feed(content.decode())
    return parser.found


def _get(url: str) -> tuple[str, bytes]:
    """Get the content type and the content."""
    parts = urllib.parse.urlsplit(url)
    bare = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    passwords = urllib.request.HTTPPasswordMgrWithPriorAuth()
    if parts.username is not None:
        user, password = (urllib.parse.unquote(text or "") for text in (parts.username, parts.password))
        passwords.add_password(None, bare, user, password, is_authenticated=True)
    opener = urllib.request.build_opener(urllib.request.HTTPBasicAuthHandler(passwords))
    request = urllib.request.Request(bare, headers={"Accept": ACCEPT})  # noqa: S310  the user's own index
    with opener.open(request, timeout=60) as answer:
        return answer.headers.get_content_type(), answer.read()


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]))
    except (OSError, ValueError, KeyError, http.client.HTTPException) as error:
        sys.exit(
            f"get_pip_wheel: cannot get pip from the package index ({error}); install python3-pip, or set PIP_INDEX_URL"
        )
