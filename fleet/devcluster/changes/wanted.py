"""The body of a server-side apply: YAML or JSON that must be an object of one kind. Pure."""

from __future__ import annotations

from typing import Any

from fleet.devcluster.decoding.gotexts import go_kind
from fleet.devcluster.decoding.jsontext import JsonError, read_json
from fleet.devcluster.decoding.pairs import with_pairs
from fleet.devcluster.decoding.yamlbody import TooDeep, YamlError, read_yaml
from fleet.devcluster.fields.checking import misfits, together
from fleet.devcluster.kinds.resources import ResourceType
from fleet.devcluster.wire import statuses
from shards.objects import Object

_NOT_A_MAP = (
    "error decoding patch: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {kind} into Go value "
    "of type map[string]interface {{}}"
)


def read_wanted(kind: ResourceType, raw: bytes, *, validation: str, warnings: list[str]) -> Object:
    """The object that is applied. validation: Strict, Warn or Ignore; warnings: gets what Warn says of repeated fields.

    Raises StatusError 400, and 500 as the real server does where a value has the wrong type.
    """
    value, repeats = _parsed(raw)
    if value is None:
        value = {}
    if not isinstance(value, dict):
        raise statuses.bad_request(_NOT_A_MAP.format(kind=go_kind(value)))
    given = _kind_of(value)
    if given != (kind.resource.group, kind.resource.version, kind.kind):
        raise statuses.bad_request(f"invalid object type: {given[0]}/{given[1]}, Kind={given[2]}")
    metadata = value.get("metadata")
    if isinstance(metadata, dict) and metadata.get("managedFields") is not None:
        raise statuses.bad_request("metadata.managedFields must be nil")
    _check_types(kind, value)
    if repeats and validation == "Strict":
        lines = "".join(f"\n  {each}" for each in repeats)
        raise statuses.bad_request(
            f"error strict decoding patch: error converting YAML to JSON: yaml: unmarshal errors:{lines}"
        )
    if validation == "Warn":
        warnings.extend(repeats)
    return value


def _parsed(raw: bytes) -> tuple[Any, list[str]]:
    if raw[:1] == b"{":
        try:
            value = read_json(raw)
        except JsonError:
            pass
        else:
            if with_pairs(raw, value) is value:
                return value, []
    try:
        return read_yaml(raw)
    except TooDeep as error:
        raise statuses.bad_request(f"error decoding patch: error converting YAML to JSON: {error}") from None
    except YamlError as error:
        raise statuses.bad_request(f"error encoding patch: {error}") from None


def _kind_of(value: Object) -> tuple[str, str, str]:
    """Group, version and kind; "" for what is not said."""
    kind, version = value.get("kind"), value.get("apiVersion")
    group, _, number = version.rpartition("/") if isinstance(version, str) else ("", "", "")
    return group, number, kind if isinstance(kind, str) else ""


def _check_types(kind: ResourceType, value: Object) -> None:
    """Raises StatusError 500."""
    structure = kind.structure
    known = {
        name: inner
        for name, inner in value.items()
        if name not in ("apiVersion", "kind", "metadata") or name in structure.properties
    }
    found = list(misfits(known, structure))
    if not found:
        return
    metadata = value.get("metadata")
    place: dict[str, Any] = metadata if isinstance(metadata, dict) else {}
    what = f"{place.get('namespace', '')}/{place.get('name', '')}; {kind.resource.group}/{kind.resource.version}"
    message = f"failed to create typed patch object ({what}, Kind={kind.kind}): {together(found)}"
    raise statuses.StatusError(500, "", message)
