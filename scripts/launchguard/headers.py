"""The grammar of a patch's header trailers, as data."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from launchguard.patchfile import PatchFile

URL = r"https?://\S+"
STATUS_FORMS = {
    "pending": r"pending",
    "submitted": rf"submitted {URL}",
    "merged": r"merged \S+ [0-9a-f]{40}",
    "never": r"never \S.*",
}


@dataclass(frozen=True)
class Trailer:
    """One trailer that every patch carries.

    Args:
        key: its name.
        form: the regular expression that its value matches whole.
        example: what the message shows somebody who got it wrong.
    """

    key: str
    form: str
    example: str


# git am takes such a line at the start of a message for the mail's own header (gitmailinfo, "in-body headers").
_READ_AS_HEADER = re.compile(r"(?:From|Subject|Date):\s|\[PATCH\]\s|>From\s", re.IGNORECASE)

TRAILERS = (
    Trailer("Launchguard-Slug", r"[a-z0-9]+(?:-[a-z0-9]+)*", "provider-preflight"),
    Trailer(
        "Upstream-Status",
        "|".join(STATUS_FORMS.values()),
        "pending | submitted URL | merged VERSION COMMIT | never REASON",
    ),
    Trailer("Upstream-Issue", URL, "https://github.com/apache/airflow/issues/69760"),
    Trailer("Rules", r"[RP]\d+(?: [RP]\d+)*", "R8 R9 R10"),
)


def header_faults(patch: PatchFile) -> Iterator[str]:
    """Tell everything that is wrong with a patch's header, a line each, ready to print."""
    where = f"{patch.slug}.patch"
    cut = cut_fault(patch)
    yield from [f"{where}: {cut}"] if cut else _trailer_faults(patch, where)
    if _READ_AS_HEADER.match(patch.message.lstrip()):
        line = patch.message.lstrip().partition("\n")[0]
        yield f"{where}: git reads the message's first line {line!r} as a header; reword it"
    if not patch.subject.strip():
        yield f"{where}: no subject"
    if "<" not in patch.author or "@" not in patch.author:
        yield f"{where}: From is {patch.author!r}; wanted a name and <mail>"


def cut_fault(patch: PatchFile) -> str | None:
    """Name the line at which git would cut a message; what stands below it, trailers too, would be lost."""
    ends_early = not patch.diff.startswith(b"diff --git ") or b"\nLaunchguard-Slug: " in patch.diff
    line = patch.diff.splitlines()[0].decode("utf-8", "replace")
    return f"the message has the line {line!r}, where git cuts it; indent or reword that line" if ends_early else None


def _trailer_faults(patch: PatchFile, where: str) -> Iterator[str]:
    for trailer in TRAILERS:
        values = [value for key, value in patch.trailers if key == trailer.key]
        if not values:
            yield f"{where}: no {trailer.key} trailer (for example {trailer.key}: {trailer.example})"
        elif len(values) > 1:
            yield f"{where}: {trailer.key} stands {len(values)} times; keep one"
        elif not re.fullmatch(trailer.form, values[0]):
            yield f"{where}: {trailer.key} is {values[0]!r}; wanted: {trailer.example}"
    named = patch.trailer("Launchguard-Slug")
    if named is not None and named != patch.slug:
        yield f"{where}: Launchguard-Slug is {named!r}; the file's name says {patch.slug!r}"


def is_merged(patch: PatchFile) -> bool:
    return (patch.trailer("Upstream-Status") or "").startswith("merged ")
