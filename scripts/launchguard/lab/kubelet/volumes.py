"""Volumes without mount namespaces: folders, and mount paths rewritten to them."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

from launchguard.lab.kube.objects import JsonObject, Key, key_of, part, uid_of
from launchguard.lab.kube.resources import CONFIGMAPS, SECRETS
from launchguard.lab.kubelet.environment import ConfigError, values_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from launchguard.lab.kubelet.environment import Lookup


class Volumes:
    """Makes the folders of pods' volumes.

    Args:
        folder: where they are made.
        lookup: finds config maps and secrets.
    """

    def __init__(self, folder: Path, lookup: Lookup) -> None:
        self._folder = folder
        self._lookup = lookup

    def mounts(self, pod: JsonObject, container: JsonObject) -> dict[str, str]:
        """Make a container's volumes, and map its mount paths to them.

        Raises:
            ConfigError: a volume's source is missing.
        """
        volumes = {volume["name"]: volume for volume in part(pod, "spec").get("volumes") or []}
        return {
            str(mount["mountPath"]).rstrip("/"): str(self._make(pod, volumes[mount["name"]]) / mount.get("subPath", ""))
            for mount in container.get("volumeMounts") or []
            if mount["name"] in volumes
        }

    def _make(self, pod: JsonObject, volume: JsonObject) -> Path:
        if host := part(volume, "hostPath").get("path"):
            return self._folder.__class__(host)
        if claim := part(volume, "persistentVolumeClaim").get("claimName"):
            return _made(self._folder / "claims" / key_of(pod).namespace / str(claim))
        folder = _made(self._folder / "pods" / uid_of(pod) / str(volume["name"]))
        for name, text in self._files(pod, volume).items():
            (folder / name).write_text(text, encoding="utf-8")
        return folder

    def _files(self, pod: JsonObject, volume: JsonObject) -> dict[str, str]:
        for field, resource, named in (("configMap", CONFIGMAPS, "name"), ("secret", SECRETS, "secretName")):
            if field in volume:
                source = part(volume, field)
                obj = self._lookup(resource, Key(key_of(pod).namespace, str(source[named])))
                if obj is None and not source.get("optional"):
                    raise ConfigError(f'{resource.singular} "{source[named]}" not found')
                return values_of(resource, obj or {})
        return {}

    def remove(self, uid: str) -> None:
        """Remove what belongs to a pod alone."""
        shutil.rmtree(self._folder / "pods" / uid, ignore_errors=True)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def rewrite(text: str, mounts: Mapping[str, str]) -> str:
    """Replace mount paths in a text, wherever they stand as a path of their own.

    >>> rewrite("cat /data/x > '/data'; ls /database", {"/data": "/tmp/v"})
    "cat /tmp/v/x > '/tmp/v'; ls /database"
    """
    if not mounts:
        return text
    # Longest first: a mount may lie inside another.
    paths = "|".join(re.escape(path) for path in sorted(mounts, key=len, reverse=True))
    return re.sub(rf"(?<![\w./-])({paths})(?![\w.-])", lambda found: mounts[found.group()], text)
