"""Images of the lab: names for environments that are on this machine already."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping


class LocalImage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an image name stands for.

    Args:
        env: the image's variables, `PATH` above all: a venv's `bin` first makes it that venv's image.
        entrypoint: the program of a container that names no command; its args follow.
        workdir: where processes start.
    """

    env: dict[str, str] = {}
    entrypoint: tuple[str, ...] = ()
    workdir: str = "/"


class Images:
    """Finds images by name.

    Args:
        table: shell patterns and what they stand for, the first that matches counts.
    """

    def __init__(self, table: Mapping[str, LocalImage]) -> None:
        self._table = dict(table)

    def find(self, name: str) -> LocalImage | None:
        """Give the image; None for one that cannot be pulled."""
        return next((image for pattern, image in self._table.items() if fnmatchcase(name, pattern)), None)


def any_image() -> Images:
    """Take every image for this machine's own environment, of which only PATH is passed on."""
    return Images({"*": LocalImage(env={"PATH": os.environ.get("PATH", os.defpath)})})
