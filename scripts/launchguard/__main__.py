"""The program's start."""

from __future__ import annotations

import signal
import sys
import tempfile
from pathlib import Path

import click

from launchguard.cli import cli
from launchguard.errors import Exit, LaunchguardError, error_handler
from launchguard.project import find_project


def main() -> None:
    """Run the command line; every way it can end has its exit code (see `errors.Exit`)."""
    for sign in (signal.SIGTERM, signal.SIGHUP):  # a polite kill, a closed terminal: they stop children as Ctrl-C does
        if signal.getsignal(sign) is not signal.SIG_IGN:  # nohup means it
            signal.signal(sign, signal.default_int_handler)
    with error_handler(_log_folder()):
        try:
            words = sys.argv[1:] or ["--help"]
            sys.exit(cli.main(words, prog_name="launchguard", standalone_mode=False) or Exit.GOOD)
        except click.Abort:
            raise KeyboardInterrupt from None
        except click.ClickException as error:
            error.show()
            sys.exit(Exit.PROBLEMS)


def _log_folder() -> Path:
    try:
        return find_project().logs
    except LaunchguardError:
        return Path(tempfile.gettempdir())


if __name__ == "__main__":
    main()
