"""The errors of the API, worded and shaped as the real server does it: `Status` objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from launchguard.lab.kube.objects import JsonObject
    from launchguard.lab.kube.resources import Resource


class ApiError(Exception):
    """An answer other than success.

    Args:
        code: the HTTP status.
        reason: the machine's word for it, `NotFound` say.
        message: the sentence for people; clients match on parts of it.
        details: the `details` of the Status.
        headers: of the HTTP answer.
        plain: the text of the body where the real server answers with no Status at all.
    """

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: JsonObject | None = None,
        headers: Mapping[str, str] | None = None,
        plain: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.headers = dict(headers or {})
        self.plain = plain

    def status(self) -> JsonObject:
        body: JsonObject = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
        }
        if self.details is not None:
            body["details"] = self.details
        return body | {"code": self.code}


def success(resource: Resource, name: str, uid: str) -> JsonObject:
    """Give what a deletion answers for a resource that goes at once."""
    details = _details(resource, name) | {"uid": uid}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def _details(resource: Resource, name: str) -> JsonObject:
    details: JsonObject = {"name": name}
    if resource.group:
        details["group"] = resource.group
    return details | {"kind": resource.plural}


def not_found(resource: Resource, name: str) -> ApiError:
    message = f'{resource.qualified} "{name}" not found'
    return ApiError(404, "NotFound", message, details=_details(resource, name))


def unknown_path() -> ApiError:
    message = "the server could not find the requested resource"
    return ApiError(404, "NotFound", message, details={})


def already_exists(resource: Resource, name: str) -> ApiError:
    message = f'{resource.qualified} "{name}" already exists'
    return ApiError(409, "AlreadyExists", message, details=_details(resource, name))


def conflict(
    resource: Resource,
    name: str,
    why: str = "the object has been modified; please apply your changes to the latest version and try again",
) -> ApiError:
    message = f'Operation cannot be fulfilled on {resource.qualified} "{name}": {why}'
    return ApiError(409, "Conflict", message, details=_details(resource, name))


def precondition_failed(resource: Resource, name: str, field: str, wanted: str, found: str) -> ApiError:
    ends = {"UID": "deleted and then recreated", "ResourceVersion": "modified"}
    why = (
        f"the {field} in the precondition ({wanted}) does not match the {field} in record ({found}). "
        f"The object might have been {ends[field]}"
    )
    return conflict(resource, name, why)


def forbidden(resource: Resource, name: str, why: str) -> ApiError:
    message = f'{resource.qualified} "{name}" is forbidden: {why}'
    return ApiError(403, "Forbidden", message, details=_details(resource, name))


def exceeded_quota(resource: Resource, name: str, quota: str, used: str, hard: str) -> ApiError:
    """Word the refusal of the ResourceQuota admission plugin for one more pod."""
    why = f"exceeded quota: {quota}, requested: pods=1, used: pods={used}, limited: pods={hard}"
    return forbidden(resource, name, why)


def invalid(resource: Resource, name: str, causes: Sequence[tuple[str, str, str]]) -> ApiError:
    """Word a failed validation.

    Args:
        causes: field, reason (`FieldValueRequired` say) and message of each.
    """
    texts = [f"{field}: {message}" for field, _, message in causes]
    joined = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    details = _details(resource, name) | {
        "kind": resource.kind,
        "causes": [{"reason": reason, "message": message, "field": field} for field, reason, message in causes],
    }
    return ApiError(422, "Invalid", f'{resource.kind} "{name}" is invalid: {joined}', details=details)


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def method_not_allowed() -> ApiError:
    message = "the server does not allow this method on the requested resource"
    return ApiError(405, "MethodNotAllowed", message, details={})


def not_acceptable() -> ApiError:
    message = "only the following media types are accepted: application/json"
    return ApiError(406, "NotAcceptable", message)


def unsupported_media_type(offered: str, accepted: Sequence[str]) -> ApiError:
    message = (
        f"the body of the request was in an unknown format - {offered} - "
        f"accepted media types include: {', '.join(accepted)}"
    )
    return ApiError(415, "UnsupportedMediaType", message)


def too_old(version: int, floor: int) -> ApiError:
    return ApiError(410, "Expired", f"too old resource version: {version} ({floor})")


def stale_continue() -> ApiError:
    message = (
        "The provided continue parameter is too old to display a consistent list result. You must start a "
        "new list without the continue parameter."
    )
    return ApiError(410, "Expired", message)


def too_large(version: int, current: int) -> ApiError:
    message = f"Timeout: Too large resource version: {version}, current: {current}"
    details = {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }
    return ApiError(504, "Timeout", message, details=details, headers={"Retry-After": "1"})


def rate_limited(retry_after: int) -> ApiError:
    """Give the 429 of priority and fairness: plain text, not a Status."""
    text = "Too many requests, please try again later."
    return ApiError(429, "TooManyRequests", text, headers={"Retry-After": str(retry_after)}, plain=text + "\n")


def internal_error(why: str) -> ApiError:
    message = f"Internal error occurred: {why}"
    return ApiError(500, "InternalError", message, details={"causes": [{"message": why}]})


def unavailable(why: str) -> ApiError:
    return ApiError(503, "ServiceUnavailable", why)
