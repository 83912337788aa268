"""Conditions under which upstream leaves a test out."""

from __future__ import annotations

import os

import pytest

skip_if_force_lowest_dependencies_marker = pytest.mark.skipif(
    os.environ.get("FORCE_LOWEST_DEPENDENCIES", "") == "true",
    reason="with the lowest dependencies only some providers are there",
)
skip_if_not_on_main = pytest.mark.skip(reason="compares with the providers of upstream's main branch")
