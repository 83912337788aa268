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
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a polite kill stops children as Ctrl-C does
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
