"""A whole Airflow on a stand-in for Kubernetes."""

from __future__ import annotations

import contextlib
import socket
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from launchguard import console
from launchguard.lab.airflow import rowlog
from launchguard.lab.airflow.component import Component, Role
from launchguard.lab.airflow.database import airflow_url, database_name, fresh_database
from launchguard.lab.airflow.environment import DAGS, Site, control_env, worker_image, write_pod_template
from launchguard.lab.airflow.gateway import Gateway
from launchguard.lab.airflow.rest import Rest, wait_until
from launchguard.lab.airflow.rowlog import RowLog
from launchguard.lab.cluster.diary import Diary
from launchguard.lab.cluster.route import listening_address
from launchguard.lab.cluster.running import joined
from launchguard.lab.history import History
from launchguard.lab.kubeconfig import write_kubeconfig
from launchguard.lab.kubelet.settings import KubeletSettings
from launchguard.lab.standin import StandInSettings, running
from launchguard.process import run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from launchguard.lab.cluster.choice import Place
    from launchguard.lab.cluster.port import ClusterPort

_READY_WITHIN: Final = 180.0


@dataclass(frozen=True, slots=True)
class Blueprint:
    """What to deploy.

    Args:
        venv: the installation of Airflow, with psycopg2 and asyncpg.
        api_server: another installation for the API server; None takes `venv`.
        workers: another installation for the workers' image; None takes `venv`.
        schedulers: the names of as many schedulers; the API stand-in and its faults know them by these.
        triggerer: whether deferred tasks are to go on.
        settings: more of Airflow's settings.
        pods_at_once: how many pods the stand-in's one node takes: a worker costs about 5 s of CPU to start.
        place: a real cluster for the workers; None for the stand-in.
    """

    venv: Path
    api_server: Path | None = None
    workers: Path | None = None
    schedulers: Sequence[str] = ("scheduler-a", "scheduler-b")
    triggerer: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)
    pods_at_once: int = 4
    seed: int = 0
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Deployment:
    """An Airflow that runs."""

    site: Site
    cluster: ClusterPort
    history: History
    rest: Rest
    components: Mapping[str, Component]
    rows: RowLog

    def check(self) -> None:
        """Make sure that nothing ended by itself.

        Raises:
            LaunchguardError: a component has; the message has the last lines of its log.
        """
        for component in self.components.values():
            component.check()


@contextlib.contextmanager
def migrated(folder: Path, venv: Path, server: str) -> Iterator[str]:
    """Give the name of a migrated database, from which deployments take copies: a migration takes 10 s of CPU."""
    with fresh_database(server) as url:
        site = Site(folder, folder, airflow_url(url), 0, 0)
        environment = control_env(site, venv, folder / "kubeconfig-migrate")
        with console.working("migrating a database"):
            run(venv / "bin" / "airflow", "db", "migrate", cwd=folder, env=environment)
        rowlog.install(url)
        yield database_name(url)


@contextlib.contextmanager
def deployed(folder: Path, blueprint: Blueprint, *, server: str, template: str) -> Iterator[Deployment]:
    """Start a cluster and all of Airflow; give it once it is ready, and leave nothing behind.

    Args:
        folder: for logs, history and settings.
        server: URL of the PostgreSQL server's maintenance database.
        template: the name of a migrated database; see `migrated`.

    Raises:
        LaunchguardError: something did not come up.
    """
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(fresh_database(server, template))
        rows = RowLog(database)
        stack.callback(rows.close)
        url = airflow_url(database)
        temporary = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lab-", ignore_cleanup_errors=True)))
        ports = (_free_port(), _free_port())
        site = Site(folder, DAGS, url, *ports, settings=blueprint.settings, temporary=temporary)
        cluster, site = stack.enter_context(_cluster(site, blueprint))
        history = stack.enter_context(History(site.history, "lab"))
        stack.enter_context(_gateway(site, cluster, history))
        components = _components(site, blueprint, cluster.url, history)
        for component in components.values():
            # No graceful end: a scheduler may take 20 s for its own, and what it would leave is thrown away.
            stack.callback(component.kill)
            component.start()
        deployment = Deployment(site, cluster, history, Rest(site.api_url), components, rows)
        with console.working("starting Airflow"):
            _await_ready(deployment, blueprint)
        yield deployment


@contextlib.contextmanager
def _cluster(site: Site, blueprint: Blueprint) -> Iterator[tuple[ClusterPort, Site]]:
    """Give the cluster, and the site as it is in it; the pods' template is written."""
    if blueprint.place is None:
        write_pod_template(site)
        with running(site.folder, _cluster_settings(site, blueprint)) as standin:
            yield standin, site
        return
    with joined(site.folder, blueprint.place, blueprint.seed) as cluster:
        moved = cluster.moved(site)
        write_pod_template(moved, cluster.template(moved))
        yield cluster, moved


@contextlib.contextmanager
def _gateway(site: Site, cluster: ClusterPort, history: History) -> Iterator[None]:
    gateway = Gateway(site.api_url, history, Diary(site.history, site.diary_key))
    cluster.wait(gateway.listen(site.worker_port, listening_address(site.worker_host)))
    try:
        yield
    finally:
        cluster.wait(gateway.close())


def _cluster_settings(site: Site, blueprint: Blueprint) -> StandInSettings:
    kubelet = KubeletSettings(pods_per_node=blueprint.pods_at_once)
    images = {site.image: worker_image(site, blueprint.workers or blueprint.venv)}
    return StandInSettings(images=images, kubelet=kubelet, seed=blueprint.seed)


def _components(site: Site, blueprint: Blueprint, cluster_url: str, history: History) -> dict[str, Component]:
    roles = {
        "api-server": Role.API_SERVER,
        "dag-processor": Role.DAG_PROCESSOR,
        **dict.fromkeys(blueprint.schedulers, Role.SCHEDULER),
        **({"triggerer": Role.TRIGGERER} if blueprint.triggerer else {}),
    }
    made = {}
    for name, role in roles.items():
        kubeconfig = write_kubeconfig(site.folder / f"kubeconfig-{name}", cluster_url, user=name)
        venv = (role is Role.API_SERVER and blueprint.api_server) or blueprint.venv
        command = [str(venv / "bin" / "airflow"), role.value]
        if role is Role.API_SERVER:
            command += ["--host", "127.0.0.1", "--port", str(site.api_port), "--workers", "1"]
        log = site.folder / "components" / f"{name}.log"
        made[name] = Component(name, command, control_env(site, venv, kubeconfig, name), log=log, history=history)
    return made


def _await_ready(deployment: Deployment, blueprint: Blueprint) -> None:
    wanted = len(blueprint.schedulers)

    def ready() -> bool:
        return deployment.rest.schedulers_alive() >= wanted and bool(deployment.rest.dag_ids())

    wait_until("Airflow's start", ready, within=_READY_WITHIN, check=deployment.check)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
