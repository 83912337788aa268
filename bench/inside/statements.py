"""Count what goes to the database."""

# mypy: ignore-errors
# It runs in environments that have Airflow; the one that mypy looks at has none.
from __future__ import annotations

from sqlalchemy import event
from sqlalchemy.engine import Engine


class Statements:
    """How many statements this process has sent: by all engines, asynchronous ones too."""

    def __init__(self) -> None:
        self.sent = 0
        event.listen(Engine, "before_cursor_execute", self._see)

    def _see(self, *_about: object) -> None:
        self.sent += 1
