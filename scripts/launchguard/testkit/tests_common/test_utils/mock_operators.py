"""Operators and links that do nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator, BaseOperatorLink

if TYPE_CHECKING:
    from collections.abc import Sequence


class MockOperator(BaseOperator):
    """An operator with two templated arguments."""

    template_fields: Sequence[str] = ("arg1", "arg2")

    def __init__(self, arg1: str = "", arg2: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.arg1 = arg1
        self.arg2 = arg2

    def execute(self, context: Any) -> None:
        """Do nothing."""


class AirflowLink(BaseOperatorLink):
    """A link that is the same for every task instance."""

    name = "airflow"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        return "https://airflow.apache.org"
