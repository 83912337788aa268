from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from launchguard.errors import LaunchguardError
from launchguard.process import CommandError, run, run_logged

SHOUT = "import sys; print('to out'); print('to err', file=sys.stderr); sys.exit(7)"
# A parent with a child that both write their ids and wait; {ignore} may make them deaf to a polite end.
FAMILY = """
import os, signal, subprocess, sys, time
{ignore}
if len(sys.argv) < 3:
    subprocess.Popen([sys.executable, __file__, sys.argv[1], "child"])
path = os.path.join(sys.argv[1], "-".join(["pid", *sys.argv[2:]]))
with open(path + ".new", "w") as file:
    file.write(str(os.getpid()))
os.rename(path + ".new", path)
time.sleep(60)
"""
DEAF = "for one in (signal.SIGINT, signal.SIGTERM): signal.signal(one, signal.SIG_IGN)"
RUNNER = """
import sys
from pathlib import Path
from launchguard import process
if len(sys.argv) > 3:
    process.GRACE_SECONDS = float(sys.argv[3])
process.run_logged([sys.executable, sys.argv[1], sys.argv[2]], log=Path(sys.argv[2], "log"))
"""


def wait_for(condition) -> None:
    for _ in range(2400):
        if condition():
            return
        time.sleep(0.05)
    pytest.fail("waited two minutes in vain")


def alive(pid: int) -> bool:
    """Tell whether a process runs; a zombie does not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text() if Path("/proc/self").exists() else ""
        os.kill(pid, 0)
    except (ProcessLookupError, FileNotFoundError):
        return False
    return status.rpartition(")")[2].split()[:1] != ["Z"]


def test_run_gives_code_and_streams():
    completed = run(sys.executable, "-c", SHOUT, check=False)
    assert (completed.code, completed.text, completed.messages) == (7, "to out\n", "to err\n")


def test_run_reads_nothing_of_the_terminal_and_takes_what_it_is_given():
    assert run("cat").out == b""
    assert run("cat", stdin=b"\0\xff").out == b"\0\xff"


def test_run_uses_only_the_environment_it_is_given(monkeypatch):
    monkeypatch.setenv("SEEN", "no")
    assert run("env", env={"PATH": os.environ["PATH"], "ONLY": "this"}).text.splitlines()[-1:] == ["ONLY=this"]
    assert "SEEN" not in run("env", env={"PATH": os.environ["PATH"]}).text


def test_a_failure_shows_command_code_and_both_streams():
    with pytest.raises(CommandError) as caught:
        run(sys.executable, "-c", SHOUT)
    lines = str(caught.value).splitlines()
    assert lines[0].startswith(f"command failed with code 7: {sys.executable} -c 'import sys;")
    assert lines[1:] == ["  stdout:", "    to out", "  stderr:", "    to err"]


def test_a_silent_failure_is_one_line():
    with pytest.raises(CommandError, match="command failed with code 1: false") as caught:
        run("false")
    assert len(str(caught.value).splitlines()) == 1


def test_a_missing_program_and_a_missing_folder_are_told_apart(tmp_path):
    with pytest.raises(LaunchguardError, match="there is no program 'no-such-thing' here; install it"):
        run("no-such-thing")
    with pytest.raises(LaunchguardError, match=r"there is no folder .*gone"):
        run("true", cwd=tmp_path / "gone")
    with pytest.raises(LaunchguardError, match="there is no program"):
        run_logged(["no-such-thing"], log=tmp_path / "log")


def test_run_logged_keeps_both_streams_and_gives_the_code(tmp_path):
    log = tmp_path / "new/folder/log"
    assert run_logged([sys.executable, "-c", SHOUT], log=log) == 7
    first, *rest = log.read_text().splitlines()
    assert first.startswith(f"$ {sys.executable} -c ")
    assert sorted(rest) == ["to err", "to out"]


def test_run_logged_starts_its_log_anew(tmp_path):
    log = tmp_path / "log"
    log.write_text("old\n")
    run_logged(["true"], log=log)
    assert log.read_text() == "$ true\n"


def start_family(tmp_path: Path, *, ignore: str = "", grace: str = "20") -> tuple[subprocess.Popen[bytes], list[int]]:
    script = tmp_path / "family.py"
    script.write_text(FAMILY.format(ignore=ignore))
    process = subprocess.Popen(
        [sys.executable, "-c", RUNNER, script, tmp_path, grace], stderr=subprocess.PIPE, start_new_session=True
    )
    files = [tmp_path / "pid", tmp_path / "pid-child"]
    wait_for(lambda: all(file.exists() for file in files))
    return process, [int(file.read_text()) for file in files]


def test_an_interrupt_stops_the_program_and_its_children(tmp_path):
    process, family = start_family(tmp_path)
    assert all(map(alive, family))
    process.send_signal(signal.SIGINT)
    assert b"KeyboardInterrupt" in process.communicate(timeout=120)[1]
    wait_for(lambda: not any(map(alive, family)))


def test_what_ignores_polite_ends_is_killed(tmp_path):
    process, family = start_family(tmp_path, ignore=DEAF, grace="0.2")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    wait_for(lambda: not any(map(alive, family)))


def test_a_second_interrupt_ends_the_patience_and_leaves_no_orphan(tmp_path):
    process, family = start_family(tmp_path, ignore=DEAF, grace="600")
    process.send_signal(signal.SIGINT)
    while process.poll() is None:  # the first may still be on its way into Python
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    wait_for(lambda: not any(map(alive, family)))


def test_a_failing_watcher_stops_the_program(tmp_path):
    def watch() -> None:
        if (tmp_path / "pid").exists():
            raise ZeroDivisionError

    script = tmp_path / "family.py"
    script.write_text(FAMILY.format(ignore=""))
    with pytest.raises(ZeroDivisionError):
        run_logged([sys.executable, script, tmp_path], log=tmp_path / "log", watch=watch)
    assert not alive(int((tmp_path / "pid").read_text()))
