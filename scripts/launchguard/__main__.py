"""The program's start."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import click

from launchguard.cli import cli
from launchguard.errors import Exit, error_handler


def main() -> None:
    """Run the command line; every way it can end has its exit code (see `errors.Exit`)."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a polite kill stops children as Ctrl-C does
    with error_handler(Path("build/logs")):
        try:
            sys.exit(cli.main(standalone_mode=False) or Exit.GOOD)
        except click.Abort:
            raise KeyboardInterrupt from None
        except click.ClickException as error:
            error.show()
            sys.exit(Exit.PROBLEMS)


if __name__ == "__main__":
    main()
