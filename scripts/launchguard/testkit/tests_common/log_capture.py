"""One view of what is logged through ``logging`` and, since Airflow 3.1, through structlog."""

from __future__ import annotations

import logging
import re
import sys
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any
from unittest import mock

import structlog

from tests_common.test_utils.version_compat import AIRFLOW_V_3_1_PLUS

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableMapping

    import pytest

_ENTRY = "structlog_entry"
_stamp_time = structlog.processors.MaybeTimeStamper(fmt="iso")


class LogCapture:
    """Pytest's ``caplog`` with structlog's events among its records.

    Beside everything that ``caplog`` has, ``entries`` gives each message as structlog's testing tools do, and
    ``in`` finds an entry by its event text or by the fields of a mapping, whose values may be patterns.
    """

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self._caplog = caplog
        self._levels = ExitStack()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._caplog, name)

    @property
    def entries(self) -> list[dict[str, Any]]:
        return [_entry(record) for record in self._caplog.records]

    def __getitem__(self, index: int) -> dict[str, Any]:
        return self.entries[index]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.entries)

    def __contains__(self, wanted: str | dict[str, Any]) -> bool:
        fields = wanted if isinstance(wanted, dict) else {"event": wanted}
        return any(
            all(name in entry and _matches(entry[name], value) for name, value in fields.items())
            for entry in self.entries
        )

    def __repr__(self) -> str:
        return repr(self.entries)

    @contextmanager
    def at_level(self, level: int | str, logger: str | None = None) -> Iterator[None]:
        """Log from ``level`` on, in general or for one logger, for the length of the context."""
        number = _level_number(level)
        with self._caplog.at_level(number, logger=logger), _structlog_level(number, logger):
            yield

    def set_level(self, level: int | str, logger: str | None = None) -> None:
        """Log from ``level`` on, in general or for one logger, until the test ends."""
        number = _level_number(level)
        self._caplog.set_level(number, logger=logger)
        self._levels.enter_context(_structlog_level(number, logger))

    @contextmanager
    def capturing(self) -> Iterator[LogCapture]:
        """Take structlog's events away from their usual output."""
        processors = structlog.get_config()["processors"]
        # Bound loggers keep a reference to this very list.
        usual = list(processors)
        processors[:] = [self._take_event]
        try:
            yield self
        finally:
            processors[:] = usual
            self._levels.close()

    def _take_event(self, logger: Any, method: str, event: MutableMapping[str, Any]) -> Any:
        record = logging.LogRecord(
            name=event.get("logger_name") or getattr(logger, "name", None),
            level=_level_number(method),
            pathname="",
            lineno=0,
            msg=event.get("event"),
            args=(),
            exc_info=_exception_info(event.get("exc_info")),
        )
        setattr(record, _ENTRY, _rendered({**event, "log_level": method}))
        self._caplog.handler.handle(record)
        raise structlog.DropEvent


def _rendered(entry: dict[str, Any]) -> Any:
    """Add what Airflow's own chain of processors would have: the time, and an exception in the form of data."""
    return structlog.processors.dict_tracebacks(None, "", _stamp_time(None, "", entry))


def _entry(record: logging.LogRecord) -> dict[str, Any]:
    return getattr(record, _ENTRY, None) or {
        "event": record.getMessage(),
        "log_level": record.levelname.lower(),
        "logger_name": record.name,
    }


def _matches(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, re.Pattern):
        return wanted.match(found) is not None
    return found == wanted


def _level_number(level: int | str) -> int:
    if isinstance(level, int):
        return level
    name = {"EXCEPTION": "ERROR", "WARN": "WARNING", "FATAL": "CRITICAL"}.get(level.upper(), level.upper())
    return logging.getLevelName(name)


def _exception_info(value: Any) -> Any:
    if isinstance(value, BaseException):
        return type(value), value, value.__traceback__
    return sys.exc_info() if value is True else value


@contextmanager
def _structlog_level(level: int, logger: str | None) -> Iterator[None]:
    with ExitStack() as stack:
        for levels in _level_tables():
            stack.enter_context(mock.patch.dict(levels, {logger or "": level}))
        yield


def _level_tables() -> list[Any]:
    """Return the per-logger levels; the core and the SDK each carry a copy of the module that holds them."""
    if not AIRFLOW_V_3_1_PLUS:
        return []
    from airflow._shared.logging.structlog import PER_LOGGER_LEVELS
    from airflow.sdk._shared.logging.structlog import PER_LOGGER_LEVELS as SDK_LEVELS

    return [PER_LOGGER_LEVELS, SDK_LEVELS]
