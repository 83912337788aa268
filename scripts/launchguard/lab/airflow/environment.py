"""What Airflow's processes are told: settings as variables, and the template of the workers' pods."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from launchguard.lab.kubelet.images import LocalImage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from launchguard.lab.kube.objects import JsonObject

DAGS: Final = Path(__file__).parent / "dags"
SITE: Final = Path(__file__).parent / "site"


@dataclass(frozen=True, slots=True)
class Site:
    """Where a deployment of Airflow is, and what it is made of.

    Args:
        folder: for everything that it writes.
        dags: the folder of its Dags.
        database: an SQLAlchemy URL.
        api_port: of its API server.
        worker_port: where workers reach that, which may be a proxy before it.
        worker_host: the same.
        namespace: of the workers' pods.
        image: the name of the workers' image.
        settings: more of Airflow's settings, such as `AIRFLOW__SCHEDULER__TASK_QUEUED_TIMEOUT`.
    """

    folder: Path
    dags: Path
    database: str
    api_port: int
    worker_port: int
    worker_host: str = "127.0.0.1"
    namespace: str = "default"
    image: str = "lab/airflow:site"
    settings: Mapping[str, str] = field(default_factory=dict)
    # With a short path: processes make sockets there, whose paths have 107 bytes at most. None takes one in `folder`.
    temporary: Path | None = None
    # All processes of a deployment must have the same secrets.
    jwt_secret: str = field(default_factory=secrets.token_hex, repr=False)
    api_secret: str = field(default_factory=secrets.token_hex, repr=False)
    # Workers that share no file with the history tell theirs under this name.
    diary_key: str = field(default_factory=secrets.token_hex, repr=False)

    @property
    def api_url(self) -> str:
        return f"http://127.0.0.1:{self.api_port}"

    @property
    def worker_url(self) -> str:
        host = f"[{self.worker_host}]" if ":" in self.worker_host else self.worker_host
        return f"http://{host}:{self.worker_port}"

    @property
    def history(self) -> Path:
        return self.folder / "history.jsonl"

    @property
    def pod_template(self) -> Path:
        return self.folder / "pod-template.yaml"


def worker_settings(site: Site) -> dict[str, str]:
    """Give what a worker needs, wherever it runs: it does not know the database."""
    return {**_common(site), **{name: value for name, value in site.settings.items() if "DATABASE" not in name}}


def _common(site: Site) -> dict[str, str]:
    return {
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{site.worker_url}/execution/",
        "AIRFLOW__CORE__HOSTNAME_CALLABLE": "launchguard_lab_site.pod_hostname",
        # 5 s are too short for a cold API server on a busy machine.
        "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "30",
    }


def _base(site: Site, venv: Path) -> dict[str, str]:
    """Give what every process on this machine needs, workers too."""
    return {
        **_common(site),
        "PATH": f"{venv / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "HOME": str(site.folder),
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(SITE),
        "AIRFLOW_HOME": str(site.folder / "airflow"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(site.dags),
        "AIRFLOW__LOGGING__BASE_LOG_FOLDER": str(site.folder / "task-logs"),
        # The user code of the lab's Dags writes its own lines into the history.
        "LAUNCHGUARD_LAB_HISTORY": str(site.history),
    }


def control_env(site: Site, venv: Path, kubeconfig: Path, name: str = "") -> dict[str, str]:
    """Give the whole environment of a process that is no worker.

    Args:
        venv: the installation that it runs from.
        kubeconfig: with the name by which the API stand-in is to know this process.
        name: by which the database is to know it.
    """
    temporary = (site.temporary or site.folder / "tmp") / kubeconfig.name
    temporary.mkdir(parents=True, exist_ok=True)
    own = {
        # The dynamic client keeps what it discovered in the temporary folder: not to be shared.
        "TMPDIR": str(temporary),
        # libpq's name for it: the row log tells by this who changed a row.
        "PGAPPNAME": name,
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": site.database,
        "AIRFLOW__CORE__EXECUTOR": "KubernetesExecutor",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
        "AIRFLOW__API_AUTH__JWT_SECRET": site.jwt_secret,
        "AIRFLOW__API__SECRET_KEY": site.api_secret,
        "AIRFLOW__API__BASE_URL": site.api_url,
        "AIRFLOW__KUBERNETES_EXECUTOR__IN_CLUSTER": "False",
        "AIRFLOW__KUBERNETES_EXECUTOR__CONFIG_FILE": str(kubeconfig),
        "AIRFLOW__KUBERNETES_EXECUTOR__NAMESPACE": site.namespace,
        "AIRFLOW__KUBERNETES_EXECUTOR__POD_TEMPLATE_FILE": str(site.pod_template),
        # 0, the default, fails a task at the first creation that is refused.
        "AIRFLOW__KUBERNETES_EXECUTOR__TASK_PUBLISH_MAX_RETRIES": "-1",
    }
    return {**_base(site, venv), **own, **site.settings}


def worker_image(site: Site, venv: Path) -> LocalImage:
    """Give what the workers' image stands for: an installation that does not know the database."""
    return LocalImage(env={**_base(site, venv), **worker_settings(site)}, workdir=str(site.folder))


def local_template(site: Site) -> JsonObject:
    """Give the template of pods that find all they need in their image."""
    container = {"name": "base", "image": site.image, "imagePullPolicy": "IfNotPresent"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "placeholder", "namespace": site.namespace},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }


def write_pod_template(site: Site, template: JsonObject | None = None) -> None:
    """Write the template of the workers' pods, the local one if none is given."""
    template = template or local_template(site)
    site.pod_template.write_text(json.dumps(template, indent=2) + "\n", encoding="utf-8")
