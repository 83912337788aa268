from __future__ import annotations

import pytest

from launchguard.errors import Exit, LaunchguardError, cannot_tell, error_handler, hide_passwords


def ended(error: BaseException, folder) -> int:
    with pytest.raises(SystemExit) as caught, error_handler(folder):
        raise error
    return caught.value.code


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (LaunchguardError("no"), 1),
        (cannot_tell("no"), 2),
        (ZeroDivisionError("no"), 3),
        (KeyboardInterrupt(), 130),
    ],
)
def test_every_end_has_its_code(error, code, tmp_path):
    assert ended(error, tmp_path) == code


def test_a_good_end_passes_through(tmp_path):
    with error_handler(tmp_path):
        done = True
    assert done


def test_an_expected_error_is_one_line(tmp_path, capsys):
    ended(LaunchguardError("no such thing; make it"), tmp_path)
    assert capsys.readouterr() == ("", "error: no such thing; make it\n")


def test_an_interrupt_is_one_line(tmp_path, capsys):
    ended(KeyboardInterrupt(), tmp_path)
    assert capsys.readouterr() == ("", "interrupted\n")


def test_an_unexpected_error_leaves_a_report_to_send(tmp_path, capsys):
    ended(ZeroDivisionError("at https://me:secret@host/"), tmp_path / "logs")
    log = tmp_path / "logs/unexpected-error.log"
    assert capsys.readouterr().err == (
        f"unexpected error: ZeroDivisionError: at https://host/\nthe report to send: {log}\n"
    )
    report = log.read_text()
    assert "command: " in report
    assert "Traceback" in report
    assert "secret" not in report


def test_an_exit_of_click_keeps_its_code(tmp_path):
    assert ended(SystemExit(Exit.PROBLEMS), tmp_path) == 1


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("at https://me:secret@host/simple/ and http://you:word@other", "at https://host/simple/ and http://other"),
        ("https://token@host", "https://host"),
        ("https://me:se@cret@host/x", "https://host/x"),
        ("https://host/@scope/package", "https://host/@scope/package"),
        ("mail ada@example.org", "mail ada@example.org"),
        ("GET https://host/a, ask ada@example.org", "GET https://host/a, ask ada@example.org"),
    ],
)
def test_passwords_in_urls_are_hidden(text, hidden):
    assert hide_passwords(text) == hidden
    assert str(LaunchguardError(text)) == hidden
