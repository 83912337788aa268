"""The resources that the stand-in serves, as data: discovery, routing and field selectors read this table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_ALL_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_META_FIELDS: Final = ("metadata.name", "metadata.namespace")


@dataclass(frozen=True, slots=True)
class Subresource:
    """A path below an object, such as `status`; `group` and `version` where its kind is of another group."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    group: str = ""
    version: str = ""


def _fields(*same: str, **moved: str) -> Mapping[str, str]:
    """Map each label of a field selector to the path of its value, most often the same."""
    return {name: name for name in (*_META_FIELDS, *same)} | moved


@dataclass(frozen=True, slots=True, eq=False)
class Resource:
    """One resource of the API; compared by identity.

    Args:
        fields: what a field selector may name, and where the value stands.
    """

    plural: str
    kind: str
    singular: str
    short_names: tuple[str, ...] = ()
    group: str = ""
    version: str = "v1"
    namespaced: bool = True
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = _ALL_VERBS
    subresources: tuple[Subresource, ...] = ()
    fields: Mapping[str, str] = field(default_factory=_fields)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """The name that messages use: with the group, where there is one."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def subresource(self, name: str) -> Subresource | None:
        return next((sub for sub in self.subresources if sub.name == name), None)


NAMESPACES: Final = Resource(
    "namespaces",
    "Namespace",
    "namespace",
    ("ns",),
    namespaced=False,
    # Deleting a namespace needs the garbage collector, which nothing here asks for.
    verbs=("create", "get", "list", "patch", "update", "watch"),
    subresources=(Subresource("status", "Namespace", ("get", "patch", "update")),),
    fields=_fields("status.phase"),
)
NODES: Final = Resource(
    "nodes",
    "Node",
    "node",
    ("no",),
    namespaced=False,
    subresources=(Subresource("status", "Node", ("get", "patch", "update")),),
    fields=_fields("spec.unschedulable"),
)
PODS: Final = Resource(
    "pods",
    "Pod",
    "pod",
    ("po",),
    categories=("all",),
    subresources=(
        Subresource("binding", "Binding", ("create",)),
        Subresource("eviction", "Eviction", ("create",), "policy", "v1"),
        Subresource("log", "Pod", ("get",)),
        Subresource("status", "Pod", ("get", "patch", "update")),
    ),
    fields=_fields(
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ),
)
EVENTS: Final = Resource(
    "events",
    "Event",
    "event",
    ("ev",),
    fields=_fields(
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "type",
        source="source.component",
    ),
)
CONFIGMAPS: Final = Resource("configmaps", "ConfigMap", "configmap", ("cm",))
SECRETS: Final = Resource("secrets", "Secret", "secret", fields=_fields("type"))
SERVICE_ACCOUNTS: Final = Resource("serviceaccounts", "ServiceAccount", "serviceaccount", ("sa",))
QUOTAS: Final = Resource(
    "resourcequotas",
    "ResourceQuota",
    "resourcequota",
    ("quota",),
    subresources=(Subresource("status", "ResourceQuota", ("get", "patch", "update")),),
)
LEASES: Final = Resource("leases", "Lease", "lease", group="coordination.k8s.io")
BUDGETS: Final = Resource(
    "poddisruptionbudgets", "PodDisruptionBudget", "poddisruptionbudget", ("pdb",), group="policy"
)

RESOURCES: Final = (
    CONFIGMAPS,
    EVENTS,
    NAMESPACES,
    NODES,
    PODS,
    QUOTAS,
    SECRETS,
    SERVICE_ACCOUNTS,
    LEASES,
    BUDGETS,
)


def find_resource(group: str, version: str, plural: str) -> Resource | None:
    wanted = (group, version, plural)
    return next((res for res in RESOURCES if (res.group, res.version, res.plural) == wanted), None)
