"""JUnit XML as a real pytest writes it."""

from __future__ import annotations

import subprocess
import sys

from launchguard.results import Outcome, read_junit

TESTS = """
import pytest

class TestThings:
    def test_passes(self): pass
    def test_fails(self): assert 1 == 2, "one is not two"
    @pytest.mark.skip(reason="not here")
    def test_skipped(self): pass
    @pytest.mark.xfail(reason="known", strict=True)
    def test_xfails(self): assert False

@pytest.fixture
def broken(): raise RuntimeError("no set-up")
@pytest.fixture
def unclean():
    yield
    raise RuntimeError("no tear-down")

def test_error(broken): pass
def test_fails_only_afterwards(unclean): pass
@pytest.mark.parametrize("value", [1, 2])
def test_parameters(value): assert value
"""


def test_every_outcome_of_pytest_is_read_once(tmp_path):
    (tmp_path / "test_x.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml=j.xml", "-c", "/dev/null"]
    subprocess.run([*command, "--rootdir=."], cwd=tmp_path, check=False, capture_output=True)
    results = {result.id: result for result in read_junit(tmp_path / "j.xml")}
    assert {name: result.outcome for name, result in results.items()} == {
        "test_x.TestThings::test_passes": Outcome.PASSED,
        "test_x.TestThings::test_fails": Outcome.FAILED,
        "test_x.TestThings::test_skipped": Outcome.SKIPPED,
        "test_x.TestThings::test_xfails": Outcome.SKIPPED,
        "test_x::test_error": Outcome.FAILED,
        "test_x::test_fails_only_afterwards": Outcome.FAILED,
        "test_x::test_parameters[1]": Outcome.PASSED,
        "test_x::test_parameters[2]": Outcome.PASSED,
    }
    assert "one is not two" in results["test_x.TestThings::test_fails"].detail
    assert "no set-up" in results["test_x::test_error"].detail
    assert "not here" in results["test_x.TestThings::test_skipped"].detail


def test_a_killed_pytest_leaves_no_results(tmp_path):
    assert read_junit(tmp_path / "none.xml") == []
    (tmp_path / "empty.xml").touch()
    assert read_junit(tmp_path / "empty.xml") == []
