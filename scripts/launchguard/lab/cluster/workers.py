"""The worker pods of a real cluster: the lab's Dags come in config maps, settings as variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from launchguard.lab.airflow.environment import DAGS, SITE, local_template, worker_settings
from launchguard.lab.cluster.diary import PATH

if TYPE_CHECKING:
    from pathlib import Path

    from launchguard.lab.airflow.environment import Site
    from launchguard.lab.cluster.home import Home
    from launchguard.lab.kube.objects import JsonObject

_MOUNTED: Final = "/opt/launchguard-lab"
_FOLDERS: Final = {"dags": DAGS, "site": SITE}


def config_maps(home: Home) -> dict[str, dict[str, str]]:
    """Give the files that pods need, by config map."""
    return {_map_name(home, kind): _files(folder) for kind, folder in _FOLDERS.items()}


def _files(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.py"))}


def _map_name(home: Home, kind: str) -> str:
    return f"launchguard-lab-{kind}-{home.mark}"


def worker_template(site: Site, home: Home) -> JsonObject:
    """Give the template of the workers' pods."""
    env = {
        **worker_settings(site),
        "AIRFLOW__CORE__DAGS_FOLDER": f"{_MOUNTED}/dags",
        "PYTHONPATH": f"{_MOUNTED}/site",
        "LAUNCHGUARD_LAB_HISTORY_URL": f"{site.worker_url}{PATH}{site.diary_key}",
    }
    # A host name may have 63 characters, a pod's name more.
    name = {"name": "HOSTNAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    template = local_template(site)
    template["metadata"]["labels"] = home.labels
    template["spec"]["volumes"] = [
        {"name": f"launchguard-{kind}", "configMap": {"name": _map_name(home, kind)}} for kind in _FOLDERS
    ]
    template["spec"]["containers"][0] |= {
        "env": [name, *({"name": key, "value": value} for key, value in env.items())],
        "volumeMounts": [{"name": f"launchguard-{kind}", "mountPath": f"{_MOUNTED}/{kind}"} for kind in _FOLDERS],
    }
    return template
