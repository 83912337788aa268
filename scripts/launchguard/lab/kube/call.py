"""One request on its way through the server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from launchguard.lab.faults import Subject
from launchguard.lab.kube.forms import Presenter, wanted_form
from launchguard.lab.kube.objects import JsonObject, Key, identity, labels_of, metadata, phase_of
from launchguard.lab.kube.selectors import Filter, parse_fields, parse_labels
from launchguard.lab.kube.status import bad_request

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from launchguard.lab.kube.requests import Target


@dataclass(frozen=True, slots=True)
class Call:
    """A request for a resource, read and parsed.

    Args:
        id: its number in the history.
        body: parsed JSON; None where there was none.
        user: the client's name, from the server URL of its kubeconfig.
    """

    id: int
    target: Target
    query: Mapping[str, str]
    body: Any = None
    media_type: str = ""
    accept: str = ""
    user: str = ""

    @property
    def key(self) -> Key:
        return Key(self.target.namespace, self.target.name)

    def object_body(self) -> JsonObject:
        """Give the body where it must be an object.

        Raises:
            ApiError: 400.
        """
        if not isinstance(self.body, dict):
            raise bad_request("the request body must be a JSON object")
        return self.body

    def filter(self) -> Filter:
        """Read the selectors.

        Raises:
            ApiError: 400.
        """
        return Filter(
            self.target.namespace,
            parse_labels(self.query.get("labelSelector", "")),
            parse_fields(self.query.get("fieldSelector", ""), self.target.resource),
        )

    def presenter(self, now: datetime) -> Presenter:
        """Read which form the client wants.

        Raises:
            ApiError: 406.
        """
        include = self.query.get("includeObject", "Metadata")
        return Presenter(self.target.resource, wanted_form(self.accept), now, include)

    def subject(self, stored: JsonObject | None) -> Subject:
        """Say for the fault rules what this request is about: the object in the store, or the one it brings."""
        about = stored or (self.body if isinstance(self.body, dict) else {})
        return Subject(
            verb=self.target.verb,
            resource=self.target.resource.plural,
            subresource=self.target.subresource,
            namespace=self.target.namespace,
            name=self.target.name or str(metadata(about).get("name", "")),
            labels=labels_of(about),
            phase=phase_of(stored or {}),
            user=self.user,
        )


def answer_summary(answer: JsonObject) -> JsonObject:
    """Give what the history keeps of an answer."""
    if answer.get("kind") == "Status":
        return {name: answer[name] for name in ("reason", "message") if name in answer}
    if "items" in answer or "rows" in answer:
        items = answer["items"] if "items" in answer else answer["rows"]
        return {"items": len(items), "rv": metadata(answer).get("resourceVersion")}
    return {"object": identity(answer)}
