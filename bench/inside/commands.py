"""What the programs that run inside Airflow's environments have in common: requests come in as JSON lines."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator


class Requests:
    """Requests on stdin, answers on stdout; whatever else writes to stdout lands on stderr."""

    def __init__(self) -> None:
        self._answers: TextIO = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for line in sys.stdin:
            yield json.loads(line)

    def answer(self, **values: object) -> None:
        self._answers.write(json.dumps(values) + "\n")
        self._answers.flush()
