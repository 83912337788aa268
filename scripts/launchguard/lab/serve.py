"""`python -m launchguard.lab.serve`: a stand-in cluster until it is told to stop."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
import rich_click as click

from launchguard.console import say
from launchguard.errors import LaunchguardError, error_handler
from launchguard.lab.control import Control
from launchguard.lab.kubeconfig import write_kubeconfig
from launchguard.lab.plan import Plan, read_plan
from launchguard.lab.standin import StandIn, StandInSettings

if TYPE_CHECKING:
    from collections.abc import Sequence


def read_settings(path: Path | None) -> StandInSettings:
    """Read settings from a JSON file; the defaults where there is none.

    Raises:
        LaunchguardError: the file is none; the message has the path of the wrong field.
    """
    if path is None:
        return StandInSettings()
    try:
        return msgspec.json.decode(path.read_bytes(), type=StandInSettings)
    except (msgspec.DecodeError, OSError) as error:
        raise LaunchguardError(f"settings {path}: {error}") from error


async def serve(
    folder: Path,
    settings: StandInSettings,
    *,
    control_port: int = 0,
    plan: Plan | None = None,
    users: Sequence[str] = (),
) -> None:
    """Run a stand-in and its control endpoint until SIGTERM or SIGINT."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    standin = StandIn(folder, settings)
    control = Control(standin)
    await standin.start()
    await control.listen(control_port)
    try:
        standin.begin(plan or Plan())
        write_kubeconfig(folder / "kubeconfig", standin.api.url)
        for user in users:
            write_kubeconfig(folder / f"kubeconfig-{user}", standin.api.url, user=user)
        about = {"api": standin.api.url, "control": control.url, "pid": os.getpid()}
        (folder / "standin.json").write_bytes(msgspec.json.encode(about))
        say(f"ready api={standin.api.url} control={control.url} kubeconfig={folder / 'kubeconfig'}")
        await stop.wait()
    finally:
        await control.close()
        await standin.stop()


_FOLDER: Final = click.Path(path_type=Path, file_okay=False)
_FILE: Final = click.Path(path_type=Path, dir_okay=False, exists=True)


@click.command()
@click.option("--dir", "folder", type=_FOLDER, required=True, help="For the history, logs and kubeconfig files.")
@click.option("--port", type=int, default=0, show_default="a free one", help="Of the Kubernetes API.")
@click.option("--control-port", type=int, default=0, show_default="a free one", help="Of the control endpoint.")
@click.option("--settings", type=_FILE, help="A JSON file.")
@click.option("--plan", type=_FILE, help="Faults, a JSON file.")
@click.option("--user", "users", multiple=True, help="Write kubeconfig-USER too, whose requests are told apart.")
def main(
    *, folder: Path, port: int, control_port: int, settings: Path | None, plan: Path | None, users: tuple[str, ...]
) -> None:
    """Serve a stand-in for a Kubernetes cluster on loopback."""
    folder = folder.resolve()
    with error_handler(folder):
        chosen = read_settings(settings)
        chosen = msgspec.structs.replace(chosen, port=port or chosen.port)
        faults = read_plan(plan) if plan else None
        asyncio.run(serve(folder, chosen, control_port=control_port, plan=faults, users=users))


if __name__ == "__main__":
    main()
