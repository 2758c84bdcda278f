"""What a body says it is: its kind and version, against the resource that was asked for. Pure."""

from __future__ import annotations

from typing import Any

import msgspec

from fleet.devcluster.decoding.gotexts import go_kind
from fleet.devcluster.kinds.catalogue import schema_name
from fleet.devcluster.kinds.resources import ResourceType
from fleet.devcluster.wire import statuses

TYPE_META = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
_SHOWN_BYTES = 30
_SCHEME = "pkg/runtime/scheme.go:111"


def summary(raw: bytes) -> str:
    """The beginning of a body, as messages show it."""
    if not raw:
        return "<empty>"
    text = raw[:_SHOWN_BYTES].decode(errors="replace") if raw[:1] == b"{" else raw[:_SHOWN_BYTES].hex()
    return f"{text} ..." if len(raw) > _SHOWN_BYTES else text


def unrecognised(kind: ResourceType, why: str, raw: bytes) -> statuses.StatusError:
    """400 of a body that is nothing at all."""
    return statuses.bad_request(
        f"the object provided is unrecognized (must be of type {kind.kind}): {why} ({summary(raw)})"
    )


def unhandled(kind: ResourceType, why: str, given: str = "", version: str = "") -> statuses.StatusError:
    """400 of a body that does not become an object of this kind."""
    given, version = given or kind.kind, version or kind.resource.version
    return statuses.bad_request(f'{given} in version "{version}" cannot be handled as a {kind.kind}: {why}')


def identified(kind: ResourceType, body: Any, raw: bytes) -> dict[str, Any]:
    """The body, when it is of this kind; null counts as an empty object of a built-in kind. Raises StatusError."""
    if body is None:
        body = {}
        if kind.custom:
            raise unrecognised(kind, f"Object 'Kind' is missing in '{raw.decode(errors='replace')}'", raw)
    if not isinstance(body, dict):
        why = f"json: cannot unmarshal {go_kind(body)} into Go value of type {TYPE_META}"
        raise unrecognised(kind, f"couldn't get version/kind; json parse error: {why}", raw)
    given, version = body.get("kind") or "", body.get("apiVersion") or ""
    if given == kind.kind and version == kind.api_version:
        return body
    for name, value in (("apiVersion", version), ("kind", given)):
        if not isinstance(value, str):
            why = f"json: cannot unmarshal {go_kind(value)} into Go struct field .{name} of type string"
            raise unrecognised(kind, f"couldn't get version/kind; json parse error: {why}", raw)
    if version.count("/") > 1:
        raise unrecognised(kind, f"unexpected GroupVersion string: {version}", raw)
    if kind.custom:
        _check_custom(kind, body, given, version, raw)
    else:
        _check_built_in(kind, given or kind.kind, version or kind.api_version)
    return body


def _check_custom(kind: ResourceType, body: dict[str, Any], given: str, version: str, raw: bytes) -> None:
    if not given:
        text = raw.decode(errors="replace") if raw else msgspec.json.encode(body).decode()
        raise unrecognised(kind, f"Object 'Kind' is missing in '{text}'", raw)
    if version != kind.api_version:
        raise _other_version(kind, version)
    metadata = body.get("metadata")
    name = metadata.get("name", "") if isinstance(metadata, dict) else ""
    raise statuses.wrong_kind(kind, given, name)


def _check_built_in(kind: ResourceType, given: str, version: str) -> None:
    group, slash, short = version.rpartition("/")
    if not schema_name(group if slash else "", short, given):
        why = f'no kind "{given}" is registered for version "{version}" in scheme "{_SCHEME}"'
        raise unhandled(kind, why, given, short)
    if given != kind.kind or group != kind.resource.group:
        into = (kind.resource.group or "core").partition(".")[0]
        raise unhandled(kind, f"converting ({short}.{given}) to ({into}.{kind.kind}): unknown conversion", given, short)
    if version != kind.api_version:
        raise _other_version(kind, version)


def _other_version(kind: ResourceType, version: str) -> statuses.StatusError:
    return statuses.bad_request(
        f"the API version in the data ({version}) does not match the expected API version ({kind.api_version})"
    )
