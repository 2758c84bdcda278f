"""What a PATCH request does to an object, by its content type; server-side apply is in fields/applying.py.

JSON patch (RFC 6902), merge patch (RFC 7386) and, for built-in resources, strategic merge patch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, Protocol

import msgspec

from fleet.devcluster.changes.jsonpatch import OPERATIONS_LIMIT, PatchRefused, apply_operations
from fleet.devcluster.changes.strategic import StrategicError, merge_strategically
from fleet.devcluster.changes.strategy import checked_body
from fleet.devcluster.decoding.gotexts import go_kind
from fleet.devcluster.decoding.jsontext import JsonError, read_json, too_deep
from fleet.devcluster.decoding.pairs import duplicate_paths, with_pairs
from fleet.devcluster.fields.gotext import go_text
from fleet.devcluster.kinds.resources import ResourceType
from fleet.devcluster.wire import patchstatuses, statuses
from fleet.devcluster.wire.requests import Request
from shards.objects import Object

MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

_ALL = (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH)
_OF_CUSTOM = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)
_METADATA_ORDER = (
    *("name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp"),
    *("deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences", "finalizers"),
    "managedFields",
)
_OPERATION_FIELDS = ("op", "path", "from", "value")
_GO_MAP = "Go value of type map[string]interface {}"
_UNMARSHAL = re.compile(r"json: cannot unmarshal (?P<given>\w+) into Go .* of type (?P<wanted>.+)$")
_BODY_WORDS = re.compile(
    r'^\S* in version "[^"]*" cannot be handled as a \w+: '
    r"|^the object provided is unrecognized \(must be of type \w+\): | \(<empty>\)$"
)
"""What is said of the body of a request, and not of the result of a patch."""


class Patch(Protocol):
    """One patch of one request."""

    def change(self, old: Object) -> Any:
        """The patched object. `old` stays as it is, but may be shared. Raises StatusError."""

    def read(self, body: Any) -> Object:
        """The patched object with known fields only. Raises StatusError."""


def patch_of(kind: ResourceType, request: Request) -> Patch:
    """Of a request whose type has been checked. Raises StatusError 400."""
    content_type, raw = request.content_type, request.body or b""
    try:
        document = read_json(raw)
    except JsonError:
        raise statuses.bad_request("invalid JSON patch") from None
    validation = request.field_validation
    whole = document if validation == "Ignore" else with_pairs(raw, document)
    made = {MERGE_PATCH: MergePatch, JSON_PATCH: JsonPatch}.get(content_type, StrategicPatch)
    return made(kind, whole, whole is not document, validation, request.warnings)


def _check_identity(kind: ResourceType, body: Any) -> None:
    """What the result of a patch on a custom resource calls itself. Raises StatusError where that is something else."""
    if not isinstance(body, dict):
        raise patchstatuses.refused_patch()
    given, version = body.get("kind"), body.get("apiVersion") or ""
    if not given or not isinstance(given, str) or not isinstance(version, str):
        return
    if not version:
        raise statuses.internal_error("Object 'apiVersion' is missing in 'object has no apiVersion field'")
    if version != kind.resource.api_version:
        metadata = body.get("metadata")
        name = metadata.get("name", "") if isinstance(metadata, dict) else ""
        raise statuses.wrong_version(kind, given, name, version)


def check_type(kind: ResourceType, content_type: str) -> None:
    """Raises StatusError 415."""
    if content_type not in (_OF_CUSTOM if kind.custom else _ALL):
        raise patchstatuses.unsupported_patch(_OF_CUSTOM if kind.custom else ())


class _Read(msgspec.Struct):
    """How the result of a patch becomes an object again.

    repeated: the document holds Pairs. strict: what is wrong with the patch itself.
    """

    kind: ResourceType
    document: Any
    repeated: bool
    validation: str
    warnings: list[str]
    strict: list[str] = []
    old: Object = {}

    def read(self, body: Any) -> Object:
        validation = self.validation
        found: list[str] = []
        try:
            result = checked_body(self.kind, body, validation="Warn", warnings=found, old=self.old)
        except statuses.StatusError as error:
            if error.code != 400:
                raise
            if self.kind.custom:
                _check_identity(self.kind, body)
            why = _BODY_WORDS.sub("", error.message)
            raise patchstatuses.bad_patch_result(self.shown(), self.worded(why)) from None
        if validation == "Ignore" or not (found or self.strict):
            return result
        sentences = [*self.strict, *(found if self.kind.custom else sorted(found))]
        if validation == "Strict":
            raise patchstatuses.bad_patch_result(self.shown(), "strict decoding error: " + ", ".join(sentences))
        self.warnings.extend(sentences)
        return result

    def change(self, old: Object) -> Any:
        """Remembers the old object: reading changes the new one, which a failure shows as it was."""
        self.old = old
        return self.applied(old)

    def applied(self, old: Object) -> Any:
        raise NotImplementedError

    def repeats(self) -> list[str]:
        """What is said of the fields that the document names twice."""
        return [f'duplicate field "{path}"' for path in duplicate_paths(self.document)] if self.repeated else []

    def shown(self) -> str:
        """The result in an error's message."""
        result = _touched(self.applied(self.old), self.document)
        return msgspec.json.encode(result, order="deterministic" if self.kind.custom else None).decode()

    def worded(self, why: str) -> str:
        return why


class MergePatch(_Read):
    """RFC 7386."""

    def applied(self, old: Object) -> Any:
        patch = self.document
        if patch is None:
            raise statuses.bad_request("Invalid JSON Patch")
        if not isinstance(patch, dict):
            raise statuses.bad_request(f"error decoding patch: json: cannot unmarshal {go_kind(patch)} into {_GO_MAP}")
        self.strict = self.repeats()
        return merge(old, patch)


class JsonPatch(_Read):
    """RFC 6902."""

    def applied(self, old: Object) -> Any:
        operations = self.document or []
        self._check(self.document)
        if len(operations) > OPERATIONS_LIMIT:
            raise statuses.StatusError(
                413,
                "RequestEntityTooLarge",
                "Request entity too large: The allowed maximum operations in a JSON patch is "
                f"{OPERATIONS_LIMIT}, got {len(operations)}",
            )
        try:
            result = apply_operations(msgspec.json.decode(msgspec.json.encode(old)), operations)
        except PatchRefused:
            raise patchstatuses.refused_patch() from None
        if too_deep(result):  # of copies into copies
            raise patchstatuses.refused_patch()
        return result

    def _check(self, operations: Any) -> None:
        """Raises StatusError 400."""
        if operations is not None and not isinstance(operations, list):
            where = "Go value of type []handlers.jsonPatchOp"
            raise _undecodable(operations, where)
        for index, operation in enumerate(operations or ()):
            if not isinstance(operation, dict):
                raise _undecodable(operation, "Go value of type handlers.jsonPatchOp")
            for name in ("op", "path", "from"):
                value = operation.get(name)
                if value is not None and not isinstance(value, str):
                    raise _undecodable(value, f"Go struct field jsonPatchOp.{name} of type string")
            self.strict += _operation_faults(operation, index)

    def shown(self) -> str:
        body = self.applied(self.old)
        order: Literal["deterministic"] | None = "deterministic" if self.kind.custom else None
        return msgspec.json.encode(_touched(body, {}) if isinstance(body, dict) else body, order=order).decode()


class StrategicPatch(_Read):
    """See fields/strategic.py. Kind and version in the patch are ignored."""

    def applied(self, old: Object) -> Any:
        patch = self.document
        if patch is None:
            patch = {}
        if not isinstance(patch, dict):
            raise statuses.bad_request(f"json: cannot unmarshal {go_kind(patch)} into {_GO_MAP}")
        self.strict = self.repeats()
        copy = msgspec.json.decode(msgspec.json.encode([old, patch]))
        try:
            result = merge_strategically(copy[0], copy[1], self.kind.structure)
        except StrategicError as error:
            if error.code == 400:
                raise statuses.bad_request(str(error)) from None
            if error.code == 422:
                raise patchstatuses.refused_patch() from None
            raise statuses.StatusError(500, "", str(error)) from None
        result["kind"], result["apiVersion"] = self.kind.kind, self.kind.resource.api_version
        return result

    def shown(self) -> str:
        return go_text(self.document)

    def worded(self, why: str) -> str:
        """The converter of plain maps has words of its own."""
        found = _UNMARSHAL.search(why)
        if found is None:
            return f"error decoding from json: {why}" if "base64" in why else why
        given, wanted = found["given"], found["wanted"]
        kinds = {"array": "slice", "object": "map", "number": "int64"}
        if wanted.startswith("map["):
            return f"cannot restore map from {kinds.get(given, given)}"
        if wanted.startswith("[]"):
            return f"cannot restore slice from {kinds.get(given, given)}"
        if wanted[:1] == "v" and "." in wanted:
            return f"cannot restore struct from: {kinds.get(given, given)}"
        return f"cannot convert {kinds.get(given, given)} to {wanted}"


def merge(target: Any, patch: Any) -> Any:
    """RFC 7386. The target is not changed; the result may share parts with both.

    Null fields vanish from every part of the patch, also where there is nothing to merge it into.
    """
    if not isinstance(patch, dict):
        return patch if isinstance(target, dict) else _without_nulls(patch)
    if not isinstance(target, dict):
        return _without_nulls(patch)
    result = dict(target)
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, dict | list):
            result[name] = merge(result.get(name), value)
        else:
            result[name] = value
    return result


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_without_nulls(inner) for inner in value]
    return value


def _touched(body: Any, patch: Any, name: str = "") -> Any:
    """Objects that a patch went through have their fields sorted; others keep the order of their type."""
    if not isinstance(body, dict) or not isinstance(patch, dict):
        if name == "metadata" and isinstance(body, dict):
            return {each: body[each] for each in _METADATA_ORDER if each in body}
        return body
    return {each: _touched(body[each], patch.get(each), each) for each in sorted(body)}


def _operation_faults(operation: dict[str, Any], index: int) -> Iterator[str]:
    for path in duplicate_paths(operation, f"[{index}]"):
        yield f'json patch duplicate field "{path}"'
    for name in operation:
        if name not in _OPERATION_FIELDS:
            yield f'json patch unknown field "[{index}].{name}"'


def _undecodable(value: Any, where: str) -> statuses.StatusError:
    return statuses.bad_request(f"error decoding patch: json: cannot unmarshal {go_kind(value)} into {where}")
