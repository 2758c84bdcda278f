"""Failure answers: `Status` objects with the reasons, messages and details of the real server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from fleet.devcluster.causes import Cause
from fleet.devcluster.kinds.resources import ResourceType

OPTIMISTIC_LOCK = "the object has been modified; please apply your changes to the latest version and try again"


_VERBS = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class StatusError(Exception):
    """A request that fails with a Status body, or with plain text where `text` is set."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: dict[str, Any] | None = None,
        text: str = "",
    ) -> None:
        super().__init__(f"{code} {reason}: {message}")
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.text = text
        self.warnings: tuple[str, ...] = ()
        """Said beside the refusal."""

    @property
    def retry_after(self) -> str:
        """Value of the Retry-After header, "" for none."""
        seconds = (self.details or {}).get("retryAfterSeconds")
        return str(seconds) if seconds else ""

    def status(self) -> dict[str, Any]:
        """The Status object."""
        body: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = self.details
        body["code"] = self.code
        return body

    def body(self) -> bytes:
        return self.text.encode() if self.text else msgspec.json.encode(self.status())


def _details(kind: ResourceType, name: str, *, by_kind: bool = False) -> dict[str, Any]:
    details: dict[str, Any] = {"name": name} if name else {}
    if kind.resource.group:
        details["group"] = kind.resource.group
    details["kind"] = kind.kind if by_kind else kind.resource.plural
    return details


def bad_request(message: str) -> StatusError:
    return StatusError(400, "BadRequest", message)


def not_found(kind: ResourceType, name: str) -> StatusError:
    return StatusError(404, "NotFound", f'{kind.qualified} "{name}" not found', details=_details(kind, name))


def no_such_path() -> StatusError:
    """A path that no API serves at all."""
    return StatusError(404, "NotFound", "404 page not found", text="404 page not found\n")


def no_such_resource() -> StatusError:
    """A group version that exists, without that resource or subresource."""
    return StatusError(404, "NotFound", "the server could not find the requested resource", details={})


def method_not_allowed(kind: ResourceType, method: str) -> StatusError:
    """405. Custom resources answer in other words than the built-in ones, as on the real server."""
    if not kind.custom:
        return no_such_method()
    verb = _VERBS.get(method, "")
    details = _details(kind, "")
    return StatusError(
        405, "MethodNotAllowed", f'{verb} is not supported on resources of kind "{kind.qualified}"', details=details
    )


def already_exists(kind: ResourceType, name: str, *, dying: bool = False) -> StatusError:
    """dying: the object that is there waits for its finalizers."""
    message = f'{"object is being deleted: " if dying else ""}{kind.qualified} "{name}" already exists'
    return StatusError(409, "AlreadyExists", message, details=_details(kind, name))


def conflict(kind: ResourceType, name: str, why: str = OPTIMISTIC_LOCK, *, by_kind: bool = False) -> StatusError:
    """by_kind: preconditions of a delete name the kind where everything else names the plural."""
    group = kind.resource.group
    what = (f"{kind.kind}.{group}" if group else kind.kind) if by_kind else kind.qualified
    message = f'Operation cannot be fulfilled on {what} "{name}": {why}'
    return StatusError(409, "Conflict", message, details=_details(kind, name, by_kind=by_kind))


def expired(message: str, *, continue_token: str = "") -> StatusError:
    """410. continue_token: goes on with the list at the newest version, inconsistently."""
    error = StatusError(410, "Expired", message)
    if continue_token:
        error = ExpiredContinue(message, continue_token)
    return error


class ExpiredContinue(StatusError):
    """410 of a continue token; `metadata.continue` allows an inconsistent rest of the list."""

    def __init__(self, message: str, token: str) -> None:
        super().__init__(410, "Expired", message)
        self.token = token

    def status(self) -> dict[str, Any]:
        return super().status() | {"metadata": {"continue": self.token}}


def too_old(requested: int, oldest: int) -> StatusError:
    """410 of a watch whose version has left the history."""
    return expired(f"too old resource version: {requested} ({oldest})")


def too_large(requested: int, current: int, *, with_cause: bool = True) -> StatusError:
    """504: a version that this server has not reached. with_cause: servers before 1.17 give none."""
    details: dict[str, Any] = {"retryAfterSeconds": 1}
    if with_cause:
        details["causes"] = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    message = f"Timeout: Too large resource version: {requested}, current: {current}"
    return StatusError(504, "Timeout", message, details=details)


def internal_error(why: str) -> StatusError:
    """500 of a failure inside of the server."""
    return StatusError(500, "InternalError", f"Internal error occurred: {why}", details={"causes": [{"message": why}]})


def unsupported_body() -> StatusError:
    """415 of a body in a form that no resource takes."""
    accepted = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    message = f"the body of the request was in an unknown format - accepted media types include: {accepted}"
    return StatusError(415, "UnsupportedMediaType", message)


def _together(causes: Sequence[Cause]) -> str:
    texts = [cause.text() for cause in causes]
    return texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"


def cause_list(causes: Sequence[Cause]) -> list[dict[str, str]]:
    """As they stand in `details.causes`."""
    return [{"reason": cause.reason, "message": cause.message, "field": cause.field} for cause in causes]


def invalid(kind: ResourceType, name: str, causes: Sequence[Cause], *, by_plural: bool = False) -> StatusError:
    """422. by_plural: a missing resourceVersion names the plural where everything else names the kind."""
    group = kind.resource.group
    singular = f"{kind.kind}.{group}" if group else kind.kind
    what = kind.qualified if by_plural else singular
    details = _details(kind, name, by_kind=not by_plural)
    details["causes"] = cause_list(causes)
    return StatusError(422, "Invalid", f'{what} "{name}" is invalid: {_together(causes)}', details=details)


def wrong_kind(kind: ResourceType, given: str, name: str) -> StatusError:
    """422 of a custom resource that says to be of another kind: it is called by what it says."""
    cause = Cause("FieldValueInvalid", f'Invalid value: "{given}": must be {kind.kind}', "kind")
    return _misnamed(given, kind.resource.group, name, cause)


def wrong_version(kind: ResourceType, given: str, name: str, version: str) -> StatusError:
    """422 of a custom resource that a patch would make one of another version."""
    wanted = kind.resource.api_version
    cause = Cause("FieldValueInvalid", f'Invalid value: "{version}": must be {wanted}', "apiVersion")
    return _misnamed(given, version.rpartition("/")[0], name, cause)


def _misnamed(kind: str, group: str, name: str, cause: Cause) -> StatusError:
    details = {"name": name} if name else {}
    details |= {"group": group, "kind": kind} if group else {"kind": kind}
    message = f'{kind}{group and "."}{group} "{name}" is invalid: {cause.text()}'
    return StatusError(422, "Invalid", message, details={**details, "causes": cause_list([cause])})


def forbidden(kind: ResourceType, name: str, why: str, causes: Sequence[Cause] = ()) -> StatusError:
    """403."""
    details = _details(kind, name)
    if causes:
        details["causes"] = cause_list(causes)
    message = f'{kind.qualified} "{name}" is forbidden: {why}'
    return StatusError(403, "Forbidden", message, details=details)


def invalid_options(kind: str, causes: Sequence[Cause]) -> StatusError:
    """422 of query parameters. kind: ListOptions, CreateOptions and so on."""
    details = {"group": "meta.k8s.io", "kind": kind, "causes": cause_list(causes)}
    return StatusError(422, "Invalid", f'{kind}.meta.k8s.io "" is invalid: {_together(causes)}', details=details)


def too_big(limit: int) -> StatusError:
    """413. limit: bytes."""
    message = f"Request entity too large: limit is {limit}"
    return StatusError(413, "RequestEntityTooLarge", message)


def bad_shard_selector(why: str) -> StatusError:
    """500 without a reason: the real server lets a plain Go error through here."""
    return StatusError(500, "", f"invalid shard selector: {why}")


def no_such_subresource(kind: ResourceType, name: str) -> StatusError:
    """Custom resources answer as if the object were missing, built-in ones as if the path were."""
    return not_found(kind, name) if kind.custom else no_such_resource()


def reviewed_invalid(group: str, kind: str, name: str, causes: Sequence[Cause]) -> StatusError:
    """422 of something that is answered without being stored. kind "": the real server forgets it in access reviews."""
    given = {"name": name, "group": group, "kind": kind}
    details: dict[str, Any] = {key: value for key, value in given.items() if value}
    details["causes"] = cause_list(causes)
    return StatusError(422, "Invalid", f'{kind}.{group} "{name}" is invalid: {_together(causes)}', details=details)


def not_served(what: str) -> StatusError:
    """501: a part of the real server that the embedded one leaves out."""
    return StatusError(501, "NotImplemented", f"the embedded API server does not serve {what}")


def no_such_method() -> StatusError:
    """405 of everything but custom resources."""
    message = "the server does not allow this method on the requested resource"
    return StatusError(405, "MethodNotAllowed", message, details={})
