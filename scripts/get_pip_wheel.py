"""Download pip's wheel with nothing but the standard library, for a Python that came without pip."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import urllib.parse
import urllib.request
from pathlib import Path


def main(target: Path) -> None:
    """Write the newest pip wheel to `target`, verified against the index's hash."""
    index = os.environ.get("PIP_INDEX_URL") or os.environ.get("UV_DEFAULT_INDEX") or "https://pypi.org/simple"
    page = f"{index.rstrip('/')}/pip/"
    request = urllib.request.Request(page, headers={"Accept": "application/vnd.pypi.simple.v1+json"})  # noqa: S310
    with urllib.request.urlopen(request) as answer:  # noqa: S310  the user's own index
        files = json.load(answer)["files"]
    wheels = [file for file in files if file["filename"].endswith(".whl") and not file.get("yanked")]
    newest = max(wheels, key=lambda file: file.get("upload-time", ""))
    with urllib.request.urlopen(urllib.parse.urljoin(page, newest["url"])) as answer:  # noqa: S310
        content = answer.read()
    if hashlib.sha256(content).hexdigest() != newest["hashes"]["sha256"]:
        sys.exit(f"get_pip_wheel: {newest['filename']} does not have the hash that the index names")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]))
    except (OSError, ValueError, KeyError) as error:
        sys.exit(
            f"get_pip_wheel: cannot get pip from the package index ({error}); install python3-pip, or set PIP_INDEX_URL"
        )
